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
        bool is_watched; /* the reader's epoll_fd has it */
        bool failed;     /* a read failed unexpectedly, which is logged once */
} FtraceCpu;

typedef struct FtraceReader {
        Instance *instance; /* borrowed */
        List writers;       /* BundleWriter; each of them gets every page */
        FtraceCpu *cpus;
        size_t n_cpus;
        uint8_t *page;
        size_t n_page;
        int epoll_fd; /* -1 while nobody watches */
} FtraceReader;

/* Opens all CPUs that the instance has. `n_page` is the size of the kernel's sub-buffers. */
int ftrace_reader_init(FtraceReader *reader, Instance *instance, size_t n_page);
void ftrace_reader_deinit(FtraceReader *reader);

/* Reads each CPU until it is empty, or its events are not older than `until_ns`. Without that limit, a drain would
 * never catch up with a program that writes as fast. */
void ftrace_reader_drain(FtraceReader *reader, uint64_t until_ns);

/* Makes reader->epoll_fd readable whenever a CPU's ring is filled to the instance's buffer_percent. Further calls
 * add CPUs that have appeared meanwhile. Returns 0, -EOPNOTSUPP if this kernel cannot tell, or another negative
 * errno. */
int ftrace_reader_watch(FtraceReader *reader);
/* Leaves out CPUs that were never online, as they would keep it readable for ever. */
void ftrace_reader_unwatch_broken(FtraceReader *reader);
