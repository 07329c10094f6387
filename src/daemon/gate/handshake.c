/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One function for each state: which lines a peer may send then, and the answers to them. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gate/handshake.h"
#include "shared/macro.h"

#define REJECTED "REJECTED EXTERNAL\r\n"

static bool line_is(const char *line, size_t n, const char *word) {
        return n == strlen(word) && memcmp(line, word, n) == 0;
}

/* If the line begins with the word and a blank, returns what follows; NULL otherwise. */
static const char *behind_word(const char *line, size_t n, const char *word) {
        const size_t n_word = strlen(word);

        return n > n_word && memcmp(line, word, n_word) == 0 && line[n_word] == ' '
                       ? line + n_word + 1
                       : NULL;
}

/* The uid in decimal digits; the peer sends their character codes in hexadecimal. */
static bool is_uid(const char *hex, size_t n, uid_t uid) {
        char decimal[24], expected[2 * sizeof(decimal)];
        const int n_digits = snprintf(decimal, sizeof(decimal), "%u", (unsigned)uid);

        for (int i = 0; i < n_digits; i++)
                snprintf(expected + 2 * i, 3, "%02x", (unsigned char)decimal[i]);
        return n == 2 * (size_t)n_digits && memcmp(hex, expected, n) == 0;
}

static void accept(Handshake *handshake, char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        handshake->state = HANDSHAKE_BEGIN;
        snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, "OK %s\r\n", handshake->guid);
}

static void reject(Handshake *handshake, char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        handshake->state = HANDSHAKE_IDENTITY;
        snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, REJECTED);
}

static void take_identity(Handshake *handshake,
                          const char *line,
                          size_t n,
                          char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        const char *hex = behind_word(line, n, "AUTH EXTERNAL");

        if (hex && is_uid(hex, (size_t)(line + n - hex), handshake->uid)) {
                accept(handshake, reply);
        } else if (line_is(line, n, "AUTH EXTERNAL")) {
                handshake->state = HANDSHAKE_DATA;
                snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, "DATA\r\n");
        } else {
                reject(handshake, reply);
        }
}

/* A peer in a user namespace does not know its uid on the host, and may send none. */
static void take_data(Handshake *handshake,
                      const char *line,
                      size_t n,
                      char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        const char *hex = behind_word(line, n, "DATA");

        if (line_is(line, n, "DATA") || line_is(line, n, "DATA ") ||
            (hex && is_uid(hex, (size_t)(line + n - hex), handshake->uid)))
                accept(handshake, reply);
        else
                reject(handshake, reply);
}

static void take_beginning(Handshake *handshake,
                           const char *line,
                           size_t n,
                           char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        if (line_is(line, n, "BEGIN")) {
                handshake->state = HANDSHAKE_DONE;
        } else if (line_is(line, n, "NEGOTIATE_UNIX_FD")) {
                handshake->takes_fds = true;
                snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, "AGREE_UNIX_FD\r\n");
        } else {
                snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, "ERROR\r\n");
        }
}

/* Words that mean the same in every state in which they are allowed. */
static bool take_anytime(Handshake *handshake,
                         const char *line,
                         size_t n,
                         char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        if (line_is(line, n, "CANCEL") || line_is(line, n, "ERROR") ||
            behind_word(line, n, "ERROR"))
                reject(handshake, reply);
        else if (handshake->state == HANDSHAKE_IDENTITY && !line_is(line, n, "AUTH") &&
                 !behind_word(line, n, "AUTH"))
                snprintf(reply, HANDSHAKE_REPLY_BYTES_MAX, "ERROR\r\n");
        else
                return false;
        return true;
}

int handshake_take(Handshake *handshake,
                   const char *line,
                   size_t n,
                   char reply[static HANDSHAKE_REPLY_BYTES_MAX]) {
        static void (*const take[])(Handshake *, const char *, size_t, char *) = {
                [HANDSHAKE_IDENTITY] = take_identity,
                [HANDSHAKE_DATA] = take_data,
                [HANDSHAKE_BEGIN] = take_beginning,
        };

        reply[0] = '\0';
        if (handshake->state == HANDSHAKE_DONE || ++handshake->n_lines > HANDSHAKE_LINES_MAX)
                return -EPROTO;
        if (!take_anytime(handshake, line, n, reply))
                take[handshake->state](handshake, line, n, reply);
        return 0;
}
