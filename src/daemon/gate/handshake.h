/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Handshake: the lines that a peer on a socket sends before its first message
 *
 * This is the server's part of "Authentication Protocol" in the D-Bus specification. The kernel tells the peer's
 * identity, and the peer only has to state the same. It may ask for descriptors to be passed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HANDSHAKE_LINE_BYTES_MAX  512
#define HANDSHAKE_LINES_MAX       32
#define HANDSHAKE_REPLY_BYTES_MAX 64
#define HANDSHAKE_GUID_DIGITS     32

typedef enum HandshakeState {
        HANDSHAKE_IDENTITY, /* the peer has not named its identity yet: AUTH */
        HANDSHAKE_DATA,     /* the peer was asked for the identity that it left out: DATA */
        HANDSHAKE_BEGIN,    /* the identity is known; the peer may begin */
        HANDSHAKE_DONE,     /* messages follow from now on */
} HandshakeState;

/* Embedded; the embedding object sets the first two fields. */
typedef struct Handshake {
        uid_t uid;
        char guid[HANDSHAKE_GUID_DIGITS + 1];
        HandshakeState state;
        unsigned n_lines;
        bool takes_fds;
} Handshake;

/* Takes one line, without its end and without the NUL before the first line. Fills in the answer, "" for none.
 * Returns 0, or -EPROTO: the peer has sent too many lines without beginning. */
int handshake_take(Handshake *handshake,
                   const char *line,
                   size_t n,
                   char reply[static HANDSHAKE_REPLY_BYTES_MAX]);
