/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, process: why a program is not among the producers */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/doctor-process.h"
#include "shared/fd.h"
#include "shared/flatpak-info.h"

#define SMALL_FILE_BYTES_MAX 8192
#define THREADS_MAX          4096
#define PATH_BYTES_MAX       4096
#define PIECE_BYTES          ((size_t)1 << 20)
#define WORD_BYTES_MAX       ((size_t)64)
#define DELETED              " (deleted)"

/*
 * A program's file
 */

static bool contains(const void *data, size_t n, const char *text) {
        return memmem(data, n, text, strlen(text));
}

/* Text that is in a file only if it contains the code. */
static void look_through(void *userdata, const void *data, size_t n) {
        ProgramFacts *facts = userdata;

        facts->is_static = facts->is_readable ? facts->is_static : true;
        facts->is_readable = true;
        facts->names_library |= contains(data, n, "libdesktrace.so.");
        facts->has_own_library |= contains(data, n, "org.desktrace.Tracing1.Producer");
        facts->has_perfetto |= contains(data, n, "PERFETTO_PRODUCER_SOCK_NAME");
        facts->is_static &= !contains(data, n, "/ld-linux") && !contains(data, n, "/ld-musl") &&
                            !contains(data, n, "/ld.so") && !contains(data, n, "/ld64.so");
}

/* 0: the end, or an error. */
static size_t read_piece(int fd, uint8_t *data, size_t n, uint64_t at) {
        ssize_t n_read;

        do
                n_read = pread(fd, data, n, (off_t)at);
        while (n_read < 0 && errno == EINTR);
        return n_read > 0 ? (size_t)n_read : 0;
}

void program_file_look(int root, const char *path, ProgramLook look, void *userdata) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) uint8_t *data = NULL;
        size_t n_kept = 0, n_read, n_tail;
        struct stat info;

        fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
                return;
        data = malloc(PIECE_BYTES);
        for (uint64_t at = 0; data && at < PROCESS_PROGRAM_BYTES_MAX; at += n_read) {
                n_read = read_piece(fd, data + n_kept, PIECE_BYTES - n_kept, at);
                if (n_read == 0)
                        return;
                look(userdata, data, n_kept + n_read);
                /* A word may begin in this piece and end in the next one. */
                n_kept += n_read;
                n_tail = MIN(n_kept, WORD_BYTES_MAX);
                memmove(data, data + n_kept - n_tail, n_tail);
                n_kept = n_tail;
        }
}

void program_facts_read(ProgramFacts *facts, int root, const char *path) {
        *facts = (ProgramFacts){ 0 };
        program_file_look(root, path, look_through, facts);
}

/*
 * A process
 */

static char *read_text(int dir, const char *file, size_t max, size_t *ret_n) {
        char *text = NULL;

        return fd_read_file(&text, ret_n, dir, file, max) < 0 ? NULL : text;
}

/* "PID (NAME) STATE …"; the name may have anything in it. */
static void read_stat(ProcessFacts *facts, int dir) {
        _cleanup_(freep) char *text = read_text(dir, "stat", SMALL_FILE_BYTES_MAX, NULL);
        const char *start = text ? strchr(text, '(') : NULL;
        const char *end = text ? strrchr(text, ')') : NULL;
        struct stat info;

        if (!start || !end || end < start)
                return;
        facts->exists = true;
        facts->name = g_strndup(start + 1, (gsize)(end - start - 1));
        facts->state = end[1] == ' ' ? end[2] : 0;
        if (fstat(dir, &info) == 0)
                facts->uid = info.st_uid;
}

static bool take_deleted(char *path) {
        if (!g_str_has_suffix(path, DELETED))
                return false;
        path[strlen(path) - strlen(DELETED)] = 0;
        return true;
}

static char *read_link(int dir, const char *name) {
        char target[PATH_BYTES_MAX];
        ssize_t n = readlinkat(dir, name, target, sizeof(target));

        return n <= 0 || n == (ssize_t)sizeof(target) ? NULL : g_strndup(target, (gsize)n);
}

static void read_program(ProcessFacts *facts, int dir) {
        facts->program = read_link(dir, "exe");
        if (!facts->program)
                return;
        facts->program_is_deleted = take_deleted(facts->program);
        program_facts_read(&facts->file, dir, "exe");
}

/* "address perms offset dev inode   path" */
static void read_map(ProcessFacts *facts, const char *line) {
        const char *path = strchr(line, '/');
        const char *name = path ? strrchr(path, '/') : NULL;

        if (!name || facts->library || !g_str_has_prefix(name, "/libdesktrace.so"))
                return;
        facts->library = g_strndup(path, PATH_BYTES_MAX);
        facts->library_is_deleted = take_deleted(facts->library);
}

