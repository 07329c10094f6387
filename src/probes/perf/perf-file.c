/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf file: how the loader reads what programs have mapped */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probes/perf/perf-file.h"
#include "shared/fd.h"
#include "shared/process-maps.h"

#define OWN_MAPS_BYTES_MAX (16u << 20)
#define VDSO_BYTES_MAX     (64u << 10)
#define STATUS_BYTES_MAX   (64u << 10)

/*
 * Comparing the open file with the one that the process has mapped
 */

/* Finds how the kernel shows a mapping of the file: stacked file systems (overlayfs, btrfs) give their files other
 * numbers in stat(). Nothing is read through this mapping. */
static int identity_as_mapped(FileIdentity *ret, int fd) {
        _cleanup_(freep) char *maps = NULL;
        char *line, *state = NULL;
        ProcessMapping mapping;
        void *at;
        int r;

        at = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
                return -errno;
        r = fd_read_file(&maps, NULL, AT_FDCWD, "/proc/self/maps", OWN_MAPS_BYTES_MAX);
        munmap(at, 1);
        if (r < 0)
                return r;
        for (line = strtok_r(maps, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                if (process_mapping_parse(&mapping, line) && mapping.start == (uintptr_t)at) {
                        *ret = (FileIdentity){ mapping.major, mapping.minor, mapping.inode };
                        return 0;
                }
        return -ENOENT;
}

static bool same_identity(const FileIdentity *a, const FileIdentity *b) {
        return a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

static bool is_identity(int fd, const FileIdentity *wanted) {
        FileIdentity found;
        struct stat st;

        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        found = (FileIdentity){ major(st.st_dev), minor(st.st_dev), st.st_ino };
        return same_identity(&found, wanted) ||
               (identity_as_mapped(&found, fd) == 0 && same_identity(&found, wanted));
}

/*
 * Opening
 */

/* O_NONBLOCK: do not wait for somebody's lease on the file. */
static int open_checked(const char *path, const FileIdentity *identity) {
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (is_identity(fd, identity))
                return fd;
        close(fd);
        return -ESTALE;
}

/* Tries the mapped file itself, which works even if its name is gone; then its name in the process's root directory,
 * which needs fewer privileges; then in the probes' own, for a process that has ended. */
static int open_mapped(const Load *load) {
        char path[PATH_MAX + 64];
        int fd;

        snprintf(path,
                 sizeof(path),
                 "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
                 (int)load->pid,
                 load->start,
                 load->end);
        fd = open_checked(path, &load->identity);
        if (fd < 0) {
                snprintf(path, sizeof(path), "/proc/%d/root%s", (int)load->pid, load->path);
                fd = open_checked(path, &load->identity);
        }
        return fd < 0 ? open_checked(load->path, &load->identity) : fd;
}

/*
 * Reading
 */

typedef struct FileReader {
        ModuleReader reader;
        int fd;
} FileReader;

static int64_t read_file(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const int fd = container_of(reader, FileReader, reader)->fd;
        size_t n_read = 0;

        while (n_read < n_bytes) {
                const ssize_t n = pread(
                        fd, (uint8_t *)buffer + n_read, n_bytes - n_read, (off_t)(offset + n_read));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                n_read += (size_t)n;
        }
        return (int64_t)n_read;
}

/* One that has ended, or is about to, has no program. */
static bool is_gone(pid_t pid) {
        char path[64], program[1];

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        return readlink(path, program, sizeof(program)) < 0 && (errno == ENOENT || errno == ESRCH);
}

static void load_file(Load *load) {
        FileReader reader = { .reader.read = read_file };

        reader.fd = open_mapped(load);
        if (reader.fd < 0) {
                load->is_gone = is_gone(load->pid);
                return;
        }
        if (module_new(&load->module, &reader.reader) < 0)
                load->module = NULL;
        close(reader.fd);
}

static void load_process(Load *load) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)load->pid);
        if (fd_read_file(&load->maps, NULL, AT_FDCWD, path, PROCESS_MAPS_BYTES_MAX) < 0)
                load->maps = NULL;
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)load->pid);
        if (fd_read_file(&load->command, NULL, AT_FDCWD, path, PERF_COMMAND_BYTES_MAX) < 0)
                load->command = NULL;
        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)load->pid);
        if (fd_read_file(&load->cgroup, NULL, AT_FDCWD, path, PERF_CGROUP_BYTES_MAX) < 0)
                load->cgroup = NULL;
}

/*
 * Names of code that a process makes
 */

