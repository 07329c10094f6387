/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bundle writer: from pages of the kernel's ring to perfetto.protos.FtraceEventBundle packets
 *
 * Pages of one CPU are added in their order; then bundle_close() ends the CPU's turn, and the next CPU's pages
 * may come. A bundle holds only events without a loss in between: when the kernel or the sink lost some, a new
 * bundle begins and says so. Each one also says where the one before it ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/event-set.h"
#include "probes/ftrace/page.h"
#include "probes/packet-writer.h"
#include "probes/pid-set.h"

#define BUNDLE_BYTES_MAX   (24u << 10) /* of events in full, when a bundle is closed */
#define BUNDLE_GENERIC_MAX 64          /* generic events in one bundle: each costs a descriptor */

/* What is remembered of a CPU from one bundle to the next. */
typedef struct BundleCpu {
        uint32_t cpu;
        uint64_t end_timestamp;  /* of the last event that the sink took; 0 at first */
        uint64_t read_timestamp; /* of the last event read */
        bool lost;               /* events are missing since end_timestamp */
        uint64_t n_events;
        uint64_t n_losses;
} BundleCpu;

typedef struct BundleWriter {
        PacketWriter *packets;
        const EventSet *events;
        const PageLayout *layout;
        PidSet *pids;           /* gets the threads that events name; or NULL */
        KernelSymbols *symbols; /* for the addresses in events; or NULL */
        CompactSched sched;
        uint32_t statuses; /* bits of the FtraceStatus values met, but OK */

        /* The bundle at hand; wire is NULL when there is none. */
        WireWriter *wire;
        size_t begin;
        const EventEncoder *generic[BUNDLE_GENERIC_MAX];
        size_t n_generic;
} BundleWriter;

int bundle_writer_init(BundleWriter *writer,
                       PacketWriter *packets,
                       const EventSet *events,
                       const PageLayout *layout);
void bundle_writer_deinit(BundleWriter *writer);

/* Bytes as read from trace_pipe_raw. What makes no sense is skipped, and noted in the bundle. */
void bundle_add_page(BundleWriter *writer, BundleCpu *cpu, const void *page, size_t n_bytes);
void bundle_close(BundleWriter *writer, BundleCpu *cpu);
