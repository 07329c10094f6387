/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "lib/category-rules.h"
#include "test.h"
#include "wire/wire-writer.h"

/* Lists with blanks between the patterns. */
typedef struct Case {
        const char *enabled, *disabled, *disabled_tags, *enabled_tags;
        const char *name, *tags;
        bool on;
} Case;

static const Case cases[] = {
        /* Without rules everything is on, but for two tags. */
        { .name = "a", .on = true },
        { .name = "a", .tags = "slow", .on = false },
        { .name = "a", .tags = "gpu,debug", .on = false },
        { .name = "a", .tags = "gpu,debugger", .on = true },

        /* Exact names, in either list; the enabling one is asked first. */
        { .disabled = "a", .name = "a", .on = false },
        { .disabled = "a", .name = "ab", .on = true },
        { .disabled = "ab", .name = "a", .on = true },
        { .enabled = "a", .disabled = "a", .name = "a", .on = true },
        { .enabled = "b a", .disabled = "*", .name = "a", .on = true },
        { .enabled = "b a", .disabled = "*", .name = "c", .on = false },

        /* A nearer tier wins over the list's order. */
        { .enabled = "a*", .disabled = "ab", .name = "ab", .on = false },
        { .enabled = "a*", .disabled = "ab", .name = "abc", .on = true },
        { .enabled = "*", .disabled = "a*", .name = "ab", .on = false },
        { .enabled = "*", .disabled = "a*", .name = "b", .on = true },
        { .enabled = "a*", .disabled = "*", .name = "a", .on = true },

        /* Tags; those that are off by default stay off only where nothing nearer speaks. */
        { .enabled = "*", .name = "a", .tags = "slow", .on = false },
        { .enabled = "a", .name = "a", .tags = "slow", .on = true },
        { .enabled = "a*", .name = "ab", .tags = "slow", .on = false },
        { .disabled_tags = "gpu", .name = "a", .tags = "gpu", .on = false },
        { .disabled_tags = "gpu", .name = "a", .tags = "slow", .on = true },
        { .disabled_tags = "g*", .name = "a", .tags = "x,gpu", .on = false },
        { .disabled_tags = "*", .name = "a", .tags = "gpu", .on = false },
        { .disabled_tags = "*", .name = "a", .on = true },
        { .enabled_tags = "slow", .name = "a", .tags = "slow", .on = true },
        { .enabled_tags = "gpu", .disabled = "*", .name = "a", .tags = "gpu", .on = true },
        { .enabled_tags = "gpu", .disabled_tags = "gpu", .name = "a", .tags = "gpu", .on = false },
        { .enabled = "a", .disabled_tags = "gpu", .name = "a", .tags = "gpu", .on = true },

        /* A star is only special at the end. */
        { .disabled = "a*b", .name = "axb", .on = true },
        { .disabled = "a*b", .name = "a*b", .on = false },
};

static void put_list(WireWriter *writer, uint32_t field, const char *list) {
        while (list && *list) {
                size_t n = strcspn(list, " ");

                wire_put_bytes(writer, field, list, n);
                list += n + (list[n] == ' ');
        }
}

START_TEST(test_rules_are_asked_in_their_order) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                uint8_t config[256];
                WireWriter writer;
                bool on;

                wire_writer_init(&writer, config, sizeof(config));
                put_list(&writer, 1, cases[i].disabled);
                put_list(&writer, 2, cases[i].enabled);
                put_list(&writer, 3, cases[i].disabled_tags);
                put_list(&writer, 4, cases[i].enabled_tags);
                on = category_rules_enable(
                        config, wire_writer_size(&writer), cases[i].name, cases[i].tags);
                ck_assert_msg(on == cases[i].on, "case %zu", i);
        }
}
END_TEST

START_TEST(test_bytes_that_are_no_config_are_no_rules) {
        ck_assert(category_rules_enable("\x0a\x7f", 2, "a", NULL));
        ck_assert(category_rules_enable("\x08\x01\x12\x00", 4, "a", ""));
        ck_assert(!category_rules_enable("\xff\xff", 2, "a", "debug"));
}
END_TEST

TEST_MAIN("category-rules",
          test_rules_are_asked_in_their_order,
          test_bytes_that_are_no_config_are_no_rules)
