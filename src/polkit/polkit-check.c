/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The call CheckAuthorization() of org.freedesktop.PolicyKit1.Authority, and what it replies.
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
        sd_bus_slot *slot;        /* NULL: it is answered, or was never sent */
        PolkitCheckDone done;
        void *userdata;
};

static void check_cancel(PolkitCheck *check) {
        int r;

        r = sd_bus_call_method_async(check->bus,
                                     NULL,
                                     POLKIT_NAME,
                                     POLKIT_PATH,
                                     POLKIT_INTERFACE,
                                     "CancelCheckAuthorization",
                                     NULL,
                                     NULL,
                                     "s",
                                     check->id);
        if (r < 0)
                log_debug("cannot cancel a polkit check: %s", strerror(-r));
}

PolkitCheck *polkit_check_free(PolkitCheck *check) {
        if (!check)
                return NULL;
        if (check->slot)
                check_cancel(check);
        sd_bus_slot_unref(check->slot);
        sd_bus_unref(check->bus);
        free(check);
        return NULL;
}

/* A challenge although a person could have been asked means that there was nobody to ask: the user has no
 * authentication agent. To ask again would not help. */
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
        const PolkitVerdict verdict = check_read(check, reply);
        const PolkitCheckDone done = check->done;
        void *done_userdata = check->userdata;

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
        return sd_bus_call_async(
                check->bus, &check->slot, call, on_answer, check, POLKIT_TIMEOUT_USEC);
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
