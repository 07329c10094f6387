/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first byte says which filter; then fields, each with its length before it. Whatever is logged, an entry is a
 * message that readers understand, with one priority, texts that are not too long, and a size that has a limit.
 */

#include "fuzz.h"
#include "probes/system/journal-entry.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

#define EVENT_BYTES_MAX (JOURNAL_TEXT_BYTES_MAX + 16 * JOURNAL_NAME_BYTES_MAX)

static uint8_t memory[EVENT_BYTES_MAX];

static void check_event(const void *data, size_t n_bytes) {
        size_t n_priorities = 0;
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0) {
                n_priorities += field.number == 5;
                FUZZ_CHECK(field.number != 5 || field.value <= 7);
                FUZZ_CHECK(field.type == WIRE_VARINT || field.type == WIRE_BYTES);
                FUZZ_CHECK(field.n_bytes <= JOURNAL_TEXT_BYTES_MAX);
        }
        FUZZ_CHECK(r == 0 && n_priorities == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static char *names[] = { (char *)"app", (char *)"demo.service" };
        static JournalFilter filters[] = {
                { .priority_max = UINT32_MAX },
                { .priority_max = 3 },
                { .priority_max = UINT32_MAX, .identifiers = names, .n_identifiers = 2 },
                { .priority_max = UINT32_MAX, .units = names, .n_units = 2 },
        };
        FuzzInput input = { data, n_bytes };
        JournalEntry entry;
        WireWriter wire;

        wire_writer_init(&wire, memory, sizeof(memory));
        journal_entry_begin(&entry, &filters[fuzz_take(&input) % ARRAY_SIZE(filters)], &wire);
        while (input.n_left > 0) {
                size_t n = fuzz_take_16(&input);
                const uint8_t *field;
                char *copy;

                n = fuzz_take_bytes(&input, n, &field);
                copy = malloc(n ?: 1); /* so that a read beyond its end is seen */
                FUZZ_CHECK(copy);
                memcpy(copy, field, n);
                journal_entry_add(&entry, copy, n);
                free(copy);
        }
        (void)journal_entry_end(&entry);
        FUZZ_CHECK(!wire_writer_failed(&wire));
        check_event(memory, wire_writer_size(&wire));
        FUZZ_CHECK(journal_entry_time_us(&entry, 5000000, 6000000) <= 5000000);
        return 0;
}
