/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers that wait to be sent. Any thread queues them, and the private thread sends them on each connection as
 * soon as the connection can be used.
 */

#include <stdint.h>

#define TRIGGERS_QUEUED_MAX 64
#define TRIGGER_TTL_NS      UINT64_C(1000000000)

typedef struct Trigger Trigger; /* a block of malloc() */

int trigger_new(Trigger **ret, const char *name, uint64_t now_ns);

/* Takes ownership on success. With the lock held. Returns 0 or -ENOBUFS. */
int triggers_append(Trigger *trigger, uint64_t now_ns);

/* Private thread only. */
void triggers_send(uint64_t now_ns);
