/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Clones: core/session-clone.h says what they are; this file makes them, and gives up on them.
 */

#include "core/model/session-info.h"

typedef struct CloneOptions {
        Identity owner;
        bool has_output;
        bool detached;
        bool skips_filter;  /* the caller has asked policy_may_skip_filter() */
        const char *name;   /* for people; NULL or "": none. Copied, and cut at SESSION_NAME_MAX */
        uint64_t before_ns; /* leave out what is older, where it can be told; 0: keep all */
} CloneOptions;

/* One reply: 0 with the clone, which is the callee's from then on and wants session_adopt(); or why it failed:
 * SESSION_E_STATE when the original was freed, SESSION_E_LIMIT, or an errno. May come before session_clone() returns,
 * from inside any function of the core. */
typedef void (*SessionCloneDone)(void *userdata, int outcome, Session *clone);

/* The asker is gone: done() is not called. */
void session_clone_cancel(Session *session, void *userdata);

/* As session_clone(), but without settling. */
int session_begin_clone(Session *session,
                        const CloneOptions *options,
                        SessionCloneDone done,
                        void *userdata,
                        SessionError *error,
                        uint64_t now);
/* The original is being freed: its clones in the making are given up. */
void session_abort_clones(Session *session);
