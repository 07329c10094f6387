/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which codec a config gets. What the codecs make of a trace is in tests/unit/bus/test-sink.c. */

#include "core/model/compression.h"
#include "test.h"

#define ALL (1 << CODEC_DEFLATE | 1 << CODEC_ZSTD)

typedef struct Case {
        const char *text;
        unsigned supported;
        Codec codec;
        int level;
} Case;

static void check(const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                Compression compression;
                ConfigError error;
                Config *config;

                ck_assert_int_eq(config_new_from_text(&config, cases[i].text, &error), 0);
                compression = compression_choose(config->pb, cases[i].supported);
                ck_assert_int_eq(compression.codec, cases[i].codec);
                ck_assert_int_eq(compression.level, cases[i].level);
                config_free(config);
        }
}

START_TEST(test_config_without_a_word_of_it_is_not_compressed) {
        static const Case cases[] = {
                { "", ALL, CODEC_NONE, 0 },
                { "compression {}", ALL, CODEC_NONE, 0 },
                { "compression_type: COMPRESSION_TYPE_UNSPECIFIED", ALL, CODEC_NONE, 0 },
        };

        check(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_best_named_codec_that_is_supported_is_used) {
        static const Case cases[] = {
                { "compression { deflate {} }", ALL, CODEC_DEFLATE, 0 },
                { "compression { zstd {} }", ALL, CODEC_ZSTD, 0 },
                { "compression { zstd {} deflate {} }", ALL, CODEC_ZSTD, 0 },
                { "compression { zstd {} deflate {} }", 1 << CODEC_DEFLATE, CODEC_DEFLATE, 0 },
                { "compression { deflate {} }", 1 << CODEC_ZSTD, CODEC_NONE, 0 },
        };

        check(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_level_is_passed_on) {
        static const Case cases[] = {
                { "compression { zstd { level: 9 } }", ALL, CODEC_ZSTD, 9 },
                { "compression { zstd { level: -3 } }", ALL, CODEC_ZSTD, -3 },
        };

        check(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_older_field_counts_when_the_newer_one_gives_nothing) {
        static const Case cases[] = {
                { "compression_type: COMPRESSION_TYPE_DEFLATE", ALL, CODEC_DEFLATE, 0 },
                { "compression_type: COMPRESSION_TYPE_DEFLATE compression { zstd {} }",
                  ALL,
                  CODEC_ZSTD,
                  0 },
                { "compression_type: COMPRESSION_TYPE_DEFLATE compression { zstd {} }",
                  1 << CODEC_DEFLATE,
                  CODEC_DEFLATE,
                  0 },
        };

        check(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_unsupported_codec_is_passed_over) {
        static const Case cases[] = {
                { "compression { zstd {} }", 0, CODEC_NONE, 0 },
                { "compression_type: COMPRESSION_TYPE_DEFLATE", 0, CODEC_NONE, 0 },
        };

        check(cases, ARRAY_SIZE(cases));
}
END_TEST

/* compression { 9 {} }, which nobody has thought of yet, alone and beside deflate; compression_type: 77. */
START_TEST(test_unknown_codec_is_passed_over) {
        static const struct {
                const char *bytes;
                size_t n;
                Codec codec;
        } cases[] = {
                { "\xfa\x02\x02\x4a\x00", 5, CODEC_NONE },
                { "\xfa\x02\x04\x4a\x00\x0a\x00", 7, CODEC_DEFLATE },
                { "\xc0\x01\x4d", 3, CODEC_NONE },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ConfigError error;
                Config *config;

                ck_assert_int_eq(config_new_from_bytes(&config, cases[i].bytes, cases[i].n, &error),
                                 0);
                ck_assert_int_eq(compression_choose(config->pb, ALL).codec, cases[i].codec);
                config_free(config);
        }
}
END_TEST

TEST_MAIN("compression",
          test_config_without_a_word_of_it_is_not_compressed,
          test_best_named_codec_that_is_supported_is_used,
          test_level_is_passed_on,
          test_older_field_counts_when_the_newer_one_gives_nothing,
          test_unsupported_codec_is_passed_over,
          test_unknown_codec_is_passed_over)
