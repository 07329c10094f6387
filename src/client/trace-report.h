/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace report: the result of a recording
 *
 * Reads the finished file and reports what is in it and what is missing: on stderr for people, on stdout as JSON, and
 * as the exit status. For outputs that cannot be read again, such as a pipe, the service's own counts have to suffice.
 */

#include "client/invocation.h"
#include "client/output-file.h"
#include "client/session-info.h"

typedef struct TraceReport {
        const Invocation *invocation;
        const OutputFile *output; /* kept already */
        const SessionInfo *info;  /* at the end, or NULL */
        const GPtrArray *silent;  /* of SilentSource, or NULL */
        bool is_of_preset; /* nobody asked for exactly these data sources, so one that cannot record is no failure */
        bool is_by_name; /* all data sources were asked for by name: when none came, that is a failure */
        /* Of a snapshot: */
        uint64_t taken_ns;   /* when it was taken, by the boot clock; 0: it is no snapshot */
        bool is_one_of_many; /* the user was already told how to look at one */
        uint64_t before_ns;  /* how far back it should reach; 0: not set */
} TraceReport;

/* The session produced no data at all, not even packets of the service. Returns STATUS_FAILED. */
ExitStatus trace_report_nothing(void);

/* The session could not record anything: reports why. Never returns STATUS_OK. */
ExitStatus trace_report_in_vain(const TraceReport *report);

ExitStatus trace_report(const TraceReport *report);
