/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probe definitions: parts of a config that let the caller choose where the kernel stops, or which memory it reads */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/probe-definitions.h"

typedef Perfetto__Protos__FtraceConfig FtraceConfig;
typedef Perfetto__Protos__FtraceConfig__KprobeEvent KprobeEvent;
typedef Perfetto__Protos__FtraceConfig__UprobeEvent UprobeEvent;
typedef Perfetto__Protos__FtraceConfig__EventFilter EventFilter;

#define FILTER_DEREFERENCE ".ustring"
#define NUMBER_BYTES       sizeof("0x0123456789abcdef")

/* The kernel's keyword anywhere in the filter; a match inside a compared string does no harm. */
static bool filter_is_definition(const EventFilter *filter) {
        return filter->filter && strstr(filter->filter, FILTER_DEREFERENCE);
}

static int append_text(Bytes *bytes, const char *text) {
        return bytes_append(bytes, text, strlen(text));
}

/* Writes one word: blanks, line ends, unprintable characters and backslashes are escaped. */
static int append_word(Bytes *bytes, const char *word) {
        int r = 0;

        for (; r >= 0 && word && *word; word++) {
                char escaped[sizeof("\\x00")];

                if (isascii((unsigned char)*word) && isgraph((unsigned char)*word) &&
                    *word != '\\') {
                        r = bytes_append(bytes, word, 1);
                        continue;
                }
                snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned char)*word);
                r = append_text(bytes, escaped);
        }
        return r;
}

/* An unknown number means a probe at the function's entry. The probes take it so, too. */
static const char *type_text(unsigned type) {
        switch (type) {
        case PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_KRETPROBE:
                return "return ";
        case PERFETTO__PROTOS__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_BOTH:
                return "entry+return ";
        default:
                return "entry ";
        }
}

/* Follows a word with which no place begins. */
static int append_arguments(Bytes *bytes, char *const *arguments, size_t n) {
        int r = n > 0 ? append_text(bytes, " with") : 0;

        for (size_t i = 0; r >= 0 && i < n; i++) {
                r = append_text(bytes, " ");
                if (r >= 0)
                        r = append_word(bytes, arguments[i]);
        }
        return r < 0 ? r : append_text(bytes, "\n");
}

static int append_kprobe(Bytes *bytes, const KprobeEvent *event) {
        int r;

        r = append_text(bytes, "kprobe ");
        if (r >= 0)
                r = append_text(bytes, type_text(event->type));
        if (r >= 0)
                r = append_word(bytes, event->probe);
        return r < 0 ? r : append_arguments(bytes, event->args, event->n_args);
}

static int append_keyed(Bytes *bytes, const char *key, const char *value) {
        int r;

        if (!value)
                return 0;
        r = append_text(bytes, key);
        return r < 0 ? r : append_word(bytes, value);
}

/* A config with more than one place is refused, but elsewhere: all places are listed here. */
static int append_place(Bytes *bytes, const UprobeEvent *event) {
        char number[NUMBER_BYTES];
        int r;

        snprintf(number, sizeof(number), "0x%" PRIx64, event->offset);
        r = append_keyed(bytes, " usdt=", event->usdt);
        if (r >= 0)
                r = append_keyed(bytes, " symbol=", event->symbol);
        if (r < 0 || (!event->has_offset && (event->usdt || event->symbol)))
                return r;
        return append_keyed(bytes, " offset=", number);
}

static int append_uprobe(Bytes *bytes, const UprobeEvent *event) {
        int r;

        r = append_text(bytes, "uprobe ");
        if (r >= 0)
                r = append_text(bytes, type_text(event->type));
        if (r >= 0)
                r = append_word(bytes, event->path);
        if (r >= 0)
                r = append_place(bytes, event);
        return r < 0 ? r : append_arguments(bytes, event->args, event->n_args);
}

static int append_filter(Bytes *bytes, const EventFilter *filter) {
        int r;

        r = append_text(bytes, "filter ");
        if (r >= 0)
                r = append_word(bytes, filter->event);
        if (r >= 0)
                r = append_text(bytes, " ");
        if (r >= 0)
                r = append_word(bytes, filter->filter);
        return r < 0 ? r : append_text(bytes, "\n");
}

size_t probe_definitions_count(const FtraceConfig *config) {
        size_t n;

        if (!config)
                return 0;
        n = config->n_kprobe_events + config->n_uprobe_events;
        for (size_t i = 0; i < config->n_event_filters; i++)
                n += filter_is_definition(config->event_filters[i]);
        return n;
}

int probe_definitions_append(Bytes *bytes, const FtraceConfig *config) {
        int r = 0;

        if (!config)
                return 0;
        for (size_t i = 0; r >= 0 && i < config->n_kprobe_events; i++)
                r = append_kprobe(bytes, config->kprobe_events[i]);
        for (size_t i = 0; r >= 0 && i < config->n_uprobe_events; i++)
                r = append_uprobe(bytes, config->uprobe_events[i]);
        for (size_t i = 0; r >= 0 && i < config->n_event_filters; i++)
                if (filter_is_definition(config->event_filters[i]))
                        r = append_filter(bytes, config->event_filters[i]);
        return r < 0 ? r : 0;
}

/* The source's name does not matter: all sources of the probes read the same config. */
static const FtraceConfig *config_ftrace(const Config *config, size_t i) {
        const Perfetto__Protos__DataSourceConfig *source = config->pb->data_sources[i]->config;

        return source ? source->ftrace_config : NULL;
}

bool config_defines_probes(const Config *config) {
        for (size_t i = 0; i < config->pb->n_data_sources; i++)
                if (probe_definitions_count(config_ftrace(config, i)) > 0)
                        return true;
        return false;
}

int config_append_probe_definitions(Bytes *bytes, const Config *config) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < config->pb->n_data_sources; i++)
                r = probe_definitions_append(bytes, config_ftrace(config, i));
        return r;
}
