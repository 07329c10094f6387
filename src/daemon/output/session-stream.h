/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SessionStream: from a session to a descriptor
 *
 * This is the same for both transports: a session that streams, and a read of a session into a descriptor. It is
 * embedded in the object that owns the session; the output itself is written elsewhere (output-ops.h). Data is moved
 * in batches, one in each turn of the main loop, and all sessions of a pump take turns. So calls and doorbells are
 * served in between, however much is read out.
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
/* The same once the service is told to end, as everybody then waits for the next process. */
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
        void (*changed)(SessionStream *output); /* handle it soon, outside of the core */
        void (*failed)(SessionStream *output);  /* `error` is set, and the session told to stop */

        /* One output at a time: the session's, or that of a read while the read lasts. */
        Output *output;
        bool is_due;                  /* session_read() may have data */
        bool is_finished;             /* nothing more will be pushed */
        bool is_full;                 /* only the end of the trace may still be pushed */
        bool is_ending;               /* nothing more will be recorded for it */
        uint64_t n_moved, moved_at;   /* progress of an output that is ending */
        char error[OUTPUT_ERROR_MAX]; /* "output-failed: …" */

        List pump_link;
};

void session_stream_init(SessionStream *output,
                         OutputPump *pump,
                         void (*changed)(SessionStream *output),
                         void (*failed)(SessionStream *output));
/* Closes the output; data that is not written yet is lost. */
void session_stream_deinit(SessionStream *output);

/* Opens the output of a session with this config, at the expense of a login user. `fd` is taken over on success
 * only. Returns 0, OUTPUT_E_… or a negative errno; *ret_why has the reason why a descriptor is unusable. */
int session_stream_open(SessionStream *output,
                        uid_t user,
                        const Config *config,
                        int *fd,
                        const char **ret_why);
/* The same for a session that another process can continue, and in that process: what the first process had not
 * written is written first. `outbox` is -1 in the first process, and is taken over like `fd`. */
int session_stream_open_kept(SessionStream *output,
                             uid_t user,
                             const Config *config,
                             int *fd,
                             int *outbox,
                             const char **ret_why);
/* Attaches a restored session, whose output continues with the data that is due. */
void session_stream_go_on(SessionStream *output);
/* How many packets had been read for everything that is written, or waits to be written. */
uint64_t session_stream_n_packets(const SessionStream *output);
/* The value of session_said() for the last batch that was pushed. */
uint64_t session_stream_said(const SessionStream *output);

/* Begins a read of what the session holds now; the session must have no output of its own. */
int session_stream_open_read(SessionStream *output, uid_t user, int *fd, const char **ret_why);
void session_stream_close(SessionStream *output);

/* Whether the stream is a read. */
bool session_stream_is_read(const SessionStream *output);

/* For a clone that was just made: puts what `original` has written first in this output, see OutputOps.copy. May
 * be called from inside the core. */
void session_stream_copy(SessionStream *output, const SessionStream *original);

/* To be called by the owner for SessionOps.output_due. */
void session_stream_due(SessionStream *output);

/* To be called by the owner after changed(), and whenever the session has changed: moves data that is due, or
 * finishes. */
void session_stream_attend(SessionStream *output);
/* Notes whether the output has failed, even with its last bytes. */
void session_stream_check(SessionStream *output);

/* Whether the session has stopped, and its output is written or has failed. A read does not count. */
bool session_stream_is_settled(const SessionStream *output);
/* Whether a read is written, or has failed. */
bool session_stream_is_done(const SessionStream *output);
/* Returns 0, or a negative errno. */
int session_stream_status(const SessionStream *output);
/* How many bytes are in the descriptor, after compression and up to its limit. */
uint64_t session_stream_n_written(const SessionStream *output);

uint64_t session_stream_deadline(const SessionStream *output);
void session_stream_tick(SessionStream *output, uint64_t now);
