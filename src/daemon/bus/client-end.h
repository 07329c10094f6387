/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The end of a client, and of everything that it has. */

#include "bus/link/connection.h"

Client *client_free(Client *client);
DEFINE_CLEANUP(Client *, client_free)
