/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of errors, and which of them each outcome of the core becomes. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "bus/link/bus-error.h"
#include "core/producer.h"
#include "shared/names.h"
#include "shared/utf8.h"

#define BUS_ERROR_TEXT_MAX 512

/* clang-format off */
static const char *const bus_error_names[_BUS_ERROR_N] = {
        [BUS_ERROR_BAD_CONFIG]           = TRACING_ERROR_PREFIX "BadConfig",
        [BUS_ERROR_NOT_AUTHORIZED]       = TRACING_ERROR_PREFIX "NotAuthorized",
        [BUS_ERROR_AUTHORIZATION_NEEDED] = TRACING_ERROR_PREFIX "AuthorizationNeeded",
        [BUS_ERROR_LIMIT_EXCEEDED]       = TRACING_ERROR_PREFIX "LimitExceeded",
        [BUS_ERROR_NO_SUCH_SOURCE]       = TRACING_ERROR_PREFIX "NoSuchSource",
        [BUS_ERROR_NO_SUCH_SESSION]      = TRACING_ERROR_PREFIX "NoSuchSession",
        [BUS_ERROR_AMBIGUOUS_NAME]       = TRACING_ERROR_PREFIX "AmbiguousName",
        [BUS_ERROR_NAME_IN_USE]          = TRACING_ERROR_PREFIX "NameInUse",
        [BUS_ERROR_WRONG_STATE]          = TRACING_ERROR_WRONG_STATE,
        [BUS_ERROR_NOT_A_PRODUCER]       = TRACING_ERROR_PREFIX "NotAProducer",
        [BUS_ERROR_SOURCE_NAME_RESERVED] = TRACING_ERROR_PREFIX "SourceNameReserved",
        [BUS_ERROR_OUTPUT_FAILED]        = TRACING_ERROR_PREFIX "OutputFailed",
        [BUS_ERROR_SOURCE_FAILED]        = TRACING_ERROR_PREFIX "SourceFailed",
        [BUS_ERROR_BUSY]                 = TRACING_ERROR_PREFIX "Busy",
        [BUS_ERROR_ROOT_IS_SILENT]       = TRACING_ERROR_ROOT_IS_SILENT,
};
/* clang-format on */

/* The error name of each outcome of a session, and the text used when the core gave none. */
/* clang-format off */
static const struct {
        BusError kind;
        const char *text;
} session_errors[] = {
        [SESSION_E_CONFIG]      = { BUS_ERROR_BAD_CONFIG, N_("the trace config is not valid") },
        [SESSION_E_LIMIT]       = { BUS_ERROR_LIMIT_EXCEEDED,
                                    N_("a limit has been reached; stop or free other sessions") },
        [SESSION_E_NAME_IN_USE] = { BUS_ERROR_NAME_IN_USE,
                                    N_("another session has this name; choose a different name or stop that "
                                       "session") },
        [SESSION_E_NO_SOURCE]   = { BUS_ERROR_NO_SUCH_SOURCE,
                                    N_("no program offers this data source; ListSources() shows what is "
                                       "available") },
        [SESSION_E_STATE]       = { BUS_ERROR_WRONG_STATE,
                                    N_("this is not possible in the session's current state; see its State property") },
        [SESSION_E_BUSY]        = { BUS_ERROR_BUSY, N_("another session prevents this; try again when it has ended") },
        [SESSION_E_DENIED]      = { BUS_ERROR_NOT_AUTHORIZED, N_("only root may ask for this") },
};
/* clang-format on */

static const struct {
        BusError kind;
        const char *text;
} producer_errors[] = {
        [PRODUCER_E_LIMIT] = { BUS_ERROR_LIMIT_EXCEEDED,
                               "this user has too many producers or data sources" },
        [PRODUCER_E_RESERVED] = { BUS_ERROR_SOURCE_NAME_RESERVED,
                                  "names under \"linux.\" and \"desktrace.\" belong to "
                                  "the system's own producers; choose another" },
        [PRODUCER_E_INVALID] = { BUS_ERROR_BAD_CONFIG,
                                 "the name must be 1 to 128 printable ASCII characters, and a "
                                 "descriptor "
                                 "a perfetto.protos.DataSourceDescriptor of the same name" },
        [PRODUCER_E_FIELD] = { BUS_ERROR_SOURCE_NAME_RESERVED,
                               "one of its packet-fields belongs to the system's own producers" },
        [PRODUCER_E_UNKNOWN] = { BUS_ERROR_NO_SUCH_SOURCE,
                                 "this producer has not registered such a data source" },
        [PRODUCER_E_LOCKDOWN] = { BUS_ERROR_NOT_AUTHORIZED,
                                  "a session has set lockdown_mode: only the system's own "
                                  "producers "
                                  "may register until another one clears it" },
};

const char *bus_error_name(BusError kind) {
        return bus_error_names[kind];
}

int bus_error_set(sd_bus_error *error, BusError kind, const char *format, ...) {
        char text[BUS_ERROR_TEXT_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        utf8_clean(text);
        return sd_bus_error_set(error, bus_error_names[kind], text);
}

int bus_error_set_session(sd_bus_error *error,
                          const char *what,
                          int outcome,
                          const SessionError *session_error) {
        const char *text;

        if (outcome <= 0)
                return sd_bus_error_set_errnof(error, outcome, "%s: %s", what, strerror(-outcome));
        if ((size_t)outcome >= ARRAY_SIZE(session_errors) || !session_errors[outcome].text)
                return sd_bus_error_set_errnof(error, ENOTRECOVERABLE, "%s", what);

        text = session_error && session_error->message[0] ? session_error->message
                                                          : session_errors[outcome].text;
        return bus_error_set(error, session_errors[outcome].kind, "%s: %s", what, text);
}

int bus_error_set_producer(sd_bus_error *error, const char *name, int outcome) {
        if (outcome <= 0)
                return sd_bus_error_set_errnof(
                        error, outcome, "cannot register \"%s\": %s", name, strerror(-outcome));
        if ((size_t)outcome >= ARRAY_SIZE(producer_errors) || !producer_errors[outcome].text)
                return sd_bus_error_set_errnof(
                        error, ENOTRECOVERABLE, "cannot register \"%s\"", name);
        return bus_error_set(error,
                             producer_errors[outcome].kind,
                             "\"%s\": %s",
                             name,
                             producer_errors[outcome].text);
}
