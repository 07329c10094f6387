/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace pair: the page of two sides of a command line, A… and B…
 *
 * The first recording of each is shown, side by side; the differences are computed from all of them, as by
 * "desktrace diff".
 */

#include "client/exit-status.h"
#include "shared/bytes.h"

/* Reports errors. Returns STATUS_DATA_LOST, with a page, if one of the two that are shown is not complete. */
ExitStatus trace_pair_make(Bytes *ret, char *const *a, char *const *b);

/* A path beside the first recording: "A-B.html"; malloc'ed. */
char *trace_pair_path(const char *a, const char *b);
