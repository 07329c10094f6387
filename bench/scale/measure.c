/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Measure: clocks, CPU time, memory, and what copying and writing cost without a service */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scale.h"
#include "shared/fd.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define MEMFDS_MAX 8192

uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

void sleep_ms(unsigned ms) {
        struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

        while (nanosleep(&time, &time) < 0 && errno == EINTR)
                ;
}

uint64_t process_cpu_ns(pid_t pid) {
        struct timespec used;
        clockid_t clock;

        if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
                die("cannot read the CPU time of the service", -errno);
        return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

uint64_t process_n_wakeups(pid_t pid) {
        char path[64];
        uint64_t n = 0;
        struct dirent *entry;
        DIR *tasks;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        tasks = opendir(path);
        if (!tasks)
                die("cannot read the threads of the service", -errno);
        while ((entry = readdir(tasks))) {
                _cleanup_(freep) char *text = NULL;
                unsigned long long on_cpu, waiting, n_slices;
                char name[512];

                if (entry->d_name[0] == '.')
                        continue;
                snprintf(name, sizeof(name), "%s/%s/schedstat", path, entry->d_name);
                if (fd_read_file(&text, NULL, AT_FDCWD, name, 256) == 0 &&
                    sscanf(text, "%llu %llu %llu", &on_cpu, &waiting, &n_slices) == 3)
                        n += n_slices;
        }
        closedir(tasks);
        return n;
}

/*
 * Memory
 */

static double rollup_kib(pid_t pid, const char *key) {
        _cleanup_(freep) char *text = NULL;
        char path[64];
        const char *at;
        int r;

        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
        r = fd_read_file(&text, NULL, AT_FDCWD, path, 1 << 16);
        at = r == 0 ? strstr(text, key) : NULL;
        if (!at)
                die("cannot read the memory of the service", r);
        return strtod(at + strlen(key), NULL);
}

typedef struct Memfds {
        ino_t inodes[MEMFDS_MAX];
        size_t n;
        double kib;
} Memfds;

static void memfds_add(Memfds *memfds, int directory_fd, const char *name) {
        struct stat st;

        if (fstatat(directory_fd, name, &st, 0) < 0 || memfds->n == MEMFDS_MAX)
                die("cannot look at a memfd of the service", -errno);
        for (size_t i = 0; i < memfds->n; i++)
                if (memfds->inodes[i] == st.st_ino)
                        return;
        memfds->inodes[memfds->n++] = st.st_ino;
        memfds->kib += (double)st.st_blocks / 2;
}

/* A memfd may be mapped and closed, or open and not mapped. */
static void memfds_find(Memfds *memfds, pid_t pid, const char *where) {
        char path[64], target[64];
        struct dirent *entry;
        DIR *directory;

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, where);
        directory = opendir(path);
        if (!directory)
                die("cannot read the files of the service (this needs root)", -errno);
        while ((entry = readdir(directory))) {
                ssize_t n = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

                if (n <= 0)
                        continue;
                target[n] = 0;
                if (strncmp(target, "/memfd:", strlen("/memfd:")) == 0)
                        memfds_add(memfds, dirfd(directory), entry->d_name);
        }
        closedir(directory);
}

Memory process_memory(pid_t pid) {
        static Memfds memfds;

        memfds = (Memfds){};
        memfds_find(&memfds, pid, "fd");
        memfds_find(&memfds, pid, "map_files");
        return (Memory){
                .private_kib = rollup_kib(pid, "\nPss_Anon:"),
                .shared_kib = memfds.kib,
        };
}

/*
 * Files and floors
 */

int file_new(const World *world) {
        int fd = open(world->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        if (fd < 0)
                die("cannot make a file on tmpfs", -errno);
        return fd;
}

uint64_t file_bytes(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                die("cannot look at a file", -errno);
        return (uint64_t)st.st_size;
}

static void *pages_new(uint64_t n_bytes) {
        void *pages = mmap(NULL,
                           n_bytes,
                           PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                           -1,
                           0);

        if (pages == MAP_FAILED)
                die("not enough memory for a floor", -errno);
        memset(pages, 0x55, n_bytes);
        return pages;
}

double memcpy_ms(uint64_t n_bytes) {
        void *from = pages_new(n_bytes), *to = pages_new(n_bytes);
        Samples samples = {};

        for (unsigned i = 0; i < 5; i++) {
                uint64_t begin = now_ns();

                memcpy(to, from, n_bytes);
                __asm__ volatile("" : : "r"(to) : "memory");
                samples_add(&samples, (double)(now_ns() - begin) / 1e6);
        }
        munmap(from, n_bytes);
        munmap(to, n_bytes);
        return samples_median(&samples);
}

double write_ms(const World *world, uint64_t n_bytes) {
        const size_t n_piece = MIN(n_bytes, (uint64_t)1 << 20);
        void *from = pages_new(n_piece);
        Samples samples = {};

        for (unsigned i = 0; i < 3; i++) {
                _cleanup_(fd_closep) int fd = file_new(world);
                uint64_t begin = now_ns();

                for (uint64_t n = 0; n < n_bytes; n += n_piece)
                        if (fd_write_all(fd, from, MIN((uint64_t)n_piece, n_bytes - n)) < 0)
                                die("cannot write to tmpfs", -errno);
                samples_add(&samples, (double)(now_ns() - begin) / 1e6);
        }
        munmap(from, n_piece);
        return samples_median(&samples);
}
