/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace files: the files of a command line, opened so that they can be read again */

#include "client/trace-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/say.h"
#include "shared/fd.h"
#include "trace/trace-store.h"

/* For a pipe: everything that came through it, in a file without a name. */
static int copy_to_file(int from) {
        _cleanup_(fd_closep) int fd = -1;
        char buffer[64u << 10];
        ssize_t n;

        fd = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        while ((n = read(from, buffer, sizeof(buffer))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 || write(fd, buffer, (size_t)n) != n)
                        return -errno;
        }
        return TAKE_FD(fd);
}

static int open_file(const char *path) {
        _cleanup_(fd_closep) int fd = -1;

        fd = streq(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        if (lseek(fd, 0, SEEK_CUR) < 0)
                return copy_to_file(fd);
        return TAKE_FD(fd);
}

ExitStatus trace_files_open(TraceFiles *files, char *const *paths, size_t n_paths) {
        *files = (TraceFiles){ 0 };
        for (size_t i = 0; i < MIN(n_paths, (size_t)QUERY_FILES_MAX); i++) {
                g_autofree char *name = streq(paths[i], "-")
                                                ? g_strdup("stdin")
                                                : say_clean(paths[i], strlen(paths[i]));
                int fd = open_file(paths[i]);

                if (fd < 0) {
                        errno = -fd;
                        say_error(_("cannot open %s: %m"), name);
                        return STATUS_FAILED;
                }
                files->fds[files->n++] = fd;
                if (!files->name)
                        files->name = g_steal_pointer(&name);
        }
        return STATUS_OK;
}

void trace_files_close(TraceFiles *files) {
        for (size_t i = 0; i < files->n; i++)
                close(files->fds[i]);
        g_free(files->name);
        *files = (TraceFiles){ 0 };
}

ExitStatus trace_files_report(const TraceFiles *files, const Query *query, int r) {
        switch (r) {
        case 0:
        case QUERY_E_DONE:
                return STATUS_OK;
        case QUERY_E_NO_TRACE:
                say_error(_("%s is not a Perfetto trace"), files->name);
                return STATUS_FAILED;
        case QUERY_E_TIMED_OUT:
                say_error(_("the query took too long"));
                return STATUS_TIMED_OUT;
        case QUERY_E_MEMORY:
                say_error(_("the answer needs more memory than it may take"));
                say_hint(_("Ask for fewer tables at a time, or allow more with --memory."));
                return STATUS_LIMIT;
        case QUERY_E_SQL:
                say_error("%s", _(query_error(query)));
                return STATUS_USAGE;
        default:
                say_error(_("cannot read %s: %s"), files->name, g_strerror(-r));
                return STATUS_FAILED;
        }
}

ExitStatus trace_files_load(TraceFiles *files,
                            Query **ret,
                            char *const *paths,
                            size_t n_paths,
                            unsigned parts,
                            const QueryOptions *options) {
        ExitStatus status = trace_files_open(files, paths, n_paths);
        int r;

        if (status)
                return status;
        r = query_new(ret, files->fds, files->n, options);
        if (r == 0)
                r = query_load(*ret, parts);
        return r ? trace_files_report(files, *ret, r) : STATUS_OK;
}

static bool stat_is_loss(const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        const char *name = trace_pool_text(&store->pool, trace_table_get(table, STAT_NAME, row));
        const char *severity =
                trace_pool_text(&store->pool, trace_table_get(table, STAT_SEVERITY, row));

        return trace_table_i64(table, STAT_VALUE, row) > 0 &&
               (streq(severity, "data_loss") || streq(name, "trace_file_damaged") ||
                streq(name, "tokenizer_malformed_packets"));
}

ExitStatus trace_files_check(const TraceFiles *files, const Query *query) {
        const TraceStore *store = query_store(query);

        for (uint32_t row = 0; row < store->tables[TRACE_TABLE_STAT].n; row++)
                if (stat_is_loss(store, row)) {
                        say_error(_("%s is not complete: \"desktrace inspect\" shows what is "
                                    "missing"),
                                  files->name);
                        return STATUS_DATA_LOST;
                }
        return STATUS_OK;
}

ExitStatus trace_files_use(char *const *paths,
                           unsigned parts,
                           const QueryOptions *options,
                           ExitStatus (*use)(const Query *query, void *userdata),
                           void *userdata) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        ExitStatus status = trace_files_load(
                &files, &query, paths, g_strv_length((char **)paths), parts, options);

        if (status)
                return status;
        status = use(query, userdata);
        fflush(stdout);
        return status ? status : trace_files_check(&files, query);
}
