/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings: what a recording wants to know about a program's heap */

#include <string.h>

#include "heap/profile.h"
#include "heap/settings.h"
#include "wire/wire-reader.h"

#define DUMP_INTERVAL_MIN_MS 10u /* a dump takes about a millisecond */

enum { CONFIG_HEAPPROFD = 105 };

/* perfetto.protos.HeapprofdConfig */
enum {
        HEAPPROFD_INTERVAL = 1,
        HEAPPROFD_CMDLINE = 2,
        HEAPPROFD_PID = 4,
        HEAPPROFD_ALL = 5,
        HEAPPROFD_CONTINUOUS = 6,
        HEAPPROFD_NO_STARTUP = 10,
        HEAPPROFD_NO_RUNNING = 11,
        HEAPPROFD_AT_MAX = 13,
        HEAPPROFD_HEAPS = 20,
        HEAPPROFD_ALL_HEAPS = 21,
        HEAPPROFD_HEAP_INTERVALS = 22,
        HEAPPROFD_STREAM = 23,
        HEAPPROFD_EXCLUDED = 27,
};
enum { CONTINUOUS_PHASE = 5, CONTINUOUS_INTERVAL = 6 };

/* The state of the reading. */
typedef struct Reading {
        HeapSettings *settings;
        const HeapProcess *process;
        bool names_processes;
        unsigned n_heaps, n_intervals;
        int heap_at; /* where this heap is in the list of heaps, or -1 */
} Reading;

bool heap_settings_match(const char *name, const char *pattern, size_t n_pattern) {
        const char *star = memchr(pattern, '*', n_pattern);
        const char *slash = strrchr(name, '/');
        size_t n_name, n_front, n_back;

        if (slash && (n_pattern == 0 || pattern[0] != '/'))
                name = slash + 1;
        n_name = strlen(name);
        if (!star)
                return n_name == n_pattern && memcmp(name, pattern, n_pattern) == 0;
        n_front = (size_t)(star - pattern);
        n_back = n_pattern - n_front - 1;
        return n_name >= n_front + n_back && memcmp(name, pattern, n_front) == 0 &&
               memcmp(name + n_name - n_back, star + 1, n_back) == 0;
}

static bool is_this_heap(const WireField *field) {
        return field->type == WIRE_BYTES && field->n_bytes == strlen(SETTINGS_HEAP_NAME) &&
               memcmp(field->data, SETTINGS_HEAP_NAME, field->n_bytes) == 0;
}

static int read_continuous(HeapSettings *settings, const WireField *message) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, message);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == CONTINUOUS_PHASE)
                        settings->dump_phase_ms = (uint32_t)field.value;
                if (field.number == CONTINUOUS_INTERVAL)
                        settings->dump_interval_ms = (uint32_t)field.value;
        }
        if (settings->dump_interval_ms > 0)
                settings->dump_interval_ms = MAX(settings->dump_interval_ms, DUMP_INTERVAL_MIN_MS);
        return r;
}

/* No heap can have a name that is too long, so such a name is left out. So is one name too many. */
static void add_name(HeapNames *names, const WireField *field) {
        if (field->type != WIRE_BYTES || field->n_bytes > PROFILE_HEAP_NAME_MAX ||
            names->n_names == SETTINGS_HEAPS_MAX)
                return;
        memcpy(names->names[names->n_names++], field->data, field->n_bytes);
}

static bool has_name(const HeapNames *names, const char *name) {
        for (unsigned i = 0; i < names->n_names; i++)
                if (streq(names->names[i], name))
                        return true;
        return false;
}

bool heap_settings_want(const HeapSettings *settings, const char *heap) {
        if (has_name(&settings->excluded_heaps, heap))
                return false;
        if (settings->wants_all_heaps || has_name(&settings->heaps, heap))
                return true;
        return settings->heaps.n_names == 0 && streq(heap, SETTINGS_HEAP_NAME);
}

static void take_heap(Reading *reading, const WireField *field) {
        add_name(&reading->settings->heaps, field);
        if (is_this_heap(field))
                reading->heap_at = (int)reading->n_heaps;
        reading->n_heaps++;
}

/* One interval for each heap in the list, in the same order. */
static void take_heap_interval(Reading *reading, uint64_t interval) {
        if (reading->heap_at >= 0 && (unsigned)reading->heap_at == reading->n_intervals)
                reading->settings->interval = interval;
        reading->n_intervals++;
}

static void take_process(Reading *reading, const WireField *field) {
        HeapSettings *settings = reading->settings;

        reading->names_processes = true;
        if (field->number == HEAPPROFD_ALL)
                settings->is_meant |= field->value != 0;
        else if (field->number == HEAPPROFD_PID)
                settings->is_meant |= (int64_t)field->value == reading->process->pid;
        else if (field->type == WIRE_BYTES)
                settings->is_meant |= heap_settings_match(
                        reading->process->name, (const char *)field->data, field->n_bytes);
}

static int take_field(Reading *reading, const WireField *field) {
        HeapSettings *settings = reading->settings;

        switch (field->number) {
        case HEAPPROFD_INTERVAL:
                settings->interval = field->value;
                break;
        case HEAPPROFD_CMDLINE:
        case HEAPPROFD_PID:
        case HEAPPROFD_ALL:
                take_process(reading, field);
                break;
        case HEAPPROFD_CONTINUOUS:
                return field->type == WIRE_BYTES ? read_continuous(settings, field) : -1;
        case HEAPPROFD_NO_STARTUP:
                settings->no_startup = field->value != 0;
                break;
        case HEAPPROFD_NO_RUNNING:
                settings->no_running = field->value != 0;
                break;
        case HEAPPROFD_AT_MAX:
                settings->at_peak = field->value != 0;
                break;
        case HEAPPROFD_HEAPS:
                take_heap(reading, field);
                break;
        case HEAPPROFD_ALL_HEAPS:
                settings->wants_all_heaps = field->value != 0;
                break;
        case HEAPPROFD_HEAP_INTERVALS:
                take_heap_interval(reading, field->value);
                break;
        case HEAPPROFD_STREAM:
                settings->wants_stream = field->value != 0;
                break;
        case HEAPPROFD_EXCLUDED:
                add_name(&settings->excluded_heaps, field);
                break;
        default:
                break;
        }
        return 0;
}

static int read_heapprofd(Reading *reading, const WireField *message) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, message);
        while ((r = wire_read(&reader, &field)) > 0)
                if (take_field(reading, &field) < 0)
                        return -1;
        return r;
}

static int read_config(Reading *reading, const void *config, size_t n_config) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, config, n_config);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == CONFIG_HEAPPROFD && field.type == WIRE_BYTES &&
                    read_heapprofd(reading, &field) < 0)
                        return -1;
        return r;
}

int heap_settings_parse(HeapSettings *ret,
                        const void *config,
                        size_t n_config,
                        const HeapProcess *process,
                        bool is_for_all) {
        Reading reading = { .settings = ret, .process = process, .heap_at = -1 };

        *ret = (HeapSettings){ .interval = PROFILE_INTERVAL_DEFAULT };
        if (read_config(&reading, config, n_config) < 0)
                return SETTINGS_E_BAD;
        if (!reading.names_processes)
                ret->is_meant = is_for_all;
        if (ret->interval == 0 || ret->interval > PROFILE_INTERVAL_MAX)
                return SETTINGS_E_INTERVAL;
        return 0;
}
