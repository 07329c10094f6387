/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Errors of the D-Bus interface
 *
 * The names are documented in data/dbus/org.desktrace.Tracing1.xml. Every text says what was asked, what was
 * wrong, and what to do.
 */

#include <systemd/sd-bus.h>

#include "core/session.h"
#include "shared/macro.h"

typedef enum BusError {
        BUS_ERROR_BAD_CONFIG,
        BUS_ERROR_NOT_AUTHORIZED,
        BUS_ERROR_AUTHORIZATION_NEEDED,
        BUS_ERROR_LIMIT_EXCEEDED,
        BUS_ERROR_NO_SUCH_SOURCE,
        BUS_ERROR_NO_SUCH_SESSION,
        BUS_ERROR_AMBIGUOUS_NAME,
        BUS_ERROR_NAME_IN_USE,
        BUS_ERROR_WRONG_STATE,
        BUS_ERROR_NOT_A_PRODUCER,
        BUS_ERROR_SOURCE_NAME_RESERVED,
        BUS_ERROR_OUTPUT_FAILED,
        BUS_ERROR_SOURCE_FAILED,
        BUS_ERROR_BUSY,
        BUS_ERROR_ROOT_IS_SILENT,
        _BUS_ERROR_N,
} BusError;

const char *bus_error_name(BusError kind);

/* Fills *error and returns a negative errno, for a handler to return. */
int bus_error_set(sd_bus_error *error, BusError kind, const char *format, ...) _printf_(3, 4);

/* A session's outcome (SESSION_E_…) or errno. `what` is what was asked: "cannot start the session". */
int bus_error_set_session(sd_bus_error *error,
                          const char *what,
                          int outcome,
                          const SessionError *session_error);

/* An outcome of registering (PRODUCER_E_…) or errno; `name` is the producer's or data source's. */
int bus_error_set_producer(sd_bus_error *error, const char *name, int outcome);