static void read_maps(ProcessFacts *facts, int dir) {
        _cleanup_(freep) char *text = read_text(dir, "maps", PROCESS_MAPS_BYTES_MAX, NULL);
        char *rest = NULL;

        if (!text)
                return;
        facts->has_maps = true;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                read_map(facts, line);
}

static bool thread_is_ours(int tasks, const char *tid) {
        g_autofree char *path = g_strconcat(tid, "/comm", NULL);
        _cleanup_(freep) char *name = read_text(tasks, path, 64, NULL);

        return name && g_str_has_prefix(name, "desktrace\n");
}

/* Skips the first one, which has the program's name. */
static void read_threads(ProcessFacts *facts, int dir) {
        int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!tasks) {
                fd_close(fd);
                return;
        }
        for (unsigned n = 0; n < THREADS_MAX && !facts->has_thread && (entry = readdir(tasks)); n++)
                if (g_ascii_isdigit(entry->d_name[0]) && atoi(entry->d_name) != facts->pid)
                        facts->has_thread = thread_is_ours(dirfd(tasks), entry->d_name);
        closedir(tasks);
}

static bool variable_matters(const char *text) {
        static const char *const names[] = {
                "DESKTRACE_SOCKET=",         "DESKTRACE_WAIT=",
                "DESKTRACE_STARTUP=",        "DBUS_SYSTEM_BUS_ADDRESS=",
                "DBUS_SESSION_BUS_ADDRESS=", "PERFETTO_PRODUCER_SOCK_NAME=",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (g_str_has_prefix(text, names[i]))
                        return true;
        return false;
}

static void read_environ(ProcessFacts *facts, int dir) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        size_t n = 0;
        _cleanup_(freep) char *text = read_text(dir, "environ", PROCESS_ENVIRON_BYTES_MAX, &n);

        facts->has_environ = text;
        for (const char *at = text; at && at < text + n; at += strlen(at) + 1)
                if (variable_matters(at))
                        g_strv_builder_add(builder, at);
        facts->variables = g_strv_builder_end(builder);
}

static void read_place(ProcessFacts *facts, int proc, int dir) {
        g_autofree char *own = read_link(proc, "self/ns/pid");
        g_autofree char *its = read_link(dir, "ns/pid");
        char app[FLATPAK_APP_ID_BYTES];

        facts->is_elsewhere = own && its && !streq(own, its);
        if (flatpak_info_read(app, proc, facts->pid))
                facts->flatpak = g_strdup(app);
}

ProcessFacts *process_facts_new(int root, pid_t pid) {
        ProcessFacts *facts = g_new0(ProcessFacts, 1);
        g_autofree char *name = g_strdup_printf("%d", (int)pid);
        _cleanup_(fd_closep) int proc = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(fd_closep) int dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        facts->pid = pid;
        if (dir < 0)
                return facts;
        read_stat(facts, dir);
        read_program(facts, dir);
        read_maps(facts, dir);
        read_threads(facts, dir);
        read_environ(facts, dir);
        read_place(facts, proc, dir);
        return facts;
}

ProcessFacts *process_facts_free(ProcessFacts *facts) {
        if (!facts)
                return NULL;
        g_free(facts->name);
        g_free(facts->program);
        g_free(facts->library);
        g_strfreev(facts->variables);
        g_free(facts->flatpak);
        g_free(facts);
        return NULL;
}

/*
 * All processes
 */

static bool process_is(int proc, const char *pid, const char *program) {
        g_autofree char *exe = g_strconcat(pid, "/exe", NULL);
        g_autofree char *comm = g_strconcat(pid, "/comm", NULL);
        g_autofree char *target = read_link(proc, exe);
        _cleanup_(freep) char *name = NULL;

        if (target)
                (void)take_deleted(target);
        if (strchr(program, '/'))
                return target && streq(target, program);
        if (target && streq(strrchr(target, '/') ? strrchr(target, '/') + 1 : target, program))
                return true;
        name = read_text(proc, comm, 64, NULL);
        return name && strlen(program) + 1 == strlen(name) && g_str_has_prefix(name, program);
}

GArray *process_find(int root, const char *program) {
        GArray *found = g_array_new(FALSE, FALSE, sizeof(pid_t));
        int fd = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *proc = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!proc) {
                fd_close(fd);
                return found;
        }
        for (unsigned n = 0;
             n < PROCESSES_MAX && found->len < PROCESSES_FOUND_MAX && (entry = readdir(proc));
             n++)
                if (g_ascii_isdigit(entry->d_name[0]) &&
                    process_is(dirfd(proc), entry->d_name, program)) {
                        pid_t pid = atoi(entry->d_name);

                        g_array_append_val(found, pid);
                }
        closedir(proc);
        return found;
}
