/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The loop's exit code is an outcome; it ends after each of them and is run again for the next.
 */

#include <errno.h>
#include <glib/gi18n.h>
#include <signal.h>

#include "client/say.h"
#include "client/waiting.h"

enum {
        WAITING_GOING_ON,
        WAITING_DONE,
        WAITING_INTERRUPTED,
};

typedef struct WaitingCall {
        sd_bus_message *reply;
        int *outcome;
} WaitingCall;

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        int *outcome = userdata;

        *outcome = WAITING_INTERRUPTED;
        return 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        int *outcome = userdata;

        *outcome = WAITING_DONE;
        return 0;
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        WaitingCall *call = userdata;

        call->reply = sd_bus_message_ref(reply);
        *call->outcome = WAITING_DONE;
        return 0;
}

static sigset_t signal_mask(void) {
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGHUP);
        return mask;
}

static int block_signals(int how) {
        sigset_t mask = signal_mask();

        return sigprocmask(how, &mask, NULL) < 0 ? -errno : 0;
}

ExitStatus waiting_init(Waiting *waiting) {
        int r;

        r = block_signals(SIG_BLOCK);
        if (r >= 0)
                r = sd_event_new(&waiting->event);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

void waiting_deinit(Waiting *waiting) {
        waiting->event = sd_event_unref(waiting->event);
}

void waiting_allow_signals(void) {
        block_signals(SIG_UNBLOCK);
}

/* Waits until `outcome` says something. */
static ExitStatus waiting_run(Waiting *waiting, int *outcome) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        sd_event_source *sources[ARRAY_SIZE(signals)] = { 0 };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(signals) && r >= 0; i++)
                r = sd_event_add_signal(
                        waiting->event, &sources[i], signals[i], on_signal, outcome);
        while (r >= 0 && *outcome == WAITING_GOING_ON)
                r = sd_event_run(waiting->event, UINT64_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sd_event_source_disable_unref(sources[i]);
        if (r < 0)
                return bus_client_say_errno(r);
        if (*outcome == WAITING_DONE)
                return STATUS_OK;
        say_error(_("cancelled"));
        return STATUS_FAILED;
}

ExitStatus waiting_sleep(Waiting *waiting, uint64_t usec) {
        sd_event_source *timer = NULL;
        int outcome = WAITING_GOING_ON, r;
        ExitStatus status;

        r = sd_event_add_time_relative(
                waiting->event, &timer, CLOCK_MONOTONIC, usec, 1000, on_time, &outcome);
        status = r < 0 ? bus_client_say_errno(r) : waiting_run(waiting, &outcome);
        sd_event_source_disable_unref(timer);
        return status;
}

ExitStatus waiting_send(Waiting *waiting,
                        const BusClient *client,
                        sd_bus_message *call,
                        uint64_t timeout_usec,
                        sd_bus_message **ret_reply) {
        int outcome = WAITING_GOING_ON, r;
        WaitingCall userdata = { .outcome = &outcome };
        sd_bus_slot *slot = NULL;
        ExitStatus status;

        r = sd_bus_attach_event(client->bus, waiting->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_bus_call_async(client->bus, &slot, call, on_reply, &userdata, timeout_usec);
        status = r < 0 ? bus_client_say_errno(r) : waiting_run(waiting, &outcome);
        sd_bus_slot_unref(slot);
        sd_bus_detach_event(client->bus);
        if (!status)
                *ret_reply = userdata.reply;
        else
                sd_bus_message_unref(userdata.reply);
        return status;
}

static ExitStatus take_reply(sd_bus_message *reply, sd_bus_message **ret_reply) {
        if (sd_bus_message_is_method_error(reply, NULL)) {
                ExitStatus status = bus_client_say_error(sd_bus_message_get_error(reply));

                sd_bus_message_unref(reply);
                return status;
        }
        if (ret_reply)
                *ret_reply = reply;
        else
                sd_bus_message_unref(reply);
        return STATUS_OK;
}

ExitStatus waiting_call(Waiting *waiting,
                        const BusClient *client,
                        sd_bus_message *call,
                        uint64_t timeout_usec,
                        sd_bus_message **ret_reply) {
        sd_bus_message *reply;
        ExitStatus status = waiting_send(waiting, client, call, timeout_usec, &reply);

        return status ? status : take_reply(reply, ret_reply);
}
