/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Name check: whether the names on the command line are offered by any producer
 *
 * It runs before the session starts, and before a password is asked for: a slip would record nothing, and nobody would
 * notice. The set of kernel events is fixed. Data sources and categories come with programs, so one that no program
 * offers now may still appear if the recording is long, or starts a program of its own. Kernel events of a config are
 * only noted: it may be meant for several kernels.
 */

#include "client/record-request.h"

/* In a recording this short, only programs that run when it starts are expected. */
#define NAME_CHECK_SHORT_MS (10u * 1000)

typedef enum NameCheckWait {
        NAME_CHECK_NOW,   /* nothing else will come */
        NAME_CHECK_LATER, /* programs may start while it records: missing names are noted */
        NAME_CHECK_OURS,  /* the client starts the program itself: nothing needs to exist yet */
} NameCheckWait;

/* Reports missing names and what was probably meant: STATUS_USAGE, STATUS_NOT_FOUND. */
ExitStatus name_check(const BusClient *client,
                      const RecordRequest *request,
                      NameCheckWait wait,
                      bool is_quiet);
