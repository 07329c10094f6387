/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The call CheckAuthorization() of org.freedesktop.PolicyKit1.Authority, and what it replies.
 *
 * When a program ends, its own authentication agent often ends with it, and polkit gives up the question on its own.
 * If it is told to give the question up at the same moment, polkit 122 can wait for itself forever (its main thread
 * calls the agent from within g_cancellable_cancel() while GDBus's thread is in g_cancellable_disconnect()), and
 * then no program on the machine gets an answer. So a question that nobody waits for any longer is taken back only
 * after a moment in which polkit has not answered it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polkit/polkit-check.h"
#include "shared/log-user.h"
#include "shared/log.h"

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_PATH      "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

#define POLKIT_ALLOW_INTERACTION 1u
#define POLKIT_ID_BYTES          32

struct PolkitCheck {
        sd_bus *bus;
        uid_t user;
        bool is_interactive;
        char id[POLKIT_ID_BYTES]; /* polkit's cancellation id: ours to choose, unique on our connection */
        sd_bus_slot *slot;        /* NULL: the call has been answered, or was never sent */
        PolkitCheckDone done; /* NULL: nobody waits for the answer any longer */
        void *userdata;

        /* Ends a question that nobody waits for. The bus then owns its slot, and frees both together. */
        sd_event_source *timer;
};

static unsigned n_left; /* that nobody waits for */

static void cancel(sd_bus *bus, const char *id) {
        int r;

        r = sd_bus_call_method_async(bus,
                                     NULL,
                                     POLKIT_NAME,
                                     POLKIT_PATH,
                                     POLKIT_INTERFACE,
                                     "CancelCheckAuthorization",
                                     NULL,
                                     NULL,
                                     "s",
                                     id);
        if (r < 0)
                log_debug("cannot cancel a polkit check: %s", strerror(-r));
}

/*
 * Questions that nobody waits for
 */

static void on_left_gone(void *userdata) {
        PolkitCheck *check = userdata;

        sd_event_source_disable_unref(check->timer);
        free(check);
        n_left--;
}

static int on_left_late(sd_event_source *timer, uint64_t at_usec, void *userdata) {
        PolkitCheck *check = userdata;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = sd_bus_slot_ref(check->slot);

        cancel(sd_bus_slot_get_bus(slot), check->id);
        sd_bus_slot_set_floating(slot, false); /* from now on it is only ours */
        return 0;
}

/* Returns false if the question cannot be left to the bus. */
static bool leave(PolkitCheck *check) {
        sd_event *event = sd_bus_get_event(check->bus);

        if (!event || n_left == POLKIT_LEFT_MAX ||
            sd_event_add_time_relative(event,
                                       &check->timer,
                                       CLOCK_BOOTTIME,
                                       POLKIT_LEFT_USEC,
                                       0,
                                       on_left_late,
                                       check) < 0)
                return false;
        if (sd_bus_slot_set_floating(check->slot, true) < 0) {
                check->timer = sd_event_source_disable_unref(check->timer);
                return false;
        }
        check->done = NULL;
        check->bus = sd_bus_unref(check->bus);
        n_left++;
        sd_bus_slot_set_destroy_callback(check->slot, on_left_gone);
        sd_bus_slot_unref(check->slot);
        return true;
}

PolkitCheck *polkit_check_free(PolkitCheck *check) {
        if (!check || (check->slot && leave(check)))
                return NULL;
        if (check->slot)
                cancel(check->bus, check->id);
        sd_bus_slot_unref(check->slot);
        sd_bus_unref(check->bus);
        free(check);
        return NULL;
}

/* If polkit still asks for authentication although interaction was allowed, there was nobody to ask: the user has
 * no authentication agent. Asking again would not help. */
static PolkitVerdict check_read(const PolkitCheck *check, sd_bus_message *reply) {
        int is_authorized, is_challenge, r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                const sd_bus_error *error = sd_bus_message_get_error(reply);

                log_user(check->user, LOG_WARNING, "polkit cannot be asked: %s", error->message);
                return POLKIT_VERDICT_UNAVAILABLE;
        }
        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(reply, "bb", &is_authorized, &is_challenge);
        if (r < 0)
                return POLKIT_VERDICT_UNAVAILABLE;
        if (is_authorized)
                return POLKIT_VERDICT_GRANTED;
        return is_challenge && !check->is_interactive ? POLKIT_VERDICT_NEEDS_INTERACTION
                                                      : POLKIT_VERDICT_DENIED;
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        PolkitCheck *check = userdata;
        const PolkitCheckDone done = check->done;
        void *done_userdata = check->userdata;
        PolkitVerdict verdict;

        if (!done)
                return 0;
        verdict = check_read(check, reply);
        check->slot = sd_bus_slot_unref(check->slot); /* answered: there is nothing to cancel */
        polkit_check_free(check);
        done(done_userdata, verdict);
        return 0;
}

static int append_subject(sd_bus_message *call, const PolkitSubject *subject) {
        if (subject->name)
                return sd_bus_message_append(
                        call, "(sa{sv})", "system-bus-name", 1, "name", "s", subject->name);
        return sd_bus_message_append(call,
                                     "(sa{sv})",
                                     "unix-process",
                                     3,
                                     "pid",
                                     "u",
                                     (uint32_t)subject->pid,
                                     "start-time",
                                     "t",
                                     subject->start_time,
                                     "uid",
                                     "i",
                                     (int32_t)subject->uid);
}

static int append_details(sd_bus_message *call, const PolkitDetail *details, size_t n_details) {
        int r;

        r = sd_bus_message_open_container(call, 'a', "{ss}");
        for (size_t i = 0; r >= 0 && i < n_details; i++)
                r = sd_bus_message_append(call, "{ss}", details[i].key, details[i].value);
        return r < 0 ? r : sd_bus_message_close_container(call);
}

static int check_send(PolkitCheck *check, const PolkitCheckOptions *options) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(check->bus,
                                           &call,
                                           POLKIT_NAME,
                                           POLKIT_PATH,
                                           POLKIT_INTERFACE,
                                           "CheckAuthorization");
        if (r >= 0)
                r = append_subject(call, &options->subject);
        if (r >= 0)
                r = sd_bus_message_append(call, "s", options->action);
        if (r >= 0)
                r = append_details(call, options->details, options->n_details);
        if (r >= 0)
                r = sd_bus_message_append(call,
                                          "us",
                                          options->is_interactive ? POLKIT_ALLOW_INTERACTION : 0,
                                          check->id);
        if (r < 0)
                return r;
        return sd_bus_call_async(check->bus,
                                 &check->slot,
                                 call,
                                 on_answer,
                                 check,
                                 options->is_interactive ? POLKIT_PERSON_TIMEOUT_USEC
                                                         : POLKIT_TIMEOUT_USEC);
}

int polkit_check_new(PolkitCheck **ret, sd_bus *bus, const PolkitCheckOptions *options) {
        _cleanup_(polkit_check_freep) PolkitCheck *check = calloc(1, sizeof(*check));
        static uint64_t last_id;
        int r;

        if (!check)
                return -ENOMEM;
        *check = (PolkitCheck){
                .bus = sd_bus_ref(bus),
                .user = options->subject.user,
                .is_interactive = options->is_interactive,
                .done = options->done,
                .userdata = options->userdata,
        };
        snprintf(check->id, sizeof(check->id), "%" PRIu64, ++last_id);
        r = check_send(check, options);
        if (r < 0)
                return r;
        *ret = TAKE(check);
        return 0;
}
