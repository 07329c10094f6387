/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor: why a program, an event or a data source is not in a recording
 *
 * First facts are gathered, each group with a deadline; then pure functions examine them and add findings to a report.
 * Nothing is started except, if something is asked for by name, the service itself.
 */

#include <glib.h>
#include <stdbool.h>

#include "client/json-writer.h"
#include "shared/macro.h"

#define DOCTOR_DEADLINE_S     10  /* of a group of facts */
#define DOCTOR_TEXT_BYTES_MAX 600 /* of a finding; names in it are untrusted */

typedef enum DoctorLevel {
        DOCTOR_OK,
        DOCTOR_NOTE,    /* worth knowing, and may be the cause */
        DOCTOR_PROBLEM, /* something cannot be recorded because of this */
} DoctorLevel;

typedef struct DoctorFinding {
        DoctorLevel level;
        const char *topic; /* untranslated, for programs, too */
        char *text;
        char *remedy; /* one line, usually a command; or NULL */
} DoctorFinding;

typedef struct DoctorReport {
        GArray *findings; /* DoctorFinding */
        unsigned n_notes, n_problems;
} DoctorReport;

void doctor_report_init(DoctorReport *report);
void doctor_report_deinit(DoctorReport *report);

/* The texts are made safe to print, and cut. `remedy` may be NULL; it is copied. */
void doctor_add(DoctorReport *report,
                DoctorLevel level,
                const char *topic,
                const char *remedy,
                const char *format,
                ...) _printf_(5, 6);

void doctor_print_text(const DoctorReport *report, bool is_quiet);
void doctor_print_json(const DoctorReport *report, JsonMode mode);

/* Calls gather(argument) on a thread, because a file system, a bus or a process may never answer. Returns its
 * result, or NULL if it is late; in that case the thread keeps the argument for ever. */
void *doctor_within(unsigned seconds, void *(*gather)(void *argument), void *argument);
