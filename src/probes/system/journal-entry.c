/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Turns an entry of the journal into a packet. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "probes/system/journal-entry.h"
#include "shared/macro.h"

enum {
        EVENT_PRIORITY = 5,
        EVENT_UNIT = 10,
        EVENT_SYSTEM_UNIT = 1904, /* for a process in a user's unit: which user's manager that is */
};

typedef enum FieldKind {
        FIELD_NUMBER,
        FIELD_NAME,
        FIELD_TEXT,
        FIELD_IDENTIFIER,
        FIELD_PRIORITY,
        FIELD_UNIT,      /* the unit of the process that logged the entry */
        FIELD_USER_UNIT, /* likewise, within the user's manager, which is only one unit of the system */
        FIELD_ABOUT_UNIT, /* the unit that the entry is about; anybody can write this */
        FIELD_SOURCE_TIME,
} FieldKind;

/* Numbers from 1900 on are ours, and other readers skip them. Fields with an underscore are the journal's own word,
 * which nobody can log. */
static const struct {
        const char *name;
        FieldKind kind;
        uint32_t number;
} fields[] = {
        { "_PID", FIELD_NUMBER, 1 },
        { "_TID", FIELD_NUMBER, 2 },
        { "_UID", FIELD_NUMBER, 3 },
        { "_GID", FIELD_NUMBER, 4 },
        { "PRIORITY", FIELD_PRIORITY, EVENT_PRIORITY },
        { "SYSLOG_IDENTIFIER", FIELD_IDENTIFIER, 6 },
        { "MESSAGE", FIELD_TEXT, 7 },
        { "_COMM", FIELD_NAME, 8 },
        { "_EXE", FIELD_NAME, 9 },
        { "_SYSTEMD_UNIT", FIELD_UNIT, EVENT_UNIT },
        { "_SYSTEMD_USER_UNIT", FIELD_USER_UNIT, EVENT_UNIT },
        { "_HOSTNAME", FIELD_NAME, 11 },
        { "_TRANSPORT", FIELD_NAME, 12 },
        { "MESSAGE_ID", FIELD_NAME, 1900 },
        { "CODE_FILE", FIELD_NAME, 1901 },
        { "CODE_LINE", FIELD_NUMBER, 1902 },
        { "CODE_FUNC", FIELD_NAME, 1903 },
        { "_SYSTEMD_INVOCATION_ID", FIELD_NAME, 1905 },
        { "_SYSTEMD_CGROUP", FIELD_NAME, 1906 },
        { "_BOOT_ID", FIELD_NAME, 1907 },
        { "ERRNO", FIELD_NUMBER, 1908 },
        { "UNIT", FIELD_ABOUT_UNIT, 0 },
        { "USER_UNIT", FIELD_ABOUT_UNIT, 0 },
        { "COREDUMP_UNIT", FIELD_ABOUT_UNIT, 0 },
        { "COREDUMP_USER_UNIT", FIELD_ABOUT_UNIT, 0 },
        { "OBJECT_SYSTEMD_UNIT", FIELD_ABOUT_UNIT, 0 },
        { "_SOURCE_REALTIME_TIMESTAMP", FIELD_SOURCE_TIME, 0 },
};

static_assert(ARRAY_SIZE(fields) <= 32, "JournalEntry.seen has a bit for each");

static int copy_names(char ***ret, size_t *ret_n, char **names, size_t n_names) {
        if (n_names > JOURNAL_FILTERS_MAX)
                return -E2BIG;
        *ret = calloc(n_names ?: 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        for (; *ret_n < n_names; (*ret_n)++) {
                (*ret)[*ret_n] = strdup(names[*ret_n]);
                if (!(*ret)[*ret_n])
                        return -ENOMEM;
        }
        return 0;
}

int journal_filter_init(JournalFilter *filter,
                        const Perfetto__Protos__SystemdJournaldConfig *config) {
        int r;

        *filter = (JournalFilter){ .priority_max = UINT32_MAX };
        if (!config)
                return 0;
        if (config->min_prio > 0)
                filter->priority_max = config->min_prio;
        r = copy_names(&filter->identifiers,
                       &filter->n_identifiers,
                       config->filter_identifiers,
                       config->n_filter_identifiers);
        if (r == 0)
                r = copy_names(&filter->units,
                               &filter->n_units,
                               config->filter_units,
                               config->n_filter_units);
        if (r < 0)
                journal_filter_deinit(filter);
        return r;
}

static void free_names(char **names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++)
                free(names[i]);
        free(names);
}

void journal_filter_deinit(JournalFilter *filter) {
        free_names(filter->identifiers, filter->n_identifiers);
        free_names(filter->units, filter->n_units);
        *filter = (JournalFilter){};
}

/* The text is `name`, perhaps followed by `suffix`. */
static bool text_is(const char *text, size_t n_text, const char *name, const char *suffix) {
        size_t n_name = strlen(name);

        if (n_text < n_name || memcmp(text, name, n_name) != 0)
                return false;
        return n_text == n_name || (n_text - n_name == strlen(suffix) &&
                                    memcmp(text + n_name, suffix, n_text - n_name) == 0);
}

static bool names_have(char *const *names,
                       size_t n_names,
                       const char *text,
                       size_t n_text,
                       const char *suffix) {
        for (size_t i = 0; i < n_names; i++)
                if (text_is(text, n_text, names[i], suffix))
                        return true;
        return false;
}

