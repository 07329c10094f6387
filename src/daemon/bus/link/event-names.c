/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One string holds all names, a line each: lists of tens of thousands of events are stored, compared and sent as a
 * whole.
 */

#include <errno.h>
#include <string.h>

#include "bus/link/event-names.h"

void event_names_deinit(EventNames *names) {
        bytes_deinit(&names->text);
}

static bool name_is_valid(const char *name, size_t n) {
        const char *slash = memchr(name, '/', n);

        if (n > EVENT_NAME_MAX || !slash || slash == name || slash + 1 == name + n)
                return false;
        for (size_t i = 0; i < n; i++)
                if (name[i] <= ' ' || name[i] > '~')
                        return false;
        return true;
}

static int text_add(Bytes *text, const char *name, size_t n) {
        int r;

        if (!name_is_valid(name, n) || text->n + n + 1 > EVENT_NAMES_BYTES_MAX)
                return 0;
        r = bytes_append(text, name, n);
        return r < 0 ? r : bytes_append(text, "\n", 1);
}

static void replace(EventNames *names, Bytes *text) {
        if (names->text.n == text->n &&
            (text->n == 0 || memcmp(names->text.data, text->data, text->n) == 0))
                return;
        bytes_deinit(&names->text);
        names->text = *text;
        *text = (Bytes){};
        names->has_changed = true;
}

int event_names_set(EventNames *names, const char *const *list) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r = 0;

        for (; r >= 0 && *list; list++)
                r = text_add(&text, *list, strlen(*list));
        if (r >= 0)
                replace(names, &text);
        return r < 0 ? r : 0;
}

int event_names_set_text(EventNames *names, const char *text) {
        _cleanup_(bytes_deinit) Bytes copy = {};
        int r = 0;

        while (r >= 0 && *text) {
                const size_t n = strcspn(text, "\n");

                r = text_add(&copy, text, n);
                text += n + (text[n] == '\n');
        }
        if (r >= 0)
                replace(names, &copy);
        return r < 0 ? r : 0;
}

int event_names_append(const EventNames *names, sd_bus_message *reply) {
        const char *at = (const char *)names->text.data;
        const char *end = at ? at + names->text.n : NULL;
        char name[EVENT_NAME_MAX + 1];
        int r;

        r = sd_bus_message_open_container(reply, 'a', "s");
        while (r >= 0 && at < end) {
                const size_t n = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);

                memcpy(name, at, n);
                name[n] = 0;
                r = sd_bus_message_append(reply, "s", name);
                at += n + 1;
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
