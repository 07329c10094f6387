/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session needs beyond its owner's own rights (POLICY_NEEDS_…): its name in polkit, and what people are told if
 * it is refused.
 */

#include "bus/permission/bus-polkit.h"
#include "config/config.h"

typedef struct NeedQuestion {
        PolkitSubject subject;
        const AccessAsk *ask; /* its done() is not called: */
        PolkitDone done;
        void *userdata;
} NeedQuestion;

/* Returns 0, ACCESS_E_REFUSED with a refusal, or a negative errno. */
int need_ask(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, AccessRefusal *ret_refusal);

/* Puts a refusal in words; `answer` is anything but a grant. */
void need_refuse(AccessRefusal *ret, unsigned need, AccessAnswer answer);
