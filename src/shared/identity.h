/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Identity: who a peer is */

#include <sys/types.h>

/* The identity of a peer, as the kernel or the bus attests. */
typedef struct Identity {
        uid_t uid;
        pid_t pid;
} Identity;
