/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What ListCategories() looks at has an end, however much programs describe. */

#include "../core/fixture.h"

#include <stdio.h>

#include "bus/link/bus.h"
#include "bus/object/bus-categories.h"
#include "shared/names.h"

#define DESCRIPTION_BYTES 1000

static Fixture f;
static CategoryRows rows;

static FakeProducer *program(const SourceOptions *options) {
        FakeProducer *program = fixture_connect_producer(&f, 1000, "app", NULL);

        fixture_add_source(program, TRACING_TRACK_EVENT_SOURCE, options);
        return program;
}

static void add(const FakeProducer *program) {
        ck_assert_int_eq(category_rows_add(&rows, program->producer, "/path"), 0);
}

static void start(void) {
        rows = (CategoryRows){};
        fixture_init(&f);
}

static void end(void) {
        category_rows_deinit(&rows);
        fixture_deinit(&f);
}

START_TEST(test_names_are_limited_for_one_program_and_for_all) {
        static char texts[BUS_CATEGORIES_OF_ONE_MAX + 1][8];
        static const char *names[BUS_CATEGORIES_OF_ONE_MAX + 2];

        start();
        for (unsigned i = 0; i <= BUS_CATEGORIES_OF_ONE_MAX; i++) {
                snprintf(texts[i], sizeof(texts[i]), "c%u", i);
                names[i] = texts[i];
        }
        for (size_t n = BUS_CATEGORIES_OF_ONE_MAX; n <= BUS_CATEGORIES_MAX;
             n += BUS_CATEGORIES_OF_ONE_MAX) {
                add(program(&(SourceOptions){ .categories = names }));
                ck_assert_uint_eq(rows.n, n);
        }
        names[1] = NULL;
        add(program(&(SourceOptions){ .categories = names }));
        ck_assert_uint_eq(rows.n, BUS_CATEGORIES_MAX);
        end();
}
END_TEST

/* All that is in one descriptor; returns how long it is. */
static size_t describe(uint8_t descriptor[static SOURCE_DESCRIPTOR_BYTES_MAX], size_t n) {
        char name[24], text[DESCRIPTION_BYTES + 1];
        size_t track_event, category;
        WireWriter writer;

        memset(text, 'x', DESCRIPTION_BYTES);
        text[DESCRIPTION_BYTES] = '\0';
        wire_writer_init(&writer, descriptor, SOURCE_DESCRIPTOR_BYTES_MAX);
        wire_put_string(&writer, 1, TRACING_TRACK_EVENT_SOURCE);
        track_event = wire_begin(&writer, 6);
        for (size_t i = 0; i < n; i++) {
                category = wire_begin(&writer, 1);
                snprintf(name, sizeof(name), "c%zu", i);
                wire_put_string(&writer, 1, name);
                wire_put_string(&writer, 2, text);
                wire_end(&writer, category);
        }
        wire_end(&writer, track_event);
        ck_assert(!wire_writer_failed(&writer));
        return wire_writer_size(&writer);
}

START_TEST(test_descriptions_are_limited_in_bytes) {
        static uint8_t descriptor[SOURCE_DESCRIPTOR_BYTES_MAX];
        const size_t n_of_one = 250;
        size_t n_bytes, before = 0;
        FakeProducer *app;

        start();
        n_bytes = describe(descriptor, n_of_one);
        app = program(&(SourceOptions){ .descriptor = descriptor, .n_descriptor = n_bytes });
        for (size_t i = 0; i <= BUS_CATEGORIES_BYTES_MAX / (n_of_one * DESCRIPTION_BYTES); i++) {
                before = rows.n;
                add(app);
        }
        ck_assert_uint_gt(before, 0);
        ck_assert_uint_lt(rows.n - before, n_of_one);
        ck_assert_uint_lt(rows.n, BUS_CATEGORIES_MAX);
        /* Only rows of that kind have no room. */
        ck_assert_uint_le(rows.n_bytes, BUS_CATEGORIES_BYTES_MAX);
        ck_assert_uint_gt(rows.n_bytes, BUS_CATEGORIES_BYTES_MAX - 2 * DESCRIPTION_BYTES);
        end();
}
END_TEST

TEST_MAIN("categories-listed",
          test_names_are_limited_for_one_program_and_for_all,
          test_descriptions_are_limited_in_bytes)
