/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/points/mapped-files.h"
#include "shared/fd.h"

#define YOUNG_NS       (1500 * PROBE_NS_PER_MS)
#define ALL_AGAIN_NS   (20000 * PROBE_NS_PER_MS)
#define TEXT_BYTES_MIN 65536
#define DELETED        " (deleted)"

/* One line of a maps file. */
typedef struct Mapping {
        uint64_t start, end;
        MappedFile file;
        char *path;
        bool is_deleted;
} Mapping;

int mapped_files_init(MappedFiles *files, const MappedVisitor *visitor) {
        *files = (MappedFiles){ .visitor = *visitor, .proc = "/proc", .n_text = TEXT_BYTES_MIN };
        files->text = malloc(files->n_text);
        return files->text ? 0 : -ENOMEM;
}

void mapped_files_deinit(MappedFiles *files) {
        free(files->mappings.files);
        free(files->opened.files);
        free(files->text);
        pid_set_deinit(&files->seen);
        *files = (MappedFiles){};
}

/*
 * Files
 */

static int compare_files(const MappedFile *a, const MappedFile *b) {
        if (a->inode != b->inode)
                return a->inode < b->inode ? -1 : 1;
        if (a->device != b->device)
                return a->device < b->device ? -1 : 1;
        if (a->size != b->size)
                return a->size < b->size ? -1 : 1;
        if (a->written_ns != b->written_ns)
                return a->written_ns < b->written_ns ? -1 : 1;
        return 0;
}

static bool make_room(MappedFileSet *set) {
        size_t n = set->n_allocated * 2 + 64;
        MappedFile *more;

        if (set->n < set->n_allocated)
                return true;
        more = reallocarray(set->files, n, sizeof(*more));
        if (!more)
                return false;
        set->files = more;
        set->n_allocated = n;
        return true;
}