/* Digits only. A number that is longer than any such number can be ends early and is not believed. */
static bool parse_number(uint64_t *ret, const char *text, size_t n_text) {
        *ret = 0;
        for (size_t i = 0; i < n_text; i++) {
                if (text[i] < '0' || text[i] > '9' || i >= 18)
                        return false;
                *ret = *ret * 10 + (uint64_t)(text[i] - '0');
        }
        return n_text > 0;
}

/* Cuts between characters, not within the bytes of one (UTF-8). */
static size_t cut(const char *text, size_t n_text, size_t n_max) {
        if (n_text <= n_max)
                return n_text;
        for (size_t back = 0; back < 3 && n_max > 0; back++, n_max--)
                if (((uint8_t)text[n_max] & 0xc0) != 0x80)
                        break;
        return n_max;
}

static void copy_unit(char ret[static JOURNAL_UNIT_BYTES], const char *text, size_t n_text) {
        size_t n = MIN(n_text, (size_t)JOURNAL_UNIT_BYTES - 1);

        memcpy(ret, text, n);
        ret[n] = '\0';
}

static void add_unit(JournalEntry *entry, const char *text, size_t n_text, bool is_user_unit) {
        if (is_user_unit && entry->unit[0])
                memcpy(entry->system_unit, entry->unit, sizeof(entry->unit));
        copy_unit(!is_user_unit && entry->is_user_unit ? entry->system_unit : entry->unit,
                  text,
                  n_text);
        entry->is_user_unit |= is_user_unit;
}

static void add_number(JournalEntry *entry, size_t row, const char *text, size_t n_text) {
        uint64_t value;

        if (!parse_number(&value, text, n_text))
                return;
        if (fields[row].kind == FIELD_SOURCE_TIME)
                entry->source_us = value;
        else if (fields[row].kind == FIELD_PRIORITY)
                entry->priority = value < 8 ? (uint32_t)value : entry->priority;
        else if (value <= UINT32_MAX)
                wire_put_uint(entry->wire, fields[row].number, value);
}

static void add_text(JournalEntry *entry, size_t row, const char *text, size_t n_text) {
        size_t n_max =
                fields[row].kind == FIELD_TEXT ? JOURNAL_TEXT_BYTES_MAX : JOURNAL_NAME_BYTES_MAX;

        wire_put_bytes(entry->wire, fields[row].number, text, cut(text, n_text, n_max));
}

static void add_value(JournalEntry *entry, size_t row, const char *text, size_t n_text) {
        const JournalFilter *filter = entry->filter;

        switch (fields[row].kind) {
        case FIELD_IDENTIFIER:
                entry->has_identifier |=
                        names_have(filter->identifiers, filter->n_identifiers, text, n_text, "");
                add_text(entry, row, text, n_text);
                break;
        case FIELD_NAME:
        case FIELD_TEXT:
                add_text(entry, row, text, n_text);
                break;
        case FIELD_UNIT:
        case FIELD_USER_UNIT:
                add_unit(entry, text, n_text, fields[row].kind == FIELD_USER_UNIT);
                __attribute__((__fallthrough__));
        case FIELD_ABOUT_UNIT:
                entry->has_unit |=
                        names_have(filter->units, filter->n_units, text, n_text, ".service");
                break;
        default:
                add_number(entry, row, text, n_text);
        }
}

void journal_entry_begin(JournalEntry *entry, const JournalFilter *filter, WireWriter *wire) {
        *entry = (JournalEntry){
                .filter = filter,
                .wire = wire,
                .priority = JOURNAL_PRIORITY_INFO,
                .has_identifier = filter->n_identifiers == 0,
                .has_unit = filter->n_units == 0,
        };
}

void journal_entry_add(JournalEntry *entry, const void *data, size_t n_bytes) {
        const char *text = data, *equals = memchr(text, '=', MIN(n_bytes, (size_t)64));
        size_t n_name;

        if (!equals)
                return;
        n_name = (size_t)(equals - text);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (strlen(fields[i].name) == n_name && memcmp(fields[i].name, text, n_name) == 0) {
                        if (!(entry->seen & 1u << i))
                                add_value(entry, i, equals + 1, n_bytes - n_name - 1);
                        entry->seen |= 1u << i;
                        return;
                }
}

bool journal_entry_end(JournalEntry *entry) {
        /* Always present: readers would take an entry without a priority for an emergency. */
        wire_put_uint(entry->wire, EVENT_PRIORITY, entry->priority);
        if (entry->unit[0])
                wire_put_string(entry->wire, EVENT_UNIT, entry->unit);
        if (entry->system_unit[0])
                wire_put_string(entry->wire, EVENT_SYSTEM_UNIT, entry->system_unit);
        return entry->has_identifier && entry->has_unit &&
               entry->priority <= entry->filter->priority_max;
}

uint64_t
journal_entry_time_us(const JournalEntry *entry, uint64_t monotonic_us, uint64_t realtime_us) {
        uint64_t delay_us = realtime_us - entry->source_us;

        if (entry->source_us == 0 || entry->source_us > realtime_us ||
            delay_us > JOURNAL_DELAY_US_MAX || delay_us > monotonic_us)
                return monotonic_us;
        return monotonic_us - delay_us;
}
