/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session info: the properties of a session object, read at once
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/bus-client.h"

/* A data source in a session. In the state "missing" it has no producer. */
typedef struct SessionSource {
        char *source, *producer, *state;
        uint32_t uid, pid;
} SessionSource;

/* What a data source fails to record although it is recording. */
typedef struct SessionNote {
        char *source, *producer, *text; /* from another program: not to be printed as they are */
        uint32_t uid, pid;
} SessionNote;

typedef struct SessionInfo {
        uint64_t id;
        uint64_t cloned_from; /* the number of the session that this is a snapshot of; 0: none */
        char *name, *scope, *state, *stop_reason;
        uint32_t owner_uid, duration_ms;
        bool is_detached;
        uint64_t start_ns; /* by the boot clock, like end_ns; 0: not yet */
        uint64_t end_ns;   /* when it stops by itself, or its data is freed; 0: unknown */
        uint64_t n_bytes_written, n_bytes_output, n_chunks_lost, n_packets_lost;
        GArray *sources; /* of SessionSource */
        GArray *notes;   /* of SessionNote, oldest first */
} SessionInfo;

void session_info_init(SessionInfo *info);
void session_info_deinit(SessionInfo *info);

/* Prints the notes that have not been printed yet, as warnings. */
void session_info_say_notes(const SessionInfo *info, guint first);

/* "session/3" → "3": what people call it. */
const char *session_path_number(const char *path);

/* Reads a reply to Properties.GetAll(). Unknown properties are skipped. Returns 0 or an errno. */
int session_info_read(SessionInfo *info, sd_bus_message *reply);

/* Asks the service for the properties. Reports errors. */
ExitStatus session_info_get(SessionInfo *info, const BusClient *client, const char *path);
