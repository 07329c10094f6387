/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Handshake: what a peer on a socket says before its first message
 *
 * The D-Bus specification, "Authentication Protocol", the server's part. The kernel tells the peer's identity; the
 * peer only has to say the same. It may ask for descriptors to be passed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HANDSHAKE_LINE_BYTES_MAX  512
#define HANDSHAKE_LINES_MAX       32
#define HANDSHAKE_REPLY_BYTES_MAX 64
#define HANDSHAKE_GUID_DIGITS     32

typedef enum HandshakeState {
        HANDSHAKE_IDENTITY, /* who it is, it has yet to say: AUTH */
        HANDSHAKE_DATA,     /* it was asked for what it left out: DATA */
        HANDSHAKE_BEGIN,    /* known; it may begin */
        HANDSHAKE_DONE,     /* messages come from now on */
} HandshakeState;

/* Embedded; the first two are set by whoever embeds it. */
typedef struct Handshake {
        uid_t uid;
        char guid[HANDSHAKE_GUID_DIGITS + 1];
        HandshakeState state;
        unsigned n_lines;
        bool takes_fds;
} Handshake;

/* A line without its end; the NUL that comes before the first one is not part of it. What is to be answered, "" for
 * nothing. 0, or -EPROTO: it said too much without beginning. */
int handshake_take(Handshake *handshake,
                   const char *line,
                   size_t n,
                   char reply[static HANDSHAKE_REPLY_BYTES_MAX]);
