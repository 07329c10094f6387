/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recording: one session, from its start (or from when we take it over) to the last byte
 *
 * Runs the event loop until the session has ended: on its own (duration, a failed output), because the command has
 * ended, or on Ctrl-C, which keeps the data. A second Ctrl-C gives up and discards it.
 */

#include <stdint.h>

#include "client/bus-client.h"
#include "client/process.h"
#include "client/record-request.h"
#include "client/session-info.h"
#include "client/snapshot-writer.h"

typedef struct RecordingOptions RecordingOptions;
typedef struct RecordingResult RecordingResult;

struct RecordingOptions {
        BusClient *client;          /* another one after an outage of a private service */
        sd_bus_message *start;      /* the StartSession() call; or: */
        const char *attach_path;    /* a session that runs, to take over */
        const char *const *command; /* or NULL */
        const ProcessVariable *command_variables; /* what it is told */
        bool owns_stdout;   /* JSON or a trace goes there: what the command writes goes to stderr */
        const char *socket; /* of a private service, or NULL */
        int ring_fd; /* where to write the buffers at the end; -1: the service streams on its own */
        bool is_quiet;
        bool may_be_in_vain;                    /* it may be that all wanted sources are refused */
        bool is_detached;                       /* end once it is running, and leave it running */
        const SnapshotWriterOptions *snapshots; /* only triggers make files; or NULL */
        bool waits_for_trigger;                 /* before it records */
        /* Called when it records and we follow it; or NULL. */
        void (*on_running)(const RecordingOptions *options, const RecordingResult *result);
        RecordRequest
                *preset; /* being started, if less of it will do where it is denied; or NULL */
        int output_fd;   /* its output; -1: nothing is streamed */
        void *userdata;
};

struct RecordingResult {
        char *session_path;
        SessionInfo info; /* at the end */
        GPtrArray *
                silent; /* the sources that did not answer at the end, see silent-sources.h; or NULL */
        unsigned n_notes_said; /* notes of the session that were printed to stderr */
        unsigned n_snapshots;
        ExitStatus snapshot_status; /* the first failure of a snapshot */
        int command_status;         /* -1: there is no command, or it did not end on its own */
        bool is_started;
        bool is_in_vain;   /* none of its sources can record, so it ended at once */
        bool is_discarded; /* the user gave up */
};

#define RECORDING_RESULT_INIT \
        { .command_status = -1 }

void recording_result_deinit(RecordingResult *result);

/* Reports errors. */
ExitStatus recording_run(RecordingResult *result, const RecordingOptions *options);
