/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ftrace reader: empties an instance's rings into a bundle writer
 */

#include <stdint.h>

#include "probes/ftrace/bundle.h"
#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/instance.h"

typedef struct FtraceCpu {
        BundleCpu bundle;
        int fd; /* trace_pipe_raw */
        CpuStats start;
} FtraceCpu;

typedef struct FtraceReader {
        Instance *instance; /* borrowed */
        BundleWriter *bundles;
        FtraceCpu *cpus;
        size_t n_cpus;
        uint8_t *page;
        size_t n_page;
} FtraceReader;

/* Opens all CPUs that the instance has. `n_page` is the size of the kernel's sub-buffers. */
int ftrace_reader_init(FtraceReader *reader,
                       Instance *instance,
                       BundleWriter *bundles,
                       size_t n_page);
void ftrace_reader_deinit(FtraceReader *reader);

/* Reads each CPU until it is empty, or until its events are younger than `until_ns`: a drain follows no writer
 * that is as fast as itself. */
void ftrace_reader_drain(FtraceReader *reader, uint64_t until_ns);

/* Remembers the kernel's counters of now as those of the start. */
void ftrace_reader_note_start(FtraceReader *reader);
/* Appends FtraceStats.cpu_stats of the start, or of now. */
void ftrace_reader_encode_stats(FtraceReader *reader, WireWriter *wire, bool of_start);
