/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bundle writer: turns pages of the kernel's ring into perfetto.protos.FtraceEventBundle packets
 *
 * A writer encodes a set of events once, for all receivers that want exactly these. Pages of one CPU are added in
 * order; bundle_end_turn() ends the CPU's turn, and then the next CPU's pages may follow. A bundle holds only events
 * without a loss in between: after a loss in the kernel a new bundle begins and reports it. A packet that one
 * receiver's sink drops is missing there alone: the next bundle for this receiver reports the loss, and where the last
 * bundle that it got ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/packet-writer.h"
#include "host/pid-set.h"
#include "probes/ftrace/event-set.h"
#include "probes/ftrace/id-set.h"
#include "probes/ftrace/page.h"
#include "shared/list.h"

#define BUNDLE_BYTES_MAX   (24u << 10) /* of events in full, when a bundle is closed */
#define BUNDLE_GENERIC_MAX 64          /* generic events in one bundle: each costs a descriptor */

/* A CPU whose pages are read. */
typedef struct BundleCpu {
        uint32_t cpu;
        size_t index;            /* of ReceiverCpu */
        uint64_t read_timestamp; /* of the last event read */
} BundleCpu;

/* What is remembered of a CPU for one receiver, from one bundle to the next. */
typedef struct ReceiverCpu {
        uint64_t end_timestamp; /* up to here the sink accepted everything; 0 at first */
        bool lost;              /* events are missing since end_timestamp */
} ReceiverCpu;

/* The receiver of a writer's bundles. Embedded in its owner, who links and unlinks it between turns. */
typedef struct BundleReceiver {
        List receivers;
        PacketSink *sink;
        uint64_t from_ns; /* what happened before is not for it */
        ReceiverCpu *cpus;
        size_t n_cpus;
        uint32_t statuses; /* bits of the FtraceStatus values met, but OK */
} BundleReceiver;

typedef struct BundleWriter {
        List writers;   /* of a reader */
        List receivers; /* BundleReceiver; at least one while pages are added */
        const PageLayout *layout;
        const EventEncoder **encoders; /* by id; NULL: not wanted */
        size_t n_encoders;
        CompactLayout compact;
        KernelSymbols *symbols; /* for the addresses in events; or NULL */
        CompactSched sched;
        PacketWriter packets; /* memory only */

        bool notes_pids;
        PidSet pids; /* threads that events name, since bundle_forget_pids() */
        PidSet born; /* those of them that are new, even if their pid was met before */

        uint64_t newest_ns; /* of all from_ns */

        /* The current bundle; `wire` is NULL between bundles. */
        WireWriter *wire;
        bool is_for_all; /* it is open, and for all receivers */
        uint64_t first_timestamp;
        size_t n_takers; /* receivers that it is for: not yet those that begin later */
        const EventEncoder *generic[BUNDLE_GENERIC_MAX];
        size_t n_generic;
} BundleWriter;

/* 0, -ENOMEM. */
int bundle_receiver_init(BundleReceiver *receiver, PacketSink *sink, size_t n_cpus);
void bundle_receiver_deinit(BundleReceiver *receiver);

/* 0, -ENOMEM. */
int bundle_writer_init(BundleWriter *writer, const PageLayout *layout);
void bundle_writer_deinit(BundleWriter *writer);

/* Encodes those of `set` that are in `ids`. `set` and `symbols` are borrowed. Once. 0, -ENOMEM. */
int bundle_writer_use(BundleWriter *writer,
                      const EventSet *set,
                      const IdSet *ids,
                      KernelSymbols *symbols);

/* From now on borrows these equivalents in place of those borrowed before. Between turns. */
void bundle_writer_borrow(BundleWriter *writer, const EventSet *set, KernelSymbols *symbols);

/* Takes effect from the next page on. */
void bundle_writer_add(BundleWriter *writer, BundleReceiver *receiver);

/* Bytes as read from trace_pipe_raw. Invalid data is skipped and noted in the bundle. */
void bundle_add_page(BundleWriter *writer, BundleCpu *cpu, const void *page, size_t n_bytes);
void bundle_end_turn(BundleWriter *writer, BundleCpu *cpu);

/* Call it once `pids` and `born` have been evaluated. */
void bundle_forget_pids(BundleWriter *writer);
