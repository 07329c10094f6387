/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Progress: one line on stderr that is redrawn; nothing if stderr is not a terminal */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/progress.h"
#include "client/say.h"
#include "shared/text.h"

#define ERASE_LINE "\r\033[K"

void progress_init(Progress *progress, const char *label, bool is_quiet) {
        *progress = (Progress){ .label = label, .is_on = !is_quiet && is_smart_terminal(stderr) };
}

void progress_draw(Progress *progress, uint64_t elapsed_ns, uint64_t n_bytes, uint64_t n_lost) {
        char size[TEXT_SIZE_BYTES];

        if (!progress->is_on)
                return;
        fprintf(stderr,
                ERASE_LINE "%s %.1f s, %s",
                progress->label,
                (double)elapsed_ns / 1e9,
                text_format_size(size, n_bytes));
        if (n_lost)
                fprintf(stderr,
                        _(", %s%" PRIu64 " lost%s"),
                        style(stderr, STYLE_BAD),
                        n_lost,
                        style(stderr, STYLE_NORMAL));
        fputs(_(" (Ctrl-C stops)"), stderr);
        fflush(stderr);
        progress->is_drawn = true;
}

void progress_clear(Progress *progress) {
        if (!progress->is_drawn)
                return;
        fputs(ERASE_LINE, stderr);
        fflush(stderr);
        progress->is_drawn = false;
}
