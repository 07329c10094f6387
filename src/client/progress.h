/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Progress: one line on stderr that is redrawn; nothing if stderr is not a terminal
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress {
        const char *label; /* translated: the current activity */
        bool is_on;
        bool is_drawn;
} Progress;

void progress_init(Progress *progress, const char *label, bool is_quiet);
void progress_draw(Progress *progress, uint64_t elapsed_ns, uint64_t n_bytes, uint64_t n_lost);
void progress_clear(Progress *progress);
