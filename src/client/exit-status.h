/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Exit status: the exit codes, and how D-Bus errors map to them
 *
 * The numbers are documented in desktrace(1) and never change.
 */

#include <systemd/sd-bus.h>

typedef enum ExitStatus {
        STATUS_OK = 0,
        STATUS_FAILED = 1,
        STATUS_USAGE = 2,                /* wrong options, presets, events or configs */
        STATUS_NOT_AUTHORIZED = 3,       /* polkit or the bus denied it */
        STATUS_NEEDS_AUTHENTICATION = 4, /* polkit would have to ask, and could not */
        STATUS_NOT_FOUND = 5,            /* no such data source or session */
        STATUS_DATA_LOST = 6,            /* recorded, but the file reports losses */
        STATUS_LIMIT = 7,
        STATUS_NO_SERVICE = 8, /* not reachable */
        STATUS_TIMED_OUT = 9,
        STATUS_PROBLEM = 10, /* doctor has found a problem */
        _STATUS_N,
        /* Statuses of the command behind "--", as shells report them. */
        STATUS_CANNOT_RUN = 126,
        STATUS_COMMAND_NOT_FOUND = 127,
} ExitStatus;

/* The line of --help for a status, translated; NULL past the last one. */
const char *exit_status_text(ExitStatus status);

/* The exit status for the name of a D-Bus error; STATUS_FAILED for unknown names. */
ExitStatus exit_status_of_bus_error(const char *name);

/* What to do about an error, translated; NULL if the error's own text has to suffice. */
const char *exit_status_hint(const char *bus_error_name);

/* The error's text as a sentence for people, malloc'ed: without the bus's decorations. */
char *bus_error_sentence(const sd_bus_error *error);
