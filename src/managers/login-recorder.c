/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Login recorder: what logind says about sessions, seats and sleep, as tracks */

#include <stdio.h>
#include <string.h>

#include "managers/login-recorder.h"
#include "shared/macro.h"
#include "shared/utf8.h"

void login_recorder_init(LoginRecorder *recorder, TrackWriter *tracks) {
        *recorder = (LoginRecorder){ .tracks = tracks };
}

static uint64_t login_track(LoginRecorder *recorder, const char *name) {
        return track_group(recorder->tracks, track_group(recorder->tracks, 0, "Logins"), name);
}

static LoginSession *find_session(const LoginRecorder *recorder, const char *id) {
        for (size_t i = 0; i < recorder->n_sessions; i++)
                if (strncmp(recorder->sessions[i].id, id, LOGIN_ID_BYTES - 1) == 0)
                        return (LoginSession *)&recorder->sessions[i];
        return NULL;
}

static const char *state_name(const LoginState *state) {
        if (state->is_locked)
                return state->is_active ? "active, locked" : "in the background, locked";
        if (state->is_idle)
                return state->is_active ? "active, idle" : "in the background, idle";
        return state->is_active ? "active" : "in the background";
}

static void enter(LoginRecorder *recorder, LoginSession *session, uint64_t at_ns) {
        uint64_t track = login_track(recorder, session->name);

        session->last_ns = MAX(at_ns, session->last_ns);
        if (session->is_open)
                track_end(recorder->tracks, track, session->last_ns);
        track_begin(recorder->tracks, track, session->last_ns, state_name(&session->state));
        session->is_open = true;
}

/* Makes one line of valid text of any bytes. */
static void copy_line(char *ret, size_t n_ret, const char *text) {
        char *line = utf8_copy_line(text, n_ret - 1);

        snprintf(ret, n_ret, "%s", line ?: "");
        free(line);
}

static void set_name(LoginSession *session, const LoginDetails *details) {
        char name[2 * LOGIN_NAME_BYTES];

        snprintf(name,
                 sizeof(name),
                 "session %.32s of %.64s%s%.32s (%.32s, %.32s)",
                 session->id,
                 details->user,
                 details->seat[0] ? " on " : "",
                 details->seat,
                 details->class,
                 details->type);
        copy_line(session->name, sizeof(session->name), name);
}

void login_recorder_add(LoginRecorder *recorder,
                        const char *id,
                        const LoginDetails *details,
                        uint64_t at_ns) {
        LoginSession *session = find_session(recorder, id);

        if (session) {
                login_recorder_change(recorder, id, &details->state, at_ns);
                return;
        }
        if (recorder->n_sessions == LOGIN_SESSIONS_MAX) {
                recorder->n_refused++;
                return;
        }
        session = &recorder->sessions[recorder->n_sessions++];
        *session = (LoginSession){ .state = details->state };
        snprintf(session->id, sizeof(session->id), "%s", id);
        set_name(session, details);
        enter(recorder, session, at_ns);
}

bool login_recorder_get(const LoginRecorder *recorder, const char *id, LoginState *ret) {
        const LoginSession *session = find_session(recorder, id);

        if (session)
                *ret = session->state;
        return session;
}

static bool states_differ(const LoginState *a, const LoginState *b) {
        return a->is_active != b->is_active || a->is_locked != b->is_locked ||
               a->is_idle != b->is_idle;
}

void login_recorder_change(LoginRecorder *recorder,
                           const char *id,
                           const LoginState *state,
                           uint64_t at_ns) {
        LoginSession *session = find_session(recorder, id);

        if (!session || !states_differ(&session->state, state))
                return;
        session->state = *state;
        enter(recorder, session, at_ns);
}

void login_recorder_remove(LoginRecorder *recorder, const char *id, uint64_t at_ns) {
        LoginSession *session = find_session(recorder, id);

        if (!session)
                return;
        track_end(recorder->tracks,
                  login_track(recorder, session->name),
                  MAX(at_ns, session->last_ns));
        *session = recorder->sessions[--recorder->n_sessions];
}

/* In whatever order a peer reports changes, each slice begins once and ends once. */
static void
toggle(LoginRecorder *recorder, const char *name, bool *is_open, bool begins, uint64_t at_ns) {
        uint64_t track = login_track(recorder, "Machine");

        if (*is_open == begins)
                return;
        *is_open = begins;
        if (begins)
                track_begin(recorder->tracks, track, at_ns, name);
        else
                track_end(recorder->tracks, track, at_ns);
}

void login_recorder_sleep(LoginRecorder *recorder, bool begins, uint64_t at_ns) {
        toggle(recorder, "sleep", &recorder->sleeps, begins, at_ns);
}

void login_recorder_shutdown(LoginRecorder *recorder, bool begins, uint64_t at_ns) {
        toggle(recorder, "shutdown", &recorder->shuts_down, begins, at_ns);
}

void login_recorder_event(LoginRecorder *recorder,
                          const char *what,
                          const char *subject,
                          uint64_t at_ns) {
        char name[LOGIN_NAME_BYTES];
        const TrackArgument arguments[] = { { .name = "of", .text = name } };

        copy_line(name, sizeof(name), subject);
        track_instant(recorder->tracks,
                      login_track(recorder, "Machine"),
                      at_ns,
                      what,
                      arguments,
                      ARRAY_SIZE(arguments));
}
