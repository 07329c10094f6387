/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track names: the names and ranks that the program has set for itself and its threads
 *
 * Any thread sets them, and any thread that describes the program reads them: a lock of their own, held only for
 * copying texts, guards them.
 */

#include "lib/track.h"

/* Into the body of a ProcessDescriptor. */
void track_names_put(WireWriter *packet);

int32_t track_process_rank(void); /* 0: none */

/* As <desktrace/track-event.h> says; process-names.c then describes the program again. */
void track_names_set(const char *text);
void track_names_set_labels(const char *const *texts, size_t n_texts);
void track_names_set_rank(int32_t rank);