/* The pid by which the process knows itself, which differs in a container. */
static pid_t innermost_pid(int process) {
        _cleanup_(freep) char *status = NULL;
        const char *numbers, *last;

        if (fd_read_file(&status, NULL, process, "status", STATUS_BYTES_MAX) < 0)
                return 0;
        numbers = strstr(status, "\nNSpid:");
        if (!numbers)
                return 0;
        for (last = numbers += strlen("\nNSpid:"); *numbers && *numbers != '\n'; numbers++)
                if (*numbers == '\t')
                        last = numbers + 1;
        return atoi(last);
}

/* Everybody may write to this directory: no link is followed to a file that the process itself could not read, and the
 * file must belong to the process's own user. */
static int open_jit(int process) {
        _cleanup_(fd_closep) int directory = -1, fd = -1;
        struct stat own, found;
        char name[32];

        snprintf(name, sizeof(name), "perf-%d.map", (int)innermost_pid(process));
        directory = openat(process, "root/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (directory < 0)
                return -errno;
        fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(process, &own) < 0 || fstat(fd, &found) < 0)
                return -errno;
        return S_ISREG(found.st_mode) && found.st_uid == own.st_uid && found.st_nlink == 1
                       ? TAKE_FD(fd)
                       : -EPERM;
}

static int read_jit(char **ret, size_t *ret_n, int process) {
        _cleanup_(fd_closep) int fd = open_jit(process);
        _cleanup_(freep) char *text = fd >= 0 ? malloc(JIT_FILE_BYTES_MAX + 1) : NULL;
        FileReader reader = { .fd = fd };
        int64_t n;

        if (!text)
                return -ENOENT;
        n = read_file(&reader.reader, text, JIT_FILE_BYTES_MAX, 0);
        if (n <= 0)
                return -EIO;
        text[n] = '\0';
        *ret = realloc(text, (size_t)n + 1) ?: text;
        TAKE(text);
        *ret_n = (size_t)n;
        return 0;
}

static void load_jit(Load *load) {
        _cleanup_(fd_closep) int process = -1;
        char path[32], *text;
        size_t n;

        snprintf(path, sizeof(path), "/proc/%d", (int)load->pid);
        process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process >= 0 && read_jit(&text, &n, process) == 0 &&
            jit_names_new(&load->jit, text, n) < 0)
                load->jit = NULL;
}

static void load_piece(Load *load) {
        _cleanup_(fd_closep) int fd = -1;
        char path[32];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)load->pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        load->piece = fd >= 0 ? malloc(load->end - load->start) : NULL;
        if (!load->piece)
                return;
        n = pread(fd, load->piece, load->end - load->start, (off_t)load->start);
        load->n_piece = n > 0 ? (size_t)n : 0;
}

void perf_file_carry_out(Load *load) {
        static void (*const functions[])(Load *) = {
                [LOAD_PROCESS] = load_process,
                [LOAD_FILE] = load_file,
                [LOAD_JIT] = load_jit,
                [LOAD_PIECE] = load_piece,
        };

        functions[load->kind](load);
}

/*
 * The kernel's own module, which is mapped in every process
 */

typedef struct MemoryReader {
        ModuleReader reader;
        const uint8_t *bytes;
        size_t n_bytes;
} MemoryReader;

static int64_t read_memory(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const MemoryReader *memory = container_of(reader, MemoryReader, reader);

        if (offset >= memory->n_bytes)
                return 0;
        n_bytes = MIN(n_bytes, memory->n_bytes - (size_t)offset);
        memcpy(buffer, memory->bytes + offset, n_bytes);
        return (int64_t)n_bytes;
}

/* From /proc/self/maps. */
static size_t vdso_bytes(uint64_t start) {
        _cleanup_(freep) char *maps = NULL;
        char text[32], *at;

        if (fd_read_file(&maps, NULL, AT_FDCWD, "/proc/self/maps", OWN_MAPS_BYTES_MAX) < 0)
                return 0;
        snprintf(text, sizeof(text), "%" PRIx64 "-", start);
        at = strstr(maps, text);
        return at ? (size_t)(strtoull(at + strlen(text), NULL, 16) - start) : 0;
}

Module *perf_file_vdso(void) {
        const uint64_t start = getauxval(AT_SYSINFO_EHDR);
        MemoryReader reader = { .reader.read = read_memory };
        Module *module = NULL;

        if (start == 0)
                return NULL;
        reader.bytes = (const uint8_t *)(uintptr_t)start;
        reader.n_bytes = MIN(vdso_bytes(start), (size_t)VDSO_BYTES_MAX);
        return module_new(&module, &reader.reader) >= 0 ? module : NULL;
}
