/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ftrace reader: empties an instance's rings into bundle writers */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "probes/ftrace/ftrace-reader.h"
#include "shared/fd.h"
#include "shared/log.h"

#define FTRACE_CPUS_MAX 1024 /* readers refuse bundles of CPUs with this number or a higher one */
#define EVENTS_AT_ONCE  64   /* of epoll */

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
        cpus[reader->n_cpus] =
                (FtraceCpu){ .bundle = { .cpu = cpu, .index = reader->n_cpus }, .fd = fd };
        reader->n_cpus++;
        return 0;
}

/* The kernel makes a directory for each CPU that might ever exist. */
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

int ftrace_reader_init(FtraceReader *reader, Instance *instance, size_t n_page) {
        *reader = (FtraceReader){ .instance = instance, .n_page = n_page, .epoll_fd = -1 };
        list_init(&reader->writers);
        reader->page = malloc(n_page);
        if (!reader->page)
                return -ENOMEM;
        return reader_add_cpus(reader);
}

void ftrace_reader_deinit(FtraceReader *reader) {
        if (!reader->instance)
                return;
        fd_close(reader->epoll_fd);
        for (size_t i = 0; i < reader->n_cpus; i++)
                fd_close(reader->cpus[i].fd);
        free(reader->cpus);
        free(reader->page);
        *reader = (FtraceReader){ .epoll_fd = -1 };
}

static void cpu_note_failure(FtraceReader *reader, FtraceCpu *cpu, int error) {
        BundleWriter *writer;
        BundleReceiver *receiver;

        if (!cpu->failed)
                log_warning("cannot read the ring of CPU %u: %s", cpu->bundle.cpu, strerror(error));
        cpu->failed = true;
        list_for_each (writer, &reader->writers, writers)
                list_for_each (receiver, &writer->receivers, receivers)
                        receiver->statuses |= 1u << FTRACE_STATUS_UNEXPECTED_READ_ERROR;
}

/* Reads the bytes of the next page; 0 if no page is ready. */
static size_t cpu_read(FtraceReader *reader, FtraceCpu *cpu) {
        ssize_t n;

        do
                n = read(cpu->fd, reader->page, reader->n_page);
        while (n < 0 && errno == EINTR);
        /* There is nothing to read, a CPU is off, or a ring is being resized: all of these are normal. */
        if (n < 0 && errno != EAGAIN && errno != ENODEV && errno != EBUSY && errno != ENOMEM)
                cpu_note_failure(reader, cpu, errno);
        return n > 0 ? (size_t)n : 0;
}

static void cpu_drain(FtraceReader *reader, FtraceCpu *cpu, uint64_t until_ns) {
        BundleWriter *writer;
        size_t n;

        while ((n = cpu_read(reader, cpu)) > 0) {
                list_for_each (writer, &reader->writers, writers)
                        bundle_add_page(writer, &cpu->bundle, reader->page, n);
                if (cpu->bundle.read_timestamp >= until_ns)
                        break;
        }
        list_for_each (writer, &reader->writers, writers)
                bundle_end_turn(writer, &cpu->bundle);
}

void ftrace_reader_drain(FtraceReader *reader, uint64_t until_ns) {
        for (size_t i = 0; i < reader->n_cpus; i++)
                cpu_drain(reader, &reader->cpus[i], until_ns);
}

int ftrace_reader_watch(FtraceReader *reader) {
        size_t n_watched = 0;

        if (reader->epoll_fd < 0)
                reader->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (reader->epoll_fd < 0)
                return -errno;
        for (size_t i = 0; i < reader->n_cpus; i++) {
                FtraceCpu *cpu = &reader->cpus[i];
                struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };

                if (!cpu->is_watched)
                        cpu->is_watched =
                                epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, cpu->fd, &event) == 0;
        }
        ftrace_reader_unwatch_broken(reader);
        for (size_t i = 0; i < reader->n_cpus; i++)
                n_watched += reader->cpus[i].is_watched;
        return n_watched > 0 ? 0 : -EOPNOTSUPP;
}

void ftrace_reader_unwatch_broken(FtraceReader *reader) {
        struct epoll_event events[EVENTS_AT_ONCE];
        bool found;

        if (reader->epoll_fd < 0)
                return;
        do {
                int n = epoll_wait(reader->epoll_fd, events, EVENTS_AT_ONCE, 0);

                found = false;
                for (int i = 0; i < n; i++) {
                        FtraceCpu *cpu = &reader->cpus[events[i].data.u64];

                        if (!(events[i].events & (EPOLLERR | EPOLLHUP)))
                                continue;
                        epoll_ctl(reader->epoll_fd, EPOLL_CTL_DEL, cpu->fd, NULL);
                        cpu->is_watched = false;
                        found = true;
                }
        } while (found);
}
