/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * systemd's store of descriptors, which outlives the process. In it each is called keep-ID-WHAT and a number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_STORE_PREFIX "keep-"

/* Whose number it is, and what: */
enum {
        KEPT_STORE_SESSION = 'c',
        KEPT_STORE_INDEX = 'i',    /* of a session's buffer */
        KEPT_STORE_SEGMENTS = 's', /* likewise */
        KEPT_STORE_OUTPUT = 'o',
        KEPT_STORE_OUTBOX = 'b',
        KEPT_STORE_PRODUCER = 'p',
        KEPT_STORE_MEMORY = 'm', /* of a producer */
};

/* 1, 0 when nobody keeps it, or a negative errno. */
int kept_store_put(int fd, uint64_t id, char what, size_t i);
void kept_store_drop(uint64_t id, char what, size_t i);
