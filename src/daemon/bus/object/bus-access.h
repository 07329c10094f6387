/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The access gate
 *
 * Every method call passes here before it reaches an object, and is refused if its member is not in the table. The
 * table says who may call a member at all. Which sessions a caller may see is checked here, too, and in
 * bus_session_find().
 */

#include "bus/link/connection.h"

typedef enum Access {
        ACCESS_ANYONE,
        ACCESS_SESSIONS, /* anyone; what the caller is shown depends on manage-sessions */
        ACCESS_SEES,     /* everybody who may see the object; for others it does not exist */
} Access;

typedef struct AccessRule {
        const char *interface;
        const char *member;
        Access who;
        bool listens; /* a consumer's call: the caller may be in no sandbox, and gets signals from now on */
} AccessRule;

/* Returns NULL if nobody may. */
const AccessRule *access_find(const char *interface, const char *member);

/* 0: to be dispatched; 1: the message is dispatched again when polkit has answered; < 0 with *error set: refused. */
int access_check(Client *client, sd_bus_message *message, sd_bus_error *error);

/* Asks polkit for manage-sessions on behalf of the call, once. 1: asked, and the message is dispatched again; 0:
 * continue without the permission; < 0 with *error set. */
int access_ask_manage(Client *client,
                      sd_bus_message *message,
                      bool interactive,
                      sd_bus_error *error);
