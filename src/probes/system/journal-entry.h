/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Journal entry: one entry of the journal as a perfetto.protos.SystemdJournaldEvent, if it is wanted
 *
 * Fields that the message lacks have numbers of our own: 1900 message id, 1901 to 1903 file, line and function of the
 * source code, 1904 the system's unit if the entry's unit is a user's, 1905 invocation id, 1906 cgroup, 1907 boot id,
 * 1908 errno.
 *
 * Fields come one by one, in the journal's order ("NAME=value", with any bytes in the value), and are encoded as they
 * come. Only the end of an entry tells whether it is wanted. A program may log anything, so each field is taken once
 * and cut, and an entry has a largest size.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journald_config.pb-c.h"
#include "wire/wire-writer.h"

#define JOURNAL_TEXT_BYTES_MAX 32768 /* of a message; the rest is cut off */
#define JOURNAL_NAME_BYTES_MAX 4096  /* of any other text, such as a path */
#define JOURNAL_UNIT_BYTES     256   /* the longest name of a unit, with its end */
#define JOURNAL_FILTERS_MAX    128   /* names of one kind in a config */
#define JOURNAL_PRIORITY_INFO  6
#define JOURNAL_DELAY_US_MAX \
        UINT64_C(10000000) /* between a source's clock and the journal's; more is not believed */

typedef struct JournalFilter {
        uint32_t priority_max;
        char **identifiers, **units; /* none: all */
        size_t n_identifiers, n_units;
} JournalFilter;

typedef struct JournalEntry {
        const JournalFilter *filter;
        WireWriter *wire;
        uint32_t seen; /* by row in the table of fields */
        uint32_t priority;
        bool has_identifier, has_unit; /* what the filter wants is there */
        bool is_user_unit;
        char unit[JOURNAL_UNIT_BYTES];
        char system_unit[JOURNAL_UNIT_BYTES]; /* if `unit` is a user's */
        uint64_t
                source_us; /* when it was logged (CLOCK_REALTIME), as the kernel saw it; 0: unknown */
} JournalEntry;

/* Takes what is wanted from a config; NULL means everything. Returns 0, -E2BIG if there are too many names, or
 * -ENOMEM. */
int journal_filter_init(JournalFilter *filter,
                        const Perfetto__Protos__SystemdJournaldConfig *config);
void journal_filter_deinit(JournalFilter *filter);

void journal_entry_begin(JournalEntry *entry, const JournalFilter *filter, WireWriter *wire);
void journal_entry_add(JournalEntry *entry, const void *data, size_t n_bytes);
/* Writes the rest. Returns whether the entry is wanted. */
bool journal_entry_end(JournalEntry *entry);

/* When the entry was logged, by the clock of `monotonic_us`. Both times are the journal's own, of when it got the
 * entry. */
uint64_t
journal_entry_time_us(const JournalEntry *entry, uint64_t monotonic_us, uint64_t realtime_us);
