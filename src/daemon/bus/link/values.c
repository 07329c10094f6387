/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Values: steps over values of a message that nobody reads, in time that is bounded */

#include <errno.h>
#include <string.h>

#include "bus/link/values.h"
#include "gate/gate.h"
#include "shared/macro.h"

#define VALUE_BYTES 8 /* of a number, and of what a text has besides */

static int step_over_basic(sd_bus_message *message, char type) {
        const char *text;
        int r;

        if (!strchr("sog", type))
                r = sd_bus_message_skip(message, (char[]){ type, '\0' });
        else
                r = sd_bus_message_read_basic(message, type, &text);
        if (r < 0)
                return r;
        return strchr("sog", type)
                       ? (int)MIN(strlen(text) + VALUE_BYTES, (size_t)GATE_MESSAGE_BYTES_MAX)
                       : VALUE_BYTES;
}

/* They are there in one piece. */
static int step_over_numbers(sd_bus_message *message, char type) {
        const void *data;
        size_t n;
        int r;

        r = sd_bus_message_read_array(message, type, &data, &n);
        return r < 0 ? r : (int)MIN(n + VALUE_BYTES, (size_t)GATE_MESSAGE_BYTES_MAX);
}

int value_step(sd_bus_message *message, char type, const char *contents) {
        if (type == 'a' && contents[0] && strchr("ynqiuxtd", contents[0]))
                return step_over_numbers(message, contents[0]);
        if (!strchr("aver", type))
                return step_over_basic(message, type);
        return sd_bus_message_enter_container(message, type, contents);
}

int values_pass(sd_bus_message *message, size_t n_values, size_t *n_left) {
        unsigned depth = 0;

        while (depth > 0 || n_values > 0) {
                const char *contents;
                char type;
                int r;

                r = sd_bus_message_peek_type(message, &type, &contents);
                if (r == 0 && depth == 0)
                        return -ENXIO;
                if (r == 0) {
                        depth--;
                        r = sd_bus_message_exit_container(message);
                } else if (r > 0) {
                        if (*n_left == 0)
                                return VALUES_E_TOO_MANY;
                        --*n_left;
                        n_values -= depth == 0;
                        r = value_step(message, type, contents);
                        depth += r == VALUE_ENTERED;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}
