/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Name check: whether somebody offers what the command line asks for by name
 *
 * Before the session starts, and before anybody is asked for a password: a slip would record nothing, and nobody would
 * notice. The kernel's events are what they are. Data sources and categories come with programs, so one that nobody has
 * may still come if the recording is long, or starts a program of its own.
 */

#include "client/record-request.h"

/* A recording that is to be no longer than this is of what runs when it starts. */
#define NAME_CHECK_SHORT_MS (10u * 1000)

typedef enum NameCheckWait {
        NAME_CHECK_NOW,   /* nothing else will come */
        NAME_CHECK_LATER, /* programs may start while it records: what is not there yet is told */
        NAME_CHECK_OURS,  /* we start the program ourselves: nothing needs to be there */
} NameCheckWait;

/* Says what is not there and what was perhaps meant: STATUS_USAGE, STATUS_NOT_FOUND. */
ExitStatus name_check(const BusClient *client,
                      const RecordRequest *request,
                      NameCheckWait wait,
                      bool is_quiet);
