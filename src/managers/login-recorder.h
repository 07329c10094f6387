/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Login recorder: what logind says about sessions, seats and sleep, as tracks
 *
 * Each session has a track with a slice for each of its states: whether it is active (in the foreground of its seat),
 * locked or idle. Names are other people's and come from a bus: they are cut, and kept on one line.
 *
 * It does no I/O and reads no clock. All times are ns on the clock of the tracks.
 */

#include <stdbool.h>

#include "host/track-writer.h"

#define LOGIN_SESSIONS_MAX 256
#define LOGIN_ID_BYTES     64
#define LOGIN_NAME_BYTES   256

typedef struct LoginState {
        bool is_active, is_locked, is_idle;
} LoginState;

typedef struct LoginSession {
        char id[LOGIN_ID_BYTES];
        char name[LOGIN_NAME_BYTES]; /* of its track */
        LoginState state;
        bool is_open; /* has a slice */
        uint64_t last_ns;
} LoginSession;

typedef struct LoginRecorder {
        TrackWriter *tracks; /* borrowed */
        LoginSession sessions[LOGIN_SESSIONS_MAX];
        size_t n_sessions;
        uint64_t n_refused;
        bool sleeps, shuts_down;
} LoginRecorder;

void login_recorder_init(LoginRecorder *recorder, TrackWriter *tracks);

typedef struct LoginDetails {
        const char *user, *seat, *type, *class;
        LoginState state;
} LoginDetails;

/* Adds a session that exists since `at_ns`; a known session is changed. */
void login_recorder_add(LoginRecorder *recorder,
                        const char *id,
                        const LoginDetails *details,
                        uint64_t at_ns);
/* Gets the session's last state; false: the session is not known. */
bool login_recorder_get(const LoginRecorder *recorder, const char *id, LoginState *ret);
void login_recorder_change(LoginRecorder *recorder,
                           const char *id,
                           const LoginState *state,
                           uint64_t at_ns);
void login_recorder_remove(LoginRecorder *recorder, const char *id, uint64_t at_ns);

/* Begins or ends a slice that lasts from before the machine sleeps or goes down until it is awake again. */
void login_recorder_sleep(LoginRecorder *recorder, bool begins, uint64_t at_ns);
void login_recorder_shutdown(LoginRecorder *recorder, bool begins, uint64_t at_ns);
/* Writes that a seat came or went, or that a session is to be locked or unlocked: `subject` is the name of the
 * seat or session. */
void login_recorder_event(LoginRecorder *recorder,
                          const char *what,
                          const char *subject,
                          uint64_t at_ns);
