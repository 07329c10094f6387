/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A polkit for the tests, on the system bus that $DBUS_SYSTEM_BUS_ADDRESS names
 *
 * Usage: fake-polkit ANSWERS LOG
 *   ANSWERS  a file that is read for each question; its lines are "ACTION yes|no|ask|hang". What is not there is "no".
 *            "ask" means yes if the caller allows interaction, and a challenge otherwise.
 *   LOG      each question and cancellation is appended as a line
 */

#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "shared/macro.h"

static const char *answers_path, *log_path;

static void note(const char *text) {
        FILE *file = fopen(log_path, "ae");

        if (file) {
                fprintf(file, "%s\n", text);
                fclose(file);
        }
}

static void find_answer(const char *action, char ret[static 16]) {
        FILE *file = fopen(answers_path, "re");
        char line_action[128], answer[16];

        strcpy(ret, "no");
        while (file && fscanf(file, "%127s %15s", line_action, answer) == 2)
                if (streq(line_action, action))
                        strcpy(ret, answer);
        if (file)
                fclose(file);
}

/* "key=value key=value" of an a{ss}. */
static int read_details(sd_bus_message *message, char *ret, size_t n) {
        const char *key, *value;
        size_t at = 0;
        int r;

        ret[0] = 0;
        r = sd_bus_message_enter_container(message, 'a', "{ss}");
        while (r >= 0 && (r = sd_bus_message_read(message, "{ss}", &key, &value)) > 0)
                if (at < n)
                        at += (size_t)snprintf(ret + at, n - at, " %s=%s", key, value);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int method_check(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        char details[512], line[1024], answer[16];
        const char *kind, *action, *id;
        uint32_t flags;
        int r;

        r = sd_bus_message_enter_container(message, 'r', "sa{sv}");
        if (r >= 0)
                r = sd_bus_message_read(message, "s", &kind);
        if (r >= 0)
                r = sd_bus_message_skip(message, "a{sv}");
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        if (r >= 0)
                r = sd_bus_message_read(message, "s", &action);
        if (r >= 0)
                r = read_details(message, details, sizeof(details));
        if (r >= 0)
                r = sd_bus_message_read(message, "us", &flags, &id);
        if (r < 0)
                return r;

        snprintf(line, sizeof(line), "check %s %s flags=%u%s", kind, action, flags, details);
        note(line);
        find_answer(action, answer);
        if (streq(answer, "hang"))
                return 1;
        return sd_bus_reply_method_return(message,
                                          "(bba{ss})",
                                          streq(answer, "yes") || (streq(answer, "ask") && flags),
                                          streq(answer, "ask") && !flags,
                                          0);
}

static int method_cancel(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        note("cancel");
        return sd_bus_reply_method_return(message, "");
}

static const sd_bus_vtable authority_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("CheckAuthorization",
                      "(sa{sv})sa{ss}us",
                      "(bba{ss})",
                      method_check,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("CancelCheckAuthorization",
                      "s",
                      "",
                      method_cancel,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int main(int argc, char *argv[]) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        if (argc != 3)
                return 2;
        answers_path = argv[1];
        log_path = argv[2];
        r = sd_event_default(&event);
        if (r >= 0)
                r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_add_object_vtable(bus,
                                             NULL,
                                             "/org/freedesktop/PolicyKit1/Authority",
                                             "org.freedesktop.PolicyKit1.Authority",
                                             authority_vtable,
                                             NULL);
        if (r >= 0)
                r = sd_bus_attach_event(bus, event, 0);
        if (r >= 0)
                r = sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0);
        if (r >= 0)
                r = sd_event_loop(event);
        return r < 0;
}
