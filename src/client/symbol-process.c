/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Symbol process: finds names for the functions in a trace file */

#include "client/symbol-process.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/say.h"
#include "shared/fd.h"
#include "trace/trace-import.h"
#include "wire/wire-reader.h"

#define TRACE_PACKET 1

/* What both processes share. */
typedef struct Shared {
        SymbolResult result;
        int error;
        bool is_done;
} Shared;

/*
 * The child
 */

/* This comes on top of what is already mapped, which is a lot with a sanitizer. */
static rlim_t memory_limit(void) {
        unsigned long n_pages = 0;
        FILE *file = fopen("/proc/self/statm", "re");

        if (file) {
                if (fscanf(file, "%lu", &n_pages) != 1)
                        n_pages = 0;
                fclose(file);
        }
        return (rlim_t)MIN((uint64_t)n_pages * (uint64_t)sysconf(_SC_PAGESIZE) +
                                   SYMBOL_PROCESS_MEMORY_BYTES,
                           (uint64_t)RLIM_INFINITY / 2);
}

static void limit(int resource, rlim_t most) {
        const struct rlimit limits = { most, most };

        (void)setrlimit(resource, &limits);
}

static void limit_child(void) {
        static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
                signal(ends[i], SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        limit(RLIMIT_AS, memory_limit());
        limit(RLIMIT_CPU, SYMBOL_PROCESS_SECONDS);
        limit(RLIMIT_FSIZE, SYMBOL_PROCESS_FILE_BYTES);
        limit(RLIMIT_CORE, 0);
}

static int64_t stat_of(const TraceStore *store, const char *name) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        int64_t value = 0;

        for (uint32_t row = 0; row < table->n; row++)
                if (streq(trace_pool_text(&store->pool, trace_table_get(table, STAT_NAME, row)),
                          name))
                        value += trace_table_i64(table, STAT_VALUE, row);
        return value;
}

static int find_names(Shared *shared, int trace_fd, int names_fd, const SymbolWishes *wishes) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        SymbolSearch search;
        int r;

        if (lseek(trace_fd, 0, SEEK_SET) < 0)
                return -errno;
        r = trace_import(&store, trace_fd, TRACE_PART_STACKS, SYMBOL_PROCESS_MEMORY_BYTES / 2);
        if (r < 0)
                return r;
        shared->result.is_damaged = stat_of(store, "trace_file_damaged") > 0;
        if (shared->result.is_damaged)
                return 0;
        r = symbol_search_init(&search, wishes->uses_debuginfod);
        search.wants_lines = wishes->wants_lines;
        if (r == 0)
                r = symbolize(store, &search, names_fd, &shared->result.counts);
        symbol_search_deinit(&search);
        return r;
}

_Noreturn static void
run_child(Shared *shared, int trace_fd, int names_fd, const SymbolWishes *wishes) {
        limit_child();
        shared->error = find_names(shared, trace_fd, names_fd, wishes);
        shared->is_done = true;
        _exit(0);
}

/*
 * We
 */

/* Whole packets: the last one may have been on its way when the child ended. */
static size_t whole_packets(const uint8_t *data, size_t n) {
        size_t n_whole = 0;
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0 && field.number == TRACE_PACKET &&
               field.type == WIRE_BYTES)
                n_whole = (size_t)(reader.at - data);
        return n_whole;
}

static int append(int names_fd, int output_fd) {
        const off_t n = lseek(names_fd, 0, SEEK_END);
        void *data;
        int r;

        if (n <= 0)
                return n < 0 ? -errno : 0;
        data = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, names_fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        r = lseek(output_fd, 0, SEEK_END) < 0
                    ? -errno
                    : fd_write_all(output_fd, data, whole_packets(data, (size_t)n));
        munmap(data, (size_t)n);
        return r;
}

static int wait_for(pid_t pid) {
        while (waitpid(pid, NULL, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return 0;
}

static int run_with(Shared *shared,
                    SymbolResult *ret,
                    int trace_fd,
                    int output_fd,
                    const SymbolWishes *wishes) {
        _cleanup_(fd_closep) int names_fd = memfd_create("names", MFD_CLOEXEC);
        pid_t pid = names_fd < 0 ? -1 : fork();
        int r;

        if (pid < 0)
                return -errno;
        if (pid == 0)
                run_child(shared, trace_fd, names_fd, wishes);
        r = wait_for(pid);
        if (r == 0)
                r = append(names_fd, output_fd);
        *ret = shared->result;
        ret->ended_early = !shared->is_done;
        return r ? r : shared->error;
}

int symbol_process_run(SymbolResult *ret, int trace_fd, int output_fd, const SymbolWishes *wishes) {
        Shared *shared = mmap(
                NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int r;

        *ret = (SymbolResult){ 0 };
        if (shared == MAP_FAILED)
                return -errno;
        fflush(NULL);
        r = run_with(shared, ret, trace_fd, output_fd, wishes);
        munmap(shared, sizeof(*shared));
        return r;
}

void symbol_result_say(const SymbolResult *result) {
        const SymbolCounts *counts = &result->counts;

        if (result->is_damaged)
                fputs(_("The file is damaged, so no names of functions are added to it.\n"),
                      stderr);
        else if (counts->n_addresses > 0)
                fprintf(stderr,
                        _("Named the functions at %" PRIu64 " of %" PRIu64 " addresses.\n"),
                        counts->n_named,
                        counts->n_addresses);
        if (counts->n_with_line > 0)
                fprintf(stderr,
                        _("Found the lines of the source code at %" PRIu64 " of %" PRIu64
                          " addresses.\n"),
                        counts->n_with_line,
                        counts->n_places);
        if (counts->lacks_tool)
                fprintf(stderr,
                        _("Lines of the source code need %s, which is not installed.\n"),
                        "addr2line (binutils)");
        if (result->ended_early)
                fputs(_("Naming functions ended early; \"desktrace symbolize\" continues it.\n"),
                      stderr);
}
