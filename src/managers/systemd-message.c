/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* systemd messages: reads a manager's D-Bus messages */

#include <errno.h>

#include "managers/systemd-message.h"
#include "shared/macro.h"

int property_next(sd_bus_message *message, const char **ret_name) {
        int r;

        r = sd_bus_message_enter_container(message, 'e', "sv");
        if (r <= 0)
                return r;
        r = sd_bus_message_read(message, "s", ret_name);
        return r < 0 ? r : 1;
}

int property_skip(sd_bus_message *message) {
        return sd_bus_message_skip(message, "v");
}

bool property_read(sd_bus_message *message, char type, void *ret) {
        const char signature[] = { type, '\0' };
        const char *contents;
        char outer;

        if (sd_bus_message_peek_type(message, &outer, &contents) <= 0 || !contents ||
            !streq(contents, signature)) {
                (void)property_skip(message);
                return false;
        }
        return sd_bus_message_enter_container(message, 'v', signature) > 0 &&
               sd_bus_message_read_basic(message, type, ret) > 0 &&
               sd_bus_message_exit_container(message) >= 0;
}

int property_end(sd_bus_message *message) {
        return sd_bus_message_exit_container(message);
}

/*
 * Units
 */

static bool read_unit_time(sd_bus_message *message, const char *name, UnitTimes *times) {
        const struct {
                const char *name;
                uint64_t *ret;
        } known[] = {
                { "InactiveExitTimestampMonotonic", &times->inactive_exit_us },
                { "ActiveEnterTimestampMonotonic", &times->active_enter_us },
                { "ActiveExitTimestampMonotonic", &times->active_exit_us },
                { "InactiveEnterTimestampMonotonic", &times->inactive_enter_us },
                { "StateChangeTimestampMonotonic", &times->change_us },
        };

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (streq(known[i].name, name)) {
                        (void)property_read(message, 't', known[i].ret);
                        return true;
                }
        return false;
}

int systemd_read_unit(sd_bus_message *message, UnitTimes *ret) {
        bool has_phase = false;
        const char *name, *text;
        int r;

        *ret = (UnitTimes){};
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = property_next(message, &name)) > 0) {
                if (streq(name, "ActiveState") && property_read(message, 's', &text)) {
                        ret->phase = unit_phase_from_name(text);
                        has_phase = true;
                } else if (!streq(name, "ActiveState") && !read_unit_time(message, name, ret))
                        r = property_skip(message);
                if (r >= 0)
                        r = property_end(message);
        }
        if (!has_phase)
                ret->change_us = 0;
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int systemd_read_after(sd_bus_message *message, Unit *unit) {
        const char *name;
        int r;

        r = sd_bus_message_enter_container(message, 'v', "as");
        if (r > 0)
                r = sd_bus_message_enter_container(message, 'a', "s");
        if (r < 0)
                return r;
        unit_begin_after(unit);
        while ((r = sd_bus_message_read_basic(message, 's', &name)) > 0)
                unit_add_after(unit, name);
        return r;
}

/*
 * The manager, and jobs
 */

int systemd_read_boot(sd_bus_message *message, BootTimes *ret) {
        const char *name;
        int r;

        *ret = (BootTimes){};
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = property_next(message, &name)) > 0) {
                size_t i = 0;

                while (i < _BOOT_TIME_N && !streq(boot_time_properties[i], name))
                        i++;
                if (i < _BOOT_TIME_N)
                        (void)property_read(message, 't', &ret->us[i]);
                else
                        r = property_skip(message);
                if (r >= 0)
                        r = property_end(message);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int systemd_read_job(sd_bus_message *message, bool *ret_runs) {
        const char *name, *text;
        int r;

        *ret_runs = false;
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = property_next(message, &name)) > 0) {
                if (!streq(name, "State"))
                        r = property_skip(message);
                else if (property_read(message, 's', &text))
                        *ret_runs = streq(text, "running");
                if (r >= 0)
                        r = property_end(message);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}
