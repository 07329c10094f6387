/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib/gi18n.h>

#include "client/say.h"
#include "client/time-option.h"
#include "shared/text.h"

ExitStatus time_option_parse(uint32_t *ret_ms, const char *text, uint32_t min_ms, uint32_t max_ms) {
        char bound[TEXT_SIZE_BYTES];
        uint64_t ns;
        int r = text_parse_duration(&ns, text);

        if (r == -EINVAL || (r == 0 && ns / 1000000 < min_ms)) {
                say_error(_("'%s' is no duration: try 5s, 500ms or 1h30m"), text);
                return STATUS_USAGE;
        }
        if (r < 0 || ns / 1000000 > max_ms) {
                say_error(_("'%s' is too long: at most %s"),
                          text,
                          text_format_duration(bound, (uint64_t)max_ms * 1000000));
                return STATUS_USAGE;
        }
        *ret_ms = (uint32_t)(ns / 1000000);
        return STATUS_OK;
}
