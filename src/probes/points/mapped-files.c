/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mapped files: the libraries that running programs have mapped, as they appear */

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
#include "shared/process-maps.h"

#define YOUNG_NS       (1500 * PROBE_NS_PER_MS)
#define ALL_AGAIN_NS   (20000 * PROBE_NS_PER_MS)
#define TEXT_BYTES_MIN 65536
#define DELETED        " (deleted)"
#define FOREIGN_TYPES  "fuse", "nfs", "cifs", "smb3", "ceph", "afs"

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

/* Where it is, or belongs. */
static size_t find_place(const MappedFileSet *set, const MappedFile *file, bool *ret_is_there) {
        size_t low = 0, high = set->n;

        *ret_is_there = false;
        while (low < high) {
                size_t middle = (low + high) / 2;
                int order = compare_files(&set->files[middle], file);

                *ret_is_there |= order == 0;
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool knows(const MappedFileSet *set, const MappedFile *file) {
        bool is_there;

        (void)find_place(set, file, &is_there);
        return is_there;
}

/* Whether the file is new. Afterwards it is not. */
static bool remember(MappedFileSet *set, const MappedFile *file) {
        bool is_there;
        size_t at = find_place(set, file, &is_there);

        if (is_there || set->n == MAPPED_FILES_MAX || !make_room(set))
                return false;
        memmove(&set->files[at + 1], &set->files[at], (set->n - at) * sizeof(*set->files));
        set->files[at] = *file;
        set->n++;
        return true;
}

/*
 * A probe sits in the inode in which a file system keeps its data. Containers of one image have that inode in common,
 * although each has an overlay of its own, whose files have the overlay's device. Two probes there would see everything
 * twice, so a file of an overlay is identified by what the file below has.
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

/* Gives the file to the visitor, unless the visitor already has it by another path. Takes over the descriptor. */
static void tell(MappedFiles *files, int fd, const struct stat *st, const char *path) {
        MappedFile file = identify(fd, st);

        if (remember(&files->opened, &file))
                files->visitor.found(files->visitor.userdata, fd, path);
        else
                fd_close(fd);
}

/* Refuses what has side effects when it is opened. */
static int open_regular(const char *path, struct stat *ret) {
        _cleanup_(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
        char again[64];

        if (fd < 0 || fstat(fd, ret) < 0)
                return -1;
        if (!S_ISREG(ret->st_mode)) {
                errno = ENOTSUP;
                return -1;
        }
        snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
        return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* For mappings that may not be opened themselves: opens the file by its name in the process's own root directory,
 * unless that name belongs to another file by now. Stacked file systems have other numbers for a file than its
 * mapping has. */
static int
open_by_name(MappedFiles *files, int pid, const ProcessMapping *mapping, struct stat *ret_stat) {
        char path[MAPPED_PATH_BYTES];
        int fd;

        snprintf(path, sizeof(path), "%s/%d/root%s", files->proc, pid, mapping->path);
        fd = open_regular(path, ret_stat);
        if (fd >= 0 && (ret_stat->st_ino == mapping->inode ||
                        ret_stat->st_dev != makedev(mapping->major, mapping->minor)))
                return fd;
        files->n_replaced++;
        return fd_close(fd);
}

static int
open_mapping(MappedFiles *files, int pid, const ProcessMapping *mapping, struct stat *ret_stat) {
        char path[128];
        int fd;

        snprintf(path,
                 sizeof(path),
                 "%s/%d/map_files/%" PRIx64 "-%" PRIx64,
                 files->proc,
                 pid,
                 mapping->start,
                 mapping->end);
        fd = open_regular(path, ret_stat);
        return fd < 0 && (errno == EPERM || errno == EACCES)
                       ? open_by_name(files, pid, mapping, ret_stat)
                       : fd;
}

void mapped_files_add_system(MappedFiles *files, const char *name) {
        char path[MAPPED_PATH_BYTES], maps[64];
        _cleanup_(freep) char *text = NULL;
        struct stat st;
        const char *libc;
        size_t n;
        int fd;

        snprintf(maps, sizeof(maps), "%s/self/maps", files->proc);
        if (fd_read_file(&text, &n, AT_FDCWD, maps, PROCESS_MAPS_BYTES_MAX) < 0)
                return;
        libc = strstr(text, "/libc.so");
        if (!libc)
                return;
        for (n = 0; libc > text && libc[-1] != ' '; libc--)
                n++;
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, libc, name);
        fd = open_regular(path, &st);
        if (fd >= 0)
                tell(files, fd, &st, path);
}

/*
 * File systems
 */

/* "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELD…] - TYPE SOURCE OPTIONS": whether it is of the device, and then its
 * type. Blanks in names are escaped. */
static bool parse_mount(const char *line, const ProcessMapping *mapping, const char **ret_type) {
        const char *separator = strstr(line, " - ");
        unsigned major_number, minor_number;

        if (sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) != 2 || !separator ||
            major_number != mapping->major || minor_number != mapping->minor)
                return false;
        *ret_type = separator + strlen(" - ");
        return true;
}

/* Returns false if it is not mounted for the process, or for "self". */
static bool find_file_system(const MappedFiles *files,
                             const char *process,
                             const ProcessMapping *mapping,
                             bool *ret_is_foreign) {
        static const char *const foreign[] = { FOREIGN_TYPES };
        _cleanup_(freep) char *mounts = NULL;
        char path[64], *state = NULL;
        const char *type;

        snprintf(path, sizeof(path), "%s/%s/mountinfo", files->proc, process);
        if (fd_read_file(&mounts, NULL, AT_FDCWD, path, MAPPED_MOUNTS_BYTES) < 0)
                return false;
        for (char *line = strtok_r(mounts, "\n", &state); line;
             line = strtok_r(NULL, "\n", &state)) {
                if (!parse_mount(line, mapping, &type))
                        continue;
                *ret_is_foreign = false;
                for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
                        *ret_is_foreign |= strncmp(type, foreign[i], strlen(foreign[i])) == 0;
                return true;
        }
        return false;
}

/* Files of containers may be on a device that only we have mounted under that number. */
static bool is_foreign(const MappedFiles *files, int pid, const ProcessMapping *mapping) {
        bool foreign = true;
        char process[16];

        snprintf(process, sizeof(process), "%d", pid);
        return (!find_file_system(files, process, mapping, &foreign) &&
                !find_file_system(files, "self", mapping, &foreign)) ||
               foreign;
}

/*
 * Processes
 */

/* After the name of a file that is gone there is another word, which is not part of the name. */
static const char *name_of(char *path) {
        size_t n = strlen(path);

        if (n > strlen(DELETED) && streq(path + n - strlen(DELETED), DELETED))
                path[n - strlen(DELETED)] = '\0';
        return strrchr(path, '/') + 1;
}

/* What cannot be opened now, perhaps because the process is just ending, may be opened next time. */
static void look_at_file(MappedFiles *files, int pid, const ProcessMapping *mapping) {
        const MappedFile file = { .device = makedev(mapping->major, mapping->minor),
                                  .inode = mapping->inode };
        struct stat st;
        int fd;

        if (knows(&files->mappings, &file))
                return;
        if (is_foreign(files, pid, mapping)) {
                files->n_foreign += remember(&files->mappings, &file);
                return;
        }
        fd = open_mapping(files, pid, mapping, &st);
        if (fd < 0)
                return;
        (void)remember(&files->mappings, &file);
        tell(files, fd, &st, mapping->path);
}

static void look_at_line(MappedFiles *files, int pid, char *line) {
        ProcessMapping mapping;
        char *path;

        if (!process_mapping_parse(&mapping, line) || !mapping.is_executable ||
            mapping.inode == 0 || *mapping.path != '/')
                return;
        path = line + (mapping.path - line);
        if (files->visitor.wants(files->visitor.userdata, name_of(path)))
                look_at_file(files, pid, &mapping);
}

/* A process's list as a text. A very long one is cut. */
static bool read_maps(MappedFiles *files, int pid) {
        _cleanup_(fd_closep) int fd = -1;
        char path[64];
        size_t n = 0;
        ssize_t r;

        snprintf(path, sizeof(path), "%s/%d/maps", files->proc, pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && (r = read(fd, files->text + n, files->n_text - 1 - n)) > 0) {
                n += (size_t)r;
                if (files->n_text - 1 - n < 8192 && files->n_text < PROCESS_MAPS_BYTES_MAX) {
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
        files->n_read += n;
        return n > 0;
}

static void look_at(MappedFiles *files, int pid) {
        char *line, *state = NULL;

        if (!read_maps(files, pid))
                return;
        for (line = strtok_r(files->text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                look_at_line(files, pid, line);
}

static bool is_turn_over(const MappedFiles *files, unsigned n_looked_at) {
        return n_looked_at >= MAPPED_TURN_MAX || files->n_read >= MAPPED_TURN_BYTES;
}

static unsigned look_at_young(MappedFiles *files, uint64_t now_ns) {
        unsigned n = 0;
        size_t kept = 0;

        for (size_t i = 0; i < files->n_young; i++) {
                YoungProcess process = files->young[i];

                if (process.due_ns > now_ns || is_turn_over(files, n)) {
                        files->young[kept++] = process;
                        continue;
                }
                look_at(files, process.pid);
                n++;
        }
        files->n_young = kept;
        return n;
}

/* A process that has not been seen before. */
static void look_at_new(MappedFiles *files, int pid, uint64_t now_ns) {
        look_at(files, pid);
        pid_set_add(&files->seen, pid);
        pid_set_clear_fresh(&files->seen);
        if (files->n_young < MAPPED_YOUNG_MAX)
                files->young[files->n_young++] = (YoungProcess){ pid, now_ns + YOUNG_NS };
}

bool mapped_files_look(MappedFiles *files, uint64_t now_ns) {
        struct dirent *entry;
        unsigned n;
        DIR *dir;

        files->n_read = 0;
        n = look_at_young(files, now_ns);
        if (now_ns >= files->all_again_ns) {
                pid_set_clear(&files->seen);
                files->all_again_ns = now_ns + ALL_AGAIN_NS;
        }
        dir = opendir(files->proc);
        while (dir && !is_turn_over(files, n) && (entry = readdir(dir))) {
                int pid = atoi(entry->d_name);

                if (pid <= 0 || pid_set_has(&files->seen, pid))
                        continue;
                look_at_new(files, pid, now_ns);
                n++;
        }
        if (dir)
                closedir(dir);
        return is_turn_over(files, n);
}
