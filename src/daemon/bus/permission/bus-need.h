/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session needs that its owner has not got by himself (POLICY_NEEDS_…), as polkit knows it and as people are
 * told when it is refused.
 */

#include "bus/permission/bus-polkit.h"
#include "config/config.h"

/* One of them; there must be one. */
unsigned need_first(unsigned mask);

typedef struct NeedQuestion {
        PolkitSubject subject;
        unsigned need;        /* the one that is asked about */
        const Config *config; /* for rules to look at */
        bool is_interactive;
        PolkitDone done;
        void *userdata;
} NeedQuestion;

/* 0, or a negative errno with *error set. */
int need_ask(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, sd_bus_error *error);

/* Any answer but a grant. Fills *error and returns a negative errno. */
int need_refuse(unsigned need, PolkitAnswer answer, sd_bus_error *error);
