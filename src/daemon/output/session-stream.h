/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SessionStream: from a session to a descriptor
 *
 * What both transports do for a session that streams, and for a read of one into a descriptor. Embedded in what
 * owns the session; the output itself is written elsewhere (output-ops.h). What there is to move goes in batches, one
 * a turn of the main loop and of all sessions of a pump in turn, so that calls and doorbells come in between whatever
 * is read out.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "core/session.h"
#include "output/output-ops.h"
#include "shared/list.h"

#define OUTPUT_BATCH_BYTES (256u << 10) /* moved from a session to its output in one step */

/* If a stopped session, or a ReadInto(), waits only for its output, the output fails after this time without
 * progress. */
#define OUTPUT_STALL_NS (UINT64_C(60) * 1000000000)
/* The same once the service is told to end: everybody waits for the next process then. */
#define OUTPUT_STALL_AT_END_NS (UINT64_C(6) * 1000000000)

#define OUTPUT_ERROR_MAX 128

/* The turns of a transport's sessions. */
typedef struct OutputPump {
        sd_event *event;
        sd_event_source *source;
        int fd;
        List queue;        /* SessionStream */
        uint64_t stall_ns; /* OUTPUT_STALL_NS, or that at the end */
        const OutputOps *ops;
        void *host;
} OutputPump;

int output_pump_init(OutputPump *pump, sd_event *event, const OutputOps *ops, void *host);
void output_pump_deinit(OutputPump *pump); /* zeros are allowed */

typedef struct SessionStream SessionStream;

struct SessionStream {
        OutputPump *pump;
        Session *session;                       /* NULL: no session yet */
        void (*changed)(SessionStream *output); /* attend to it soon, outside of the core */
        void (*failed)(SessionStream *output);  /* `error` is set, and the session told to stop */

        /* One at a time: that of the session, or of a read while that lasts. */
        Output *output;
        bool is_due;                  /* session_read() may have something for it */
        bool is_finished;             /* nothing more will be pushed */
        bool is_full;                 /* the end of the trace is all that may still be pushed */
        bool is_ending;               /* nothing more will be recorded for it */
        uint64_t n_moved, moved_at;   /* of one that is ending */
        char error[OUTPUT_ERROR_MAX]; /* "output-failed: …" */

        List pump_link;
};

void session_stream_init(SessionStream *output,
                         OutputPump *pump,
                         void (*changed)(SessionStream *output),
                         void (*failed)(SessionStream *output));
/* Closes it; what is not written yet is lost. */
void session_stream_deinit(SessionStream *output);

/* For all that the session of this config records, at the expense of a login user. `fd` is taken over on success
 * only. Returns 0, OUTPUT_E_… or a negative errno; *ret_why has the reason why a descriptor is unusable. */
int session_stream_open(SessionStream *output,
                        uid_t user,
                        const Config *config,
                        int *fd,
                        const char **ret_why);
/* The same for a session that another process can go on with, and in that process: what the first one had not written
 * comes before anything else. `outbox` is -1 in the first one, and is taken over as fd is. */
int session_stream_open_kept(SessionStream *output,
                             uid_t user,
                             const Config *config,
                             int *fd,
                             int *outbox,
                             const char **ret_why);
/* The session is there again, and goes on with what is due. */
void session_stream_go_on(SessionStream *output);
/* How many packets had been read for what is written, or is there to be written. */
uint64_t session_stream_n_packets(const SessionStream *output);
/* The session_said() of what was pushed to it. */
uint64_t session_stream_said(const SessionStream *output);

/* For what the session holds now: of one that has no output of its own. */
int session_stream_open_read(SessionStream *output, uid_t user, int *fd, const char **ret_why);
void session_stream_close(SessionStream *output);

/* Whether it is a read. */
bool session_stream_is_read(const SessionStream *output);

/* What `original` has written comes first in this output, of a clone that was just made: see OutputOps.copy. May be
 * called from inside the core. */
void session_stream_copy(SessionStream *output, const SessionStream *original);

/* SessionOps.output_due, for the owner to call. */
void session_stream_due(SessionStream *output);

/* What the owner does after changed(), and whenever the session has changed: moves what is due, or finishes. */
void session_stream_attend(SessionStream *output);
/* Notes that it has failed, also with its last bytes. */
void session_stream_check(SessionStream *output);

/* The session has stopped, and its output is written, or has failed. A read does not count. */
bool session_stream_is_settled(const SessionStream *output);
/* Written or failed: of a read. */
bool session_stream_is_done(const SessionStream *output);
/* Returns 0, or a negative errno. */
int session_stream_status(const SessionStream *output);
/* What is in the descriptor; its compression and its limit know. */
uint64_t session_stream_n_written(const SessionStream *output);

uint64_t session_stream_deadline(const SessionStream *output);
void session_stream_tick(SessionStream *output, uint64_t now);
