/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A call that was set aside goes to the end of what sd-bus has read, and is let through when it comes from there. Who
 * has left the bus meanwhile is no longer a client, and does not wait for a reply.
 *
 * Notes belong before the reply by which the program ends its recording, and replies are never set aside. So AddNotes()
 * is not, either: it is as cheap as to be refused.
 */

#include <time.h>

#include "bus/link/bus-error.h"
#include "bus/link/bus-line.h"
#include "bus/link/bus-turns.h"

/* What the bus may need to read a reply to a user who floods it, and how long any reply may be: what the bus
 * needs for short ones says little about its pace on a busy machine. */
#define REPLY_NS        UINT64_C(20000000)
#define REPLY_BYTES_MIN (64u << 10)

/* Between two looks at whether the bus has read what was said. */
#define BEHIND_LOOK_NS UINT64_C(1000000)

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A long reply costs everybody the time that the bus takes to read it. */
void bus_turns_end(Bus *bus) {
        bus_line_refuse_replies(bus->line, &(GateRefusal){});
        turns_end(&bus->turns, bus_line_is_behind(bus->line), now_ns());
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

/* While the bus reads slowly, a long reply would keep all others waiting. What is read from a session is gone from
 * there, so it is not refused, but made shorter (bus_turns_read_bytes_max()). */
static void limit_reply(Client *client, sd_bus_message *call) {
        Bus *bus = client->bus;
        const size_t n = bus_line_bytes_within(bus->line, REPLY_NS);
        GateRefusal refusal = {
                .error = bus_error_name(BUS_ERROR_LIMIT_EXCEEDED),
                .text = "the reply is too long for the message bus, which is slow now, and many "
                        "calls of this user wait; wait for their replies, or use the native socket",
        };

        if (n < SIZE_MAX && turns_is_flooding(&bus->turns, client->user) &&
            !streq(sd_bus_message_get_member(call), "Read"))
                refusal.n_bytes = MAX(n, REPLY_BYTES_MIN);
        bus_line_refuse_replies(bus->line, &refusal);
}

size_t bus_turns_read_bytes_max(const Client *client) {
        if (!client->name)
                return SIZE_MAX;
        return MAX(bus_line_bytes_within(client->bus->line, REPLY_NS), REPLY_BYTES_MIN);
}

int bus_turns_take(Client *client, sd_bus_message *call, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *refused = NULL;
        Bus *bus = client->bus;
        const uint64_t now = now_ns();
        const uint64_t share =
                bus_line_is_behind(bus->line) ? TURNS_SMALL_SHARE_NS : TURNS_SHARE_NS;
        const bool was_granted = call == bus->granted;
        int r = TURNS_NOW;

        if (was_granted)
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
        if (was_granted)
                limit_reply(client, call);
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

/* No event tells when the bus has read enough. */
uint64_t bus_turns_deadline(const Bus *bus, uint64_t now) {
        if (turns_are_over(&bus->turns))
                return UINT64_MAX;
        return bus_line_is_behind(bus->line) ? now + BEHIND_LOOK_NS : 0;
}

void bus_turns_run(Bus *bus) {
        const uint64_t began = now_ns();
        sd_bus_message *call;

        bus_line_pump(bus->line);
        bus_turns_end(bus);
        while (!bus_line_is_behind(bus->line) && now_ns() - began < TURNS_RUN_NS &&
               (call = turns_next(&bus->turns))) {
                run_call(bus, call);
                sd_bus_message_unref(call);
        }
        turns_forget(&bus->turns, began);
}
