/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A call that was set aside goes to the end of what sd-bus has read, and is let through when it comes from there. A
 * caller that has left the bus meanwhile is no longer a client, and does not wait for a reply.
 *
 * Notes have to arrive before the reply by which the program ends its recording, and replies are never set aside. So
 * AddNotes() is not, either: carrying it out costs no more than refusing it.
 */

#include "bus/link/bus-turns.h"
#include "bus/link/bus-error.h"
#include "bus/link/bus-line.h"
#include "shared/monotonic.h"

/* How long a reply to a user who floods the bus may be, and one to others before it is known whether they do: one of
 * 64 KiB takes a flooded bus half a second. */
#define REPLY_BYTES_MAX (16u << 10)

/* How long a longer reply is kept back until that is known. */
#define HOLD_NS UINT64_C(100000000)

/* Calls that were set aside wait until everything that the bus has for us is read, as only then it is known whether a
 * user floods it; but no longer than this. */
#define READ_FIRST_NS UINT64_C(50000000)

/* The time between two checks of whether the bus has read our messages. */
#define BEHIND_LOOK_NS UINT64_C(1000000)

static int set_too_long(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "too many long replies to this user wait "
                             "(TURNS_HELD_PER_USER_MAX, %d); wait for them, or use the native "
                             "socket",
                             TURNS_HELD_PER_USER_MAX);
}

/* The call is done, and its reply may have been kept back. Such calls change nothing, so they may be carried out
 * twice. */
static void end_try(Bus *bus) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = TAKE(bus->tried);
        int r;

        if (!bus_line_has_taken(bus->line))
                return;
        sd_bus_message_rewind(call, true);
        r = turns_hold(&bus->turns, bus->tried_user, call, monotonic_ns() + HOLD_NS);
        if (r == TURNS_FULL)
                set_too_long(&error);
        else if (r < 0)
                sd_bus_error_set_errno(&error, r);
        if (r)
                sd_bus_reply_method_error(call, &error);
}

/* A long reply costs everybody the time that the bus takes to read it. */
void bus_turns_end(Bus *bus) {
        bus_line_refuse_replies(bus->line, &(GateRefusal){});
        if (bus->tried)
                end_try(bus);
        if (!turns_is_charging(&bus->turns))
                return;
        turns_end(&bus->turns, bus_line_is_behind(bus->line), monotonic_ns());
}

static int set_full(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "too many calls of this user wait (TURNS_CALLS_PER_USER_MAX, %d, or "
                             "TURNS_BYTES_PER_USER_MAX, %u MiB); wait for their replies",
                             TURNS_CALLS_PER_USER_MAX,
                             TURNS_BYTES_PER_USER_MAX >> 20);
}

/* Refuses a call that was set aside and has given way to one of another connection of the same user. */
static void refuse(sd_bus_message *call) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        set_full(&error);
        sd_bus_reply_method_error(call, &error);
}

/* A long reply keeps all others waiting, as the bus reads slowly while it is flooded. Data that was read from a session
 * is gone from it, so such a reply is not refused, but made shorter (bus_turns_read_bytes_max()). */
static void refuse_long_reply(Bus *bus) {
        const GateRefusal refusal = {
                .n_bytes = REPLY_BYTES_MAX,
                .error = bus_error_name(BUS_ERROR_LIMIT_EXCEEDED),
                .text = "the reply is too long for a user of whom many calls wait "
                        "(TURNS_CALLS_OF_A_FLOOD); wait for their replies, or use the native "
                        "socket",
        };

        bus_line_refuse_replies(bus->line, &refusal);
}

static void hold_long_reply(Client *client, sd_bus_message *call) {
        GateRefusal refusal = { .n_bytes = REPLY_BYTES_MAX, .caller = client->name };
        Bus *bus = client->bus;

        if (sd_bus_message_get_cookie(call, &refusal.reply_to) < 0)
                return;
        bus->tried = sd_bus_message_ref(call);
        bus->tried_user = client->user;
        bus_line_refuse_replies(bus->line, &refusal);
}

static void limit_reply(Client *client, sd_bus_message *call, bool is_second_time) {
        if (streq(sd_bus_message_get_member(call), "Read"))
                return;
        if (turns_is_flooding(&client->bus->turns, client->user))
                refuse_long_reply(client->bus);
        else if (!is_second_time)
                hold_long_reply(client, call);
}

size_t bus_turns_read_bytes_max(const Client *client) {
        const bool is_flood = client->name && turns_is_flooding(&client->bus->turns, client->user);

        return is_flood ? REPLY_BYTES_MAX : SIZE_MAX;
}

int bus_turns_take(Client *client, sd_bus_message *call, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *refused = NULL;
        Bus *bus = client->bus;
        const uint64_t now = monotonic_ns();
        const bool was_granted = call == bus->granted;
        int r = TURNS_NOW;

        if (was_granted)
                bus->granted = NULL;
        else if (!streq(sd_bus_message_get_member(call), "AddNotes"))
                r = turns_take(&bus->turns,
                               client->user,
                               &client->round,
                               call,
                               now,
                               bus_line_is_behind(bus->line) ? TURNS_SMALL_SHARE_NS
                                                             : TURNS_SHARE_NS,
                               &refused);
        if (refused)
                refuse(refused);
        if (r == TURNS_FULL)
                return set_full(error);
        if (r == TURNS_LATER)
                return 1;
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        limit_reply(client, call, was_granted && bus->is_second_time);
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
        const uint64_t monotonic = monotonic_ns(), held_until = turns_held_until(&bus->turns);

        if (turns_are_over(&bus->turns))
                return UINT64_MAX;
        if (!turns_are_due(&bus->turns, monotonic))
                return now + (held_until - monotonic);
        return bus_line_is_behind(bus->line) ? now + BEHIND_LOOK_NS : 0;
}

void bus_turns_run(Bus *bus) {
        const uint64_t began = monotonic_ns();
        sd_bus_message *call;
        bool was_held;

        if (bus_line_has_more(bus->line) && began - bus->turns_run_at < READ_FIRST_NS)
                return;
        bus->turns_run_at = began;
        bus_line_pump(bus->line);
        bus_turns_end(bus);
        while (!bus_line_is_behind(bus->line) && monotonic_ns() - began < TURNS_RUN_NS &&
               (call = turns_next(&bus->turns, monotonic_ns(), &was_held))) {
                bus->is_second_time = was_held;
                run_call(bus, call);
                sd_bus_message_unref(call);
        }
        turns_forget(&bus->turns, began);
}
