/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time options: "10s", "500ms", "1h30m", as text_parse_duration() takes them */

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/say.h"
#include "client/time-option.h"
#include "shared/macro.h"
#include "shared/text.h"

char *time_option_format(char buffer[static TIME_OPTION_BYTES], uint64_t ms) {
        static const struct {
                const char *unit;
                uint64_t ms;
        } steps[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
        size_t n = 0, first = ARRAY_SIZE(steps);

        *buffer = 0;
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                uint64_t value = ms / steps[i].ms;

                ms %= steps[i].ms;
                if (value == 0 || i > first + 2)
                        continue;
                first = MIN(first, i);
                n += (size_t)snprintf(
                        buffer + n, TIME_OPTION_BYTES - n, "%" PRIu64 "%s", value, steps[i].unit);
        }
        if (first == ARRAY_SIZE(steps))
                snprintf(buffer, TIME_OPTION_BYTES, ms ? "%" PRIu64 "ms" : "0s", ms);
        return buffer;
}

ExitStatus time_option_parse(uint32_t *ret_ms, const char *text, uint32_t min_ms, uint32_t max_ms) {
        char bound[TIME_OPTION_BYTES];
        uint64_t ns;
        int r = text_parse_duration(&ns, text);

        if (r == 0 && ns > 0 && ns / 1000000 < min_ms) {
                say_error(_("'%s' is too short: at least %s"),
                          text,
                          time_option_format(bound, min_ms));
                return STATUS_USAGE;
        }
        if (r == -EINVAL || (r == 0 && ns / 1000000 < min_ms)) {
                say_error(_("'%s' is not a duration: try 5s, 500ms or 1h30m"), text);
                return STATUS_USAGE;
        }
        if (r < 0 || ns / 1000000 > max_ms) {
                say_error(
                        _("'%s' is too long: at most %s"), text, time_option_format(bound, max_ms));
                return STATUS_USAGE;
        }
        *ret_ms = (uint32_t)(ns / 1000000);
        return STATUS_OK;
}
