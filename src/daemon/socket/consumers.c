/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "consumer-private.h"

uint64_t consumers_now(const Consumers *consumers) {
        uint64_t usec;

        if (sd_event_now(consumers->event, CLOCK_BOOTTIME, &usec) < 0)
                return 0; /* only after a fork, which never happens */
        return usec * 1000;
}

ConsumerSession *consumers_find(Consumers *consumers, const Session *wanted) {
        ConsumerSession *session;

        list_for_each (session, &consumers->sessions, link)
                if (session->session == wanted)
                        return session;
        return NULL;
}
