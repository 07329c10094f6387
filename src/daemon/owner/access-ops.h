/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Access: how a port has polkit asked
 *
 * A port knows its peer's process, and what a session needs beyond its owner's own rights (core/model/policy.h). It
 * has no bus to ask on, so the host gives it this table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "shared/identity.h"

typedef struct AccessQuestion AccessQuestion;

#define ACCESS_WHY_MAX 512

/* The peer that is asked about. */
typedef struct AccessPeer {
        Identity identity;
        uid_t user; /* whose limits count for it */
        int pidfd;  /* of its process, the caller's; -1: the kernel has none to give */
        uint64_t connected_at_ns; /* BOOTTIME */
} AccessPeer;

/* `why` is what to tell the peer when it is not granted. The question is over and freed when it returns. Never called
 * from inside an op. */
typedef void (*AccessDone)(void *userdata, bool is_granted, const char *why);

enum {
        _ACCESS_E_SUCCESS,
        ACCESS_E_DENIED, /* at once; `why` is filled in */
};

typedef struct AccessOps {
        /* About one of POLICY_NEEDS_…, with what the config is about for rules to look at. 0, ACCESS_E_DENIED or a
         * negative errno. */
        int (*ask)(AccessQuestion **ret,
                   void *host,
                   const AccessPeer *peer,
                   unsigned need,
                   const Config *config,
                   AccessDone done,
                   void *userdata,
                   char why[static ACCESS_WHY_MAX]);
        /* Whether the peer may have producers started that say what of the system can be recorded
         * (POLICY_NEEDS_TRACE_SYSTEM), as far as that is known without asking a person. The same. */
        int (*ask_quietly)(AccessQuestion **ret,
                           void *host,
                           const AccessPeer *peer,
                           AccessDone done,
                           void *userdata);
        /* The asker is gone. */
        AccessQuestion *(*cancel)(AccessQuestion *question);
} AccessOps;
