/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Snapshot writer: a file for each trigger that hits
 *
 * The service makes the snapshots of a session and signals each one, which is then read into the next free
 * FILE-N.pftrace, freed, and reported. This happens one by one: the service keeps some that wait. An existing file is
 * never touched.
 */

#include <stdbool.h>

#include "client/bus-client.h"
#include "client/invocation.h"
#include "client/output-file.h"
#include "client/progress.h"

typedef struct SnapshotWriterOptions {
        const Invocation *invocation;
        const BusClient *client;
        Progress *progress; /* cleared before a line is printed */
        const char *output; /* FILE or FILE.pftrace */
        uint64_t before_ns; /* how far back the snapshots are to reach; 0: not set */
} SnapshotWriterOptions;

typedef struct SnapshotWriter {
        SnapshotWriterOptions options;
        char *session_path; /* NULL: not known yet */
        sd_bus_slot *taken_match, *triggered_match;
        sd_bus_slot *call;
        GQueue pending; /* of Snapshot */
        struct Snapshot *current;
        OutputFile output;
        unsigned number;            /* the next file has at least this number */
        unsigned n_due;             /* triggers that hit, and whose snapshot has not come yet */
        unsigned n_written;         /* files */
        ExitStatus status;          /* the first trouble */
        sd_event_source *due_timer; /* set while we wait for those at the end */
        void (*on_idle)(void *userdata);
        void *userdata;
} SnapshotWriter;

/* Nothing is written before the session is known. */
void snapshot_writer_init(SnapshotWriter *writer, const SnapshotWriterOptions *options);
/* From now on signals are taken; again on a new connection of the client's. Returns 0 or an errno. */
int snapshot_writer_match(SnapshotWriter *writer);
void snapshot_writer_deinit(SnapshotWriter *writer);

void snapshot_writer_set_session(SnapshotWriter *writer, const char *path);

/* No more triggers are coming. on_idle() is called when the snapshots of the last ones are written, perhaps at once;
 * overdue snapshots are not waited for. Returns 0 or an errno. */
int snapshot_writer_finish(SnapshotWriter *writer, void (*on_idle)(void *), void *userdata);

/* Whether files can be created there at all, checked before anything is started for them. Reports errors. */
ExitStatus snapshot_check_output(const char *output);
