/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/ftrace/ftrace-reader.h"
#include "shared/fd.h"
#include "shared/log.h"

#define FTRACE_CPUS_MAX 1024 /* readers refuse bundles of CPUs from this number on */

static int reader_add_cpu(FtraceReader *reader, unsigned cpu) {
        FtraceCpu *cpus;
        int fd;

        fd = instance_open_pages(reader->instance, cpu);
        if (fd < 0)
                return fd;
        cpus = reallocarray(reader->cpus, reader->n_cpus + 1, sizeof(*cpus));
        if (!cpus) {
                fd_close(fd);
                return -ENOMEM;
        }
        reader->cpus = cpus;
        cpus[reader->n_cpus++] = (FtraceCpu){ .bundle = { .cpu = cpu }, .fd = fd };
        return 0;
}

/* The kernel makes a directory for each CPU that it might ever see. */
static int reader_add_cpus(FtraceReader *reader) {
        DIR *dir;
        int fd, r = 0;

        fd = openat(reader->instance->dir_fd, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                r = -errno;
                fd_close(fd);
                return r;
        }
        for (struct dirent *entry = readdir(dir); entry && r >= 0; entry = readdir(dir)) {
                unsigned cpu;

                if (sscanf(entry->d_name, "cpu%u", &cpu) == 1 && cpu < FTRACE_CPUS_MAX)
                        r = reader_add_cpu(reader, cpu);
        }
        closedir(dir);
        return r;
}

int ftrace_reader_init(FtraceReader *reader,
                       Instance *instance,
                       BundleWriter *bundles,
                       size_t n_page) {
        *reader = (FtraceReader){ .instance = instance, .bundles = bundles, .n_page = n_page };
        reader->page = malloc(n_page);
        if (!reader->page)
                return -ENOMEM;
        return reader_add_cpus(reader);
}

void ftrace_reader_deinit(FtraceReader *reader) {
        for (size_t i = 0; i < reader->n_cpus; i++)
                fd_close(reader->cpus[i].fd);
        free(reader->cpus);
        free(reader->page);
        *reader = (FtraceReader){};
}

/* Bytes of the next page; 0 when there is none now. */
static size_t cpu_read(FtraceReader *reader, FtraceCpu *cpu) {
        ssize_t n;

        do
                n = read(cpu->fd, reader->page, reader->n_page);
        while (n < 0 && errno == EINTR);
        /* Nothing there, a CPU that is off, or a ring that is being resized: all are normal. */
        if (n < 0 && errno != EAGAIN && errno != ENODEV && errno != EBUSY && errno != ENOMEM) {
                if (!(reader->bundles->statuses & 1u << FTRACE_STATUS_UNEXPECTED_READ_ERROR))
                        log_warning("cannot read the ring of CPU %u: %s",
                                    cpu->bundle.cpu,
                                    strerror(errno));
                reader->bundles->statuses |= 1u << FTRACE_STATUS_UNEXPECTED_READ_ERROR;
        }
        return n > 0 ? (size_t)n : 0;
}

static void cpu_drain(FtraceReader *reader, FtraceCpu *cpu, uint64_t until_ns) {
        size_t n;

        while ((n = cpu_read(reader, cpu)) > 0) {
                bundle_add_page(reader->bundles, &cpu->bundle, reader->page, n);
                if (cpu->bundle.read_timestamp >= until_ns)
                        break;
        }
        bundle_close(reader->bundles, &cpu->bundle);
}

void ftrace_reader_drain(FtraceReader *reader, uint64_t until_ns) {
        for (size_t i = 0; i < reader->n_cpus; i++)
                cpu_drain(reader, &reader->cpus[i], until_ns);
}

static void cpu_stats_read(FtraceReader *reader, const FtraceCpu *cpu, CpuStats *ret) {
        _cleanup_(freep) char *text = NULL;
        char file[64];

        *ret = (CpuStats){ .cpu = cpu->bundle.cpu };
        snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu->bundle.cpu);
        if (instance_read(reader->instance, file, &text, NULL, NULL) == 0)
                cpu_stats_parse(ret, cpu->bundle.cpu, text);
}

void ftrace_reader_note_start(FtraceReader *reader) {
        for (size_t i = 0; i < reader->n_cpus; i++)
                cpu_stats_read(reader, &reader->cpus[i], &reader->cpus[i].start);
}

void ftrace_reader_encode_stats(FtraceReader *reader, WireWriter *wire, bool of_start) {
        for (size_t i = 0; i < reader->n_cpus; i++) {
                CpuStats now;

                if (!of_start)
                        cpu_stats_read(reader, &reader->cpus[i], &now);
                cpu_stats_encode(of_start ? &reader->cpus[i].start : &now, wire);
        }
}
