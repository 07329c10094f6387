/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The interface is described in org.freedesktop.LogControl1(5). */

#include "log-control.h"
#include "bus/link/bus-property.h"
#include "bus/link/connection.h"
#include "shared/log.h"

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"

PROPERTY(get_level) {
        return sd_bus_message_append(reply, "s", log_level_name(log_level()));
}

/* sd-bus would ask the message bus, and wait for its answer. */
static int check_caller(const Bus *bus, sd_bus_error *error) {
        if (bus->caller &&
            (bus->caller->identity.uid == 0 || bus->caller->identity.uid == bus->info->uid))
                return 0;
        return sd_bus_error_set(error,
                                SD_BUS_ERROR_ACCESS_DENIED,
                                "only root and the user of the service may change what it logs");
}

static int set_level(sd_bus *connection,
                     const char *path,
                     const char *interface,
                     const char *property,
                     sd_bus_message *value,
                     void *userdata,
                     sd_bus_error *error) {
        const char *text;
        int level, r;

        r = check_caller(userdata, error);
        if (r >= 0)
                r = sd_bus_message_read(value, "s", &text);
        if (r < 0)
                return r;
        if (log_level_parse(&level, text) < 0)
                return sd_bus_error_setf(error,
                                         SD_BUS_ERROR_INVALID_ARGS,
                                         "\"%s\" is not a log level: it is one of emerg, alert, "
                                         "crit, err, warning, notice, info, debug",
                                         text);
        log_set_level(level);
        return 0;
}

PROPERTY(get_target) {
        return sd_bus_message_append(reply, "s", log_is_journal() ? "journal" : "console");
}

static int set_target(sd_bus *connection,
                      const char *path,
                      const char *interface,
                      const char *property,
                      sd_bus_message *value,
                      void *userdata,
                      sd_bus_error *error) {
        const char *text;
        int r;

        r = check_caller(userdata, error);
        if (r >= 0)
                r = sd_bus_message_read(value, "s", &text);
        if (r < 0)
                return r;
        if (streq(text, "auto") || streq(text, log_is_journal() ? "journal" : "console"))
                return 0;
        return sd_bus_error_setf(error,
                                 SD_BUS_ERROR_NOT_SUPPORTED,
                                 "the log goes to stderr, and where that leads is set by systemd; "
                                 "see StandardError= in systemd.exec(5)");
}

PROPERTY(get_identifier) {
        return sd_bus_message_append(reply, "s", "desktraced");
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel",
                                 "s",
                                 get_level,
                                 set_level,
                                 0,
                                 SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_WRITABLE_PROPERTY("LogTarget",
                                 "s",
                                 get_target,
                                 set_target,
                                 0,
                                 SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

int log_control_serve(Bus *bus, sd_bus *message_bus) {
        return sd_bus_add_object_vtable(message_bus,
                                        NULL,
                                        LOG_CONTROL_PATH,
                                        LOG_CONTROL_INTERFACE,
                                        log_control_vtable,
                                        bus);
}
