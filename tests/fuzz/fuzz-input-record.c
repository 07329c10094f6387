/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A page of the ring with records of input events: texts end within their arrays, and of reads and reports in the order
 * of their time nobody waits for less than nothing.
 */

#include "fuzz.h"
#include "probes/input/input-record.h"

/* As in tests/fixtures/input. */
static const InputLayout layout = {
        .ids = { [INPUT_EVENT_REPORT] = 1533, [INPUT_EVENT_READ] = 1534 },
        .handler = { .kind = FIELD_LOC_STRING, .offset = 16, .size = 4 },
        .device = { .kind = FIELD_LOC_STRING, .offset = 20, .size = 4 },
        .count = { .kind = FIELD_UNSIGNED, .offset = 24, .size = 4 },
        .rdev = { .kind = FIELD_UNSIGNED, .offset = 24, .size = 4 },
        .bytes = { .kind = FIELD_SIGNED, .offset = 28, .size = 8 },
};

static InputPairing pairing;

static void pair(const InputRecord *record) {
        InputWait wait;

        if (record->event == INPUT_EVENT_REPORT) {
                input_pairing_report(&pairing,
                                     record->at_ns,
                                     record->handler,
                                     record->name,
                                     (uint32_t)record->n);
        } else if (input_pairing_read(&pairing,
                                      &wait,
                                      record->at_ns,
                                      record->handler,
                                      record->tid,
                                      record->n) == 0) {
                FUZZ_CHECK(wait.begin_ns <= wait.end_ns);
                FUZZ_CHECK(wait.tid == record->tid);
        }
        FUZZ_CHECK(pairing.n_devices <= INPUT_DEVICES_MAX);
        FUZZ_CHECK(pairing.n_readers <= INPUT_READERS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        const PageLayout page_layout = PAGE_LAYOUT_64BIT;
        uint64_t last_ns = 0;
        PageReader reader;
        PageRecord raw;

        pairing = (InputPairing){};
        if (page_reader_init(&reader, &page_layout, data, n_bytes) < 0)
                return 0;
        while (page_read(&reader, &raw) == 1) {
                InputRecord record;

                if (!input_record_decode(&record, &layout, &raw))
                        continue;
                FUZZ_CHECK(strnlen(record.handler, sizeof(record.handler)) <
                           sizeof(record.handler));
                FUZZ_CHECK(strnlen(record.name, sizeof(record.name)) < sizeof(record.name));
                if (record.at_ns < last_ns) /* the probe sorts them */
                        continue;
                last_ns = record.at_ns;
                pair(&record);
        }
        return 0;
}
