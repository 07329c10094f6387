/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track wait: the start of a program that is run in order to be recorded
 *
 * It takes a few milliseconds until the program has registered and the service has started the session, and the
 * program's first events would be lost. The recorder that runs it sets $DESKTRACE_WAIT, and dt_init() then waits:
 * until a session records the program, but no longer than the variable says, as there may be no such session.
 */

#define TRACK_WAIT_MAX_MS 10000u /* whatever the variable says */

/* The time that the variable's text means: 0, which is not at all, if it is NULL or no number. */
unsigned track_wait_ms(const char *text);

/* Returns as soon as a session has started, at once if one has before, or when the time is over. */
void track_wait(unsigned ms);

/* A session has started. */
void track_wait_end(void);
