/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exit status: the exit codes, and how D-Bus errors map to them */

#include <glib/gi18n.h>
#include <string.h>

#include "client/exit-status.h"
#include "client/reason.h"
#include "client/say.h"
#include "shared/macro.h"
#include "shared/names.h"

typedef struct BusErrorRow {
        const char *name;
        ExitStatus status;
        const char *hint; /* or NULL */
} BusErrorRow;

#define HINT_START                                                                  \
        N_("Is Desktrace installed for this bus? Check with \"desktrace status\". " \
           "Without a bus, record with --standalone.")
#define HINT_GONE N_("The service stopped unexpectedly. \"journalctl -u desktraced\" may show why.")

static const BusErrorRow bus_errors[] = {
        { TRACING_ERROR_PREFIX "BadConfig", STATUS_USAGE, NULL },
        { TRACING_ERROR_PREFIX "NotAuthorized",
          STATUS_NOT_AUTHORIZED,
          N_("You can record your own programs without authorisation: use the preset \"apps\".") },
        { TRACING_ERROR_PREFIX "AuthorizationNeeded",
          STATUS_NEEDS_AUTHENTICATION,
          N_("Run it where polkit can prompt you, or without --no-ask-password.") },
        { TRACING_ERROR_ROOT_IS_SILENT, STATUS_NOT_AUTHORIZED, NULL },
        { TRACING_ERROR_PREFIX "LimitExceeded", STATUS_LIMIT, NULL },
        { TRACING_ERROR_PREFIX "NoSuchSource",
          STATUS_NOT_FOUND,
          N_("\"desktrace list sources{bus}\" shows the available data sources.") },
        { TRACING_ERROR_PREFIX "NoSuchSession",
          STATUS_NOT_FOUND,
          N_("\"desktrace list sessions{bus}\" shows your sessions.") },
        { TRACING_ERROR_PREFIX "AmbiguousName",
          STATUS_NOT_FOUND,
          N_("\"desktrace list sessions{bus}\" shows your sessions.") },
        { TRACING_ERROR_PREFIX "NameInUse",
          STATUS_FAILED,
          N_("\"desktrace list sessions{bus}\" shows your sessions; --name sets another name.") },
        { TRACING_ERROR_PREFIX "Busy", STATUS_FAILED, NULL },
        { TRACING_ERROR_WRONG_STATE, STATUS_FAILED, NULL },
        { TRACING_ERROR_PREFIX "Timeout", STATUS_TIMED_OUT, NULL },
        { TRACING_ERROR_PREFIX "OutputFailed", STATUS_FAILED, NULL },
        { TRACING_ERROR_PREFIX "SourceFailed", STATUS_FAILED, NULL },
        { SD_BUS_ERROR_ACCESS_DENIED, STATUS_NOT_AUTHORIZED, NULL },
        { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, STATUS_NEEDS_AUTHENTICATION, NULL },
        { SD_BUS_ERROR_SERVICE_UNKNOWN, STATUS_NO_SERVICE, HINT_START },
        { SD_BUS_ERROR_NAME_HAS_NO_OWNER, STATUS_NO_SERVICE, HINT_START },
        { "org.freedesktop.DBus.Error.Spawn.ChildExited", STATUS_NO_SERVICE, HINT_GONE },
        { "org.freedesktop.DBus.Error.Spawn.ServiceNotFound", STATUS_NO_SERVICE, HINT_START },
        { "org.freedesktop.systemd1.NoSuchUnit", STATUS_NO_SERVICE, HINT_START },
        { "org.freedesktop.systemd1.UnitMasked",
          STATUS_NO_SERVICE,
          N_("The service is masked; \"systemctl unmask desktraced\" allows it to start again.") },
        { SD_BUS_ERROR_NO_SERVER, STATUS_NO_SERVICE, HINT_START },
        { SD_BUS_ERROR_FILE_NOT_FOUND, STATUS_NO_SERVICE, HINT_START },
        { SD_BUS_ERROR_DISCONNECTED, STATUS_NO_SERVICE, HINT_GONE },
        { SD_BUS_ERROR_NO_REPLY, STATUS_NO_SERVICE, HINT_GONE },
        { SD_BUS_ERROR_TIMEOUT, STATUS_TIMED_OUT, NULL },
        { SD_BUS_ERROR_LIMITS_EXCEEDED, STATUS_LIMIT, NULL },
        { SD_BUS_ERROR_NO_MEMORY, STATUS_LIMIT, NULL },
        { SD_BUS_ERROR_INVALID_ARGS, STATUS_USAGE, NULL },
};

static const char *const status_texts[] = {
        [STATUS_OK] = N_("success"),
        [STATUS_FAILED] = N_("failure"),
        [STATUS_USAGE] = N_("invalid option, preset, event or config"),
        [STATUS_NOT_AUTHORIZED] = N_("not authorised"),
        [STATUS_NEEDS_AUTHENTICATION] =
                N_("authentication is required, but no one could be prompted"),
        [STATUS_NOT_FOUND] = N_("no such data source, session or trigger"),
        [STATUS_DATA_LOST] = N_("recorded, but data was lost or may be missing"),
        [STATUS_LIMIT] = N_("a limit or quota was exceeded"),
        [STATUS_NO_SERVICE] = N_("the service cannot be reached"),
        [STATUS_TIMED_OUT] = N_("timed out"),
        [STATUS_PROBLEM] = N_("doctor found a problem"),
};

const char *exit_status_text(ExitStatus status) {
        return status < ARRAY_SIZE(status_texts) ? _(status_texts[status]) : NULL;
}

static const BusErrorRow *bus_error_find(const char *name) {
        for (size_t i = 0; name && i < ARRAY_SIZE(bus_errors); i++)
                if (streq(bus_errors[i].name, name))
                        return &bus_errors[i];
        return NULL;
}

ExitStatus exit_status_of_bus_error(const char *name) {
        const BusErrorRow *row = bus_error_find(name);

        return row ? row->status : STATUS_FAILED;
}

const char *exit_status_hint(const char *bus_error_name) {
        const BusErrorRow *row = bus_error_find(bus_error_name);

        return row && row->hint ? _(row->hint) : NULL;
}

/* GDBus and some services put the error's name in front of its text. */
static const char *strip_decorations(const char *message, const char *name) {
        static const char gdbus[] = "GDBus.Error:";

        if (g_str_has_prefix(message, gdbus))
                message += strlen(gdbus);
        if (name && g_str_has_prefix(message, name))
                message += strlen(name);
        while (*message == ':' || *message == ' ')
                message++;
        return message;
}

char *bus_error_sentence(const sd_bus_error *error) {
        const char *message = error->message ? strip_decorations(error->message, error->name) : "";

        if (*message) {
                g_autofree char *translated = reason_translate(message);

                return say_clean(translated, strlen(translated));
        }
        return g_strdup(error->name ? error->name : _("Unknown error"));
}
