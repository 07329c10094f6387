/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Questions to polkit about what a client calls, rather than about the session that it starts
 *
 * Only this file knows which action is asked for, and with which details. All functions return what polkit_ask() does.
 */

#include "bus/permission/bus-polkit.h"

/* May the client see and control other users' sessions? */
int client_ask_manage(PolkitQuery **ret,
                      Client *client,
                      bool is_interactive,
                      PolkitDone done,
                      void *userdata);

/* May the client, which is in a sandbox or may be in one, record others? */
int client_ask_sandbox(PolkitQuery **ret,
                       Client *client,
                       bool is_interactive,
                       PolkitDone done,
                       void *userdata);

/* May producers be started for the client? No prompt is shown, as the client only asks for a list. */
int client_ask_to_start(PolkitQuery **ret, Client *client, PolkitDone done, void *userdata);
