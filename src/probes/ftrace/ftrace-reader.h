/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ftrace reader: empties an instance's rings into bundle writers
 */

#include <stdint.h>

#include "probes/ftrace/bundle.h"
#include "probes/ftrace/instance.h"

typedef struct FtraceCpu {
        BundleCpu bundle;
        int fd;          /* trace_pipe_raw */
        bool is_watched; /* in the reader's epoll_fd */
        bool failed;     /* a read failed unexpectedly; logged once */
} FtraceCpu;

typedef struct FtraceReader {
        Instance *instance; /* borrowed */
        List writers;       /* BundleWriter; all get each page */
        FtraceCpu *cpus;
        size_t n_cpus;
        uint8_t *page;
        size_t n_page;
        int epoll_fd; /* -1 while nobody watches */
} FtraceReader;

/* Opens all CPUs that the instance has. `n_page` is the size of the kernel's sub-buffers. */
int ftrace_reader_init(FtraceReader *reader, Instance *instance, size_t n_page);
void ftrace_reader_deinit(FtraceReader *reader);

/* Reads each CPU until it is empty, or its events are younger than `until_ns`: otherwise a drain would never catch
 * up with a writer that is as fast. */
void ftrace_reader_drain(FtraceReader *reader, uint64_t until_ns);

/* Makes reader->epoll_fd readable whenever the ring of a CPU is filled to the instance's buffer_percent. Called again,
 * it takes CPUs in that have come meanwhile. 0; -EOPNOTSUPP when this kernel cannot tell; negative errno. */
int ftrace_reader_watch(FtraceReader *reader);
/* Leaves out CPUs that were never online, which would keep it readable for ever. */
void ftrace_reader_unwatch_broken(FtraceReader *reader);
