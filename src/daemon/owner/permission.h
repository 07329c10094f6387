/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Permission: what a peer's request needs beyond the peer's own rights
 *
 * A request may need several things (POLICY_NEEDS_…). Polkit is asked about one after the other, and the first refusal
 * ends it: a person who has denied one is not bothered with the next. Embedded in the request that waits;
 * permission_deinit() takes the question back.
 */

#include "owner/access-ops.h"
#include "shared/macro.h"

typedef struct Permission Permission;

/* Called once, with the answer to all needs: 0, PERMISSION_E_REFUSED with a refusal, or a negative errno. May free
 * the object that embeds the permission. Never called from inside permission_ask(). */
typedef void (*PermissionDone)(Permission *permission, int outcome, const AccessRefusal *refusal);

struct Permission {
        AccessHost access;
        AccessPeer peer;      /* its pidfd belongs to the permission */
        unsigned needs;       /* POLICY_NEEDS_…, not granted yet */
        unsigned asked;       /* the need that is asked about now */
        const Config *config; /* polkit's rules can examine it; it stays valid */
        bool is_interactive;  /* a person may be asked */
        PermissionDone done;
        AccessQuestion *question; /* NULL: nothing is asked */
};

enum {
        _PERMISSION_E_SUCCESS, /* all is granted */
        PERMISSION_E_WAITS,    /* done() follows */
        PERMISSION_E_REFUSED,  /* the refusal is filled in */
};

/* Fills in a refusal. */
void access_refuse(AccessRefusal *ret, AccessAnswer answer, const char *format, ...) _printf_(3, 4);

/* Asks for the next need, if there is one. An outcome, or a negative errno. */
int permission_ask(Permission *permission, AccessRefusal *ret_refusal);

/* Takes a question back: a prompt that is on the screen goes away. A zeroed permission with a pidfd of -1 is
 * allowed. */
void permission_deinit(Permission *permission);