/* Whether the file is new, which it is no longer. */
static bool remember(MappedFileSet *set, const MappedFile *file) {
        size_t low = 0, high = set->n;

        while (low < high) {
                size_t middle = (low + high) / 2;
                int order = compare_files(&set->files[middle], file);

                if (order == 0)
                        return false;
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (set->n == MAPPED_FILES_MAX || !make_room(set))
                return false;
        memmove(&set->files[low + 1], &set->files[low], (set->n - low) * sizeof(*set->files));
        set->files[low] = *file;
        set->n++;
        return true;
}

/*
 * A probe is in the inode that a file system keeps its data in. Containers of one image have that in common although
 * each has an overlay of its own, whose files have the overlay's device: two probes there would see everything twice.
 * So a file of an overlay is known by what it has from below.
 */
static MappedFile identify(int fd, const struct stat *st) {
        MappedFile file = { .device = st->st_dev, .inode = st->st_ino };
        struct statfs system;

        if (fstatfs(fd, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC)
                file = (MappedFile){ .device = UINT64_MAX,
                                     .inode = st->st_ino,
                                     .size = (uint64_t)st->st_size,
                                     .written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
                                                   (uint64_t)st->st_mtim.tv_nsec };
        return file;
}

/* Gives the file to the visitor, unless that has it by another path. Takes the descriptor. */
static void tell(MappedFiles *files, int fd, const struct stat *st, const char *path) {
        MappedFile file = identify(fd, st);

        if (remember(&files->opened, &file))
                files->visitor.found(files->visitor.userdata, fd, path);
        else
                fd_close(fd);
}

/* Nothing that has side effects when it is opened, and nothing whose reader waits for somebody's program. */
static int open_regular(MappedFiles *files, const char *path, struct stat *ret) {
        _cleanup_(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
        struct statfs system;
        char again[64];

        if (fd < 0 || fstat(fd, ret) < 0 || fstatfs(fd, &system) < 0 || !S_ISREG(ret->st_mode))
                return -1;
        if (system.f_type == FUSE_SUPER_MAGIC) {
                files->n_foreign++;
                return -1;
        }
        snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
        return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* By the process's own root directory; or, if another file has that name by now, by the mapping itself, which needs
 * more privileges. Stacked file systems have other numbers for a file than its mapping. */
static int
open_mapping(MappedFiles *files, int pid, const Mapping *mapping, struct stat *ret_stat) {
        char path[MAPPED_PATH_BYTES];
        int fd = -1;

        if (!mapping->is_deleted) {
                snprintf(path, sizeof(path), "%s/%d/root%s", files->proc, pid, mapping->path);
                fd = open_regular(files, path, ret_stat);
                if (fd >= 0 && (ret_stat->st_ino == mapping->file.inode ||
                                ret_stat->st_dev != mapping->file.device))
                        return fd;
                fd_close(fd);
        }
        snprintf(path,
                 sizeof(path),
                 "%s/%d/map_files/%" PRIx64 "-%" PRIx64,
                 files->proc,
                 pid,
                 mapping->start,
                 mapping->end);
        fd = open_regular(files, path, ret_stat);
        if (fd < 0)
                files->n_replaced++;
        return fd;
}

void mapped_files_add_system(MappedFiles *files, const char *name) {
        char path[MAPPED_PATH_BYTES], maps[64];
        _cleanup_(freep) char *text = NULL;
        struct stat st;
        const char *libc;
        size_t n;
        int fd;

        snprintf(maps, sizeof(maps), "%s/self/maps", files->proc);
        if (fd_read_file(&text, &n, AT_FDCWD, maps, MAPPED_TEXT_BYTES_MAX) < 0)
                return;
        libc = strstr(text, "/libc.so");
        if (!libc)
                return;
        for (n = 0; libc > text && libc[-1] != ' '; libc--)
                n++;
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, libc, name);
        fd = open_regular(files, path, &st);
        if (fd >= 0)
                tell(files, fd, &st, path);
}

/*
 * Processes
 */

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   PATH": of code in a file. Changes the line. */
static bool parse_mapping(Mapping *ret, char *line) {
        unsigned long long start, end, inode;
        unsigned major_number, minor_number;
        char permissions[5];
        size_t n;
        int at = 0;

        if (sscanf(line,
                   "%llx-%llx %4s %*x %x:%x %llu %n",
                   &start,
                   &end,
                   permissions,
                   &major_number,
                   &minor_number,
                   &inode,
                   &at) != 6 ||
            permissions[2] != 'x' || inode == 0 || at == 0 || line[at] != '/')
                return false;
        *ret = (Mapping){ .start = start,
                          .end = end,
                          .file = { .device = makedev(major_number, minor_number), .inode = inode },
                          .path = line + at };
        n = strlen(ret->path);
        if (n > strlen(DELETED) && streq(ret->path + n - strlen(DELETED), DELETED)) {
                ret->is_deleted = true;
                ret->path[n - strlen(DELETED)] = '\0';
        }
        return true;
}

static void look_at_line(MappedFiles *files, int pid, char *line) {
        Mapping mapping;
        struct stat st;
        int fd;

        if (!parse_mapping(&mapping, line) ||
            !files->visitor.wants(files->visitor.userdata, strrchr(mapping.path, '/') + 1) ||
            !remember(&files->mappings, &mapping.file))
                return;
        fd = open_mapping(files, pid, &mapping, &st);
        if (fd >= 0)
                tell(files, fd, &st, mapping.path);
}

/* The list of a process as a text; a very long one is cut. */
static bool read_maps(MappedFiles *files, int pid) {
        _cleanup_(fd_closep) int fd = -1;
        char path[64];
        size_t n = 0;
        ssize_t r;

        snprintf(path, sizeof(path), "%s/%d/maps", files->proc, pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && (r = read(fd, files->text + n, files->n_text - 1 - n)) > 0) {
                n += (size_t)r;
                if (files->n_text - 1 - n < 8192 && files->n_text < MAPPED_TEXT_BYTES_MAX) {
                        char *more = realloc(files->text, files->n_text * 2);

                        if (!more)
                                break;
                        files->text = more;
                        files->n_text *= 2;
                }
                if (files->n_text - 1 - n == 0)
                        break;
        }
        files->text[n] = '\0';
        return n > 0;
}

static void look_at(MappedFiles *files, int pid) {
        char *line, *state = NULL;

        if (!read_maps(files, pid))
                return;
        for (line = strtok_r(files->text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                look_at_line(files, pid, line);
}

static unsigned look_at_young(MappedFiles *files, uint64_t now_ns) {
        unsigned n = 0;
        size_t kept = 0;

        for (size_t i = 0; i < files->n_young; i++) {
                YoungProcess process = files->young[i];

                if (process.due_ns > now_ns || n >= MAPPED_TURN_MAX) {
                        files->young[kept++] = process;
                        continue;
                }
                look_at(files, process.pid);
                n++;
        }
        files->n_young = kept;
        return n;
}

/* A process that was not seen before. */
static void look_at_new(MappedFiles *files, int pid, uint64_t now_ns) {
        look_at(files, pid);
        pid_set_add(&files->seen, pid);
        pid_set_clear_fresh(&files->seen);
        if (files->n_young < MAPPED_YOUNG_MAX)
                files->young[files->n_young++] = (YoungProcess){ pid, now_ns + YOUNG_NS };
}

bool mapped_files_look(MappedFiles *files, uint64_t now_ns) {
        unsigned n = look_at_young(files, now_ns);
        struct dirent *entry;
        DIR *dir;

        if (now_ns >= files->all_again_ns) {
                pid_set_clear(&files->seen);
                files->all_again_ns = now_ns + ALL_AGAIN_NS;
        }
        dir = opendir(files->proc);
        while (dir && n < MAPPED_TURN_MAX && (entry = readdir(dir))) {
                int pid = atoi(entry->d_name);

                if (pid <= 0 || pid_set_has(&files->seen, pid))
                        continue;
                look_at_new(files, pid, now_ns);
                n++;
        }
        if (dir)
                closedir(dir);
        return n >= MAPPED_TURN_MAX;
}
