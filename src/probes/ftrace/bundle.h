/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bundle writer: turns pages of the kernel's ring into perfetto.protos.FtraceEventBundle packets
 *
 * A writer encodes a set of events once, for all receivers that want exactly this set. The pages of one CPU are added
 * in order; bundle_end_turn() ends the CPU's turn, and then the pages of the next CPU may follow. A bundle holds only
 * events with no loss between them: after a loss in the kernel, a new bundle begins and reports it. If the sink of one
 * receiver drops a packet, only that receiver lacks it. Its next bundle reports the loss, and says where the last
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

#define BUNDLE_BYTES_MAX   (24u << 10) /* a bundle with this many bytes of full events is closed */
#define BUNDLE_GENERIC_MAX 64 /* generic events in one bundle, as each of them costs a descriptor */

/* A CPU whose pages are read. */
typedef struct BundleCpu {
        uint32_t cpu;
        size_t index;            /* of ReceiverCpu */
        uint64_t read_timestamp; /* of the last event read */
} BundleCpu;

/* What a receiver's bundles have to remember about a CPU. */
typedef struct ReceiverCpu {
        uint64_t end_timestamp; /* the sink accepted everything before this time; 0 at first */
        bool lost;              /* events are missing since end_timestamp */
} ReceiverCpu;

/* A receiver of a writer's bundles. Its owner embeds it, and links and unlinks it between turns. */
typedef struct BundleReceiver {
        List receivers;
        PacketSink *sink;
        uint64_t from_ns; /* nothing from before this time is for it */
        ReceiverCpu *cpus;
        size_t n_cpus;
        uint32_t statuses; /* bits of the FtraceStatus values met, other than OK */
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
        PidSet pids; /* threads named by events since bundle_forget_pids() */
        PidSet born; /* those of them that are new, even if their pid was seen before */

        uint64_t newest_ns; /* of all from_ns */

        /* The current bundle; `wire` is NULL between bundles. */
        WireWriter *wire;
        bool is_for_all; /* the open bundle is for all receivers */
        uint64_t first_timestamp;
        size_t n_takers; /* receivers of the bundle, without those that begin later */
        const EventEncoder *generic[BUNDLE_GENERIC_MAX];
        size_t n_generic;
} BundleWriter;

/* Returns 0 or -ENOMEM. */
int bundle_receiver_init(BundleReceiver *receiver, PacketSink *sink, size_t n_cpus);
void bundle_receiver_deinit(BundleReceiver *receiver);

/* Returns 0 or -ENOMEM. */
int bundle_writer_init(BundleWriter *writer, const PageLayout *layout);
void bundle_writer_deinit(BundleWriter *writer);

/* Encodes those events of `set` that are in `ids`. Borrows `set` and `symbols`. Call it once. Returns 0 or -ENOMEM. */
int bundle_writer_use(BundleWriter *writer,
                      const EventSet *set,
                      const IdSet *ids,
                      KernelSymbols *symbols);

/* From now on, borrows these equivalent objects instead of the former ones. Call it between turns. */
void bundle_writer_borrow(BundleWriter *writer, const EventSet *set, KernelSymbols *symbols);

/* Takes effect from the next page on. */
void bundle_writer_add(BundleWriter *writer, BundleReceiver *receiver);

/* Takes bytes as they were read from trace_pipe_raw. Invalid data is skipped and noted in the bundle. */
void bundle_add_page(BundleWriter *writer, BundleCpu *cpu, const void *page, size_t n_bytes);
void bundle_end_turn(BundleWriter *writer, BundleCpu *cpu);

/* Call it when `pids` and `born` have been evaluated. */
void bundle_forget_pids(BundleWriter *writer);
