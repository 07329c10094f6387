/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The access gate
 *
 * Every method call passes here before it reaches an object. What is not in the table is refused. The table says
 * who may call a member at all; that a session is visible only to some is seen to here and in
 * bus_session_find().
 */

#include "bus/link/connection.h"

typedef enum Access {
        ACCESS_ANYONE,
        ACCESS_SESSIONS, /* anyone, but what it shows depends on manage-sessions */
        ACCESS_SEES,     /* who may see the object; for others it does not exist */
} Access;

typedef struct AccessRule {
        const char *interface;
        const char *member;
        Access who;
        bool listens; /* the caller is a consumer: in no sandbox, and it gets signals from now on */
} AccessRule;

/* NULL: nobody may. */
const AccessRule *access_find(const char *interface, const char *member);

/* 0: go on; 1: handled, the message comes again when polkit has answered; < 0 with *error set: refused. */
int access_check(Client *client, sd_bus_message *message, sd_bus_error *error);

/* Asks polkit for manage-sessions on behalf of the call, once. 1: asked, the message comes again; 0: go on
 * without; < 0 with *error set. */
int access_ask_manage(Client *client,
                      sd_bus_message *message,
                      bool interactive,
                      sd_bus_error *error);
