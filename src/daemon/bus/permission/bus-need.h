/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session needs that its owner has not got by himself (POLICY_NEEDS_…), as polkit knows it and as people are
 * told when it is refused.
 */

#include "bus/permission/bus-polkit.h"
#include "config/config.h"

typedef struct NeedQuestion {
        PolkitSubject subject;
        const AccessAsk *ask; /* its done() is not called: */
        PolkitDone done;
        void *userdata;
} NeedQuestion;

/* 0, ACCESS_E_REFUSED with a refusal, or a negative errno. */
int need_ask(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, AccessRefusal *ret_refusal);

/* Any answer but a grant, in words. */
void need_refuse(AccessRefusal *ret, unsigned need, AccessAnswer answer);
