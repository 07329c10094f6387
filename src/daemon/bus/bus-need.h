/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session needs that its owner has not got by himself (POLICY_NEEDS_…), as polkit knows it and as people are
 * told when it is refused.
 */

#include "bus/bus-polkit.h"
#include "config/config.h"

/* One of them; there must be one. */
unsigned need_first(unsigned mask);

/* Asks about one, with what the config is about for rules to look at. 0, or a negative errno with *error set. */
int need_ask(PolkitQuery **ret,
             Client *client,
             unsigned need,
             const Config *config,
             bool interactive,
             PolkitDone done,
             void *userdata,
             sd_bus_error *error);

/* The same about a peer that is no Client. */
int need_ask_subject(PolkitQuery **ret,
                     Bus *bus,
                     const PolkitSubject *subject,
                     unsigned need,
                     const Config *config,
                     bool interactive,
                     PolkitDone done,
                     void *userdata,
                     sd_bus_error *error);

/* Any answer but a grant. Fills *error and returns a negative errno. */
int need_refuse(unsigned need, PolkitAnswer answer, sd_bus_error *error);
