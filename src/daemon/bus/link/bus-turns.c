/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A call that was set aside goes to the end of what sd-bus has read, and is let through when it comes from there. Who
 * has left the bus meanwhile is no client any more, and does not wait for a reply.
 *
 * Notes belong before the reply by which the program ends its recording, and replies are never set aside. So AddNotes()
 * is not, either: it is as cheap as to be refused.
 */

#include <time.h>

#include "bus/link/bus-error.h"
#include "bus/link/bus-line.h"
#include "bus/link/bus-turns.h"

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void bus_turns_end(Bus *bus) {
        turns_end(&bus->turns, now_ns());
}

static int set_full(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "too many calls of this user wait (TURNS_CALLS_PER_USER_MAX, %d, or "
                             "TURNS_BYTES_PER_USER_MAX, %u MiB); wait for their replies",
                             TURNS_CALLS_PER_USER_MAX,
                             TURNS_BYTES_PER_USER_MAX >> 20);
}

/* A call that was set aside, and has given way to one of another connection of the user. */
static void refuse(sd_bus_message *call) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        set_full(&error);
        sd_bus_reply_method_error(call, &error);
}

int bus_turns_take(Client *client, sd_bus_message *call, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *refused = NULL;
        Bus *bus = client->bus;
        const uint64_t now = now_ns();
        const uint64_t share = bus_line_pump(bus->line) ? TURNS_SMALL_SHARE_NS : TURNS_SHARE_NS;
        int r = TURNS_NOW;

        if (call == bus->granted)
                bus->granted = NULL;
        else if (!streq(sd_bus_message_get_member(call), "AddNotes"))
                r = turns_take(
                        &bus->turns, client->user, &client->round, call, now, share, &refused);
        if (refused)
                refuse(refused);
        if (r == TURNS_FULL)
                return set_full(error);
        if (r == TURNS_LATER)
                return 1;
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        turns_begin(&bus->turns, client->user, now);
        return 0;
}

static void run_call(Bus *bus, sd_bus_message *call) {
        if (!client_find(bus, sd_bus_message_get_sender(call)))
                return;
        bus->granted = call;
        if (sd_bus_enqueue_for_read(bus->message_bus, call) >= 0)
                while (bus->granted && sd_bus_process(bus->message_bus, NULL) > 0)
                        ;
        bus->granted = NULL;
        bus_turns_end(bus);
}

bool bus_turns_are_due(const Bus *bus) {
        return !turns_are_over(&bus->turns) && !bus_line_has_unsent(bus->line);
}

void bus_turns_run(Bus *bus) {
        const uint64_t began = now_ns();
        sd_bus_message *call;

        turns_end(&bus->turns, began);
        while (!bus_line_pump(bus->line) && now_ns() - began < TURNS_RUN_NS &&
               (call = turns_next(&bus->turns))) {
                run_call(bus, call);
                sd_bus_message_unref(call);
        }
        turns_forget(&bus->turns, began);
}
