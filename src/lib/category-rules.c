/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Category rules: which categories a session wants, by TrackEventConfig */

#include "lib/category-rules.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

typedef enum Tier {
        TIER_EXACT,
        TIER_PREFIX,
        TIER_ALL,
        _TIER_N,
} Tier;

/* perfetto.protos.TrackEventConfig */
enum {
        CONFIG_DISABLED_CATEGORIES = 1,
        CONFIG_ENABLED_CATEGORIES = 2,
        CONFIG_DISABLED_TAGS = 3,
        CONFIG_ENABLED_TAGS = 4,
};

static const struct {
        uint32_t field;
        bool of_tags;
        bool enables;
} lists[] = {
        { CONFIG_ENABLED_CATEGORIES, false, true },
        { CONFIG_DISABLED_CATEGORIES, false, false },
        { CONFIG_DISABLED_TAGS, true, false },
        { CONFIG_ENABLED_TAGS, true, true },
};

static const char *const default_disabled_tags[] = { "slow", "debug" };

typedef struct Text {
        const char *data;
        size_t n_bytes;
} Text;

static Tier tier_of(Text pattern) {
        if (pattern.n_bytes == 0 || pattern.data[pattern.n_bytes - 1] != '*')
                return TIER_EXACT;
        return pattern.n_bytes == 1 ? TIER_ALL : TIER_PREFIX;
}

static bool matches(Text pattern, Text text, Tier tier) {
        if (tier_of(pattern) != tier)
                return false;
        if (tier == TIER_EXACT)
                return pattern.n_bytes == text.n_bytes &&
                       memcmp(pattern.data, text.data, text.n_bytes) == 0;
        return pattern.n_bytes - 1 <= text.n_bytes &&
               memcmp(pattern.data, text.data, pattern.n_bytes - 1) == 0;
}

static bool matches_any_tag(Text pattern, const char *tags, Tier tier) {
        while (tags && *tags) {
                size_t n = strcspn(tags, ",");

                if (matches(pattern, (Text){ tags, n }, tier))
                        return true;
                tags += n;
                tags += *tags == ',';
        }
        return false;
}

static bool next_pattern(WireReader *reader, uint32_t number, Text *ret) {
        WireField field;

        while (wire_read(reader, &field) > 0)
                if (field.number == number && field.type == WIRE_BYTES) {
                        *ret = (Text){ (const char *)field.data, field.n_bytes };
                        return true;
                }
        return false;
}

static bool has_tag_rules(const void *config, size_t n_config) {
        WireReader reader;
        Text pattern;

        wire_reader_init(&reader, config, n_config);
        if (next_pattern(&reader, CONFIG_DISABLED_TAGS, &pattern))
                return true;
        wire_reader_init(&reader, config, n_config);
        return next_pattern(&reader, CONFIG_ENABLED_TAGS, &pattern);
}

static bool disabled_by_default(const char *tags, Tier tier) {
        for (size_t i = 0; i < ARRAY_SIZE(default_disabled_tags); i++) {
                Text tag = { default_disabled_tags[i], strlen(default_disabled_tags[i]) };

                if (matches_any_tag(tag, tags, tier))
                        return true;
        }
        return false;
}

bool category_rules_enable(const void *config,
                           size_t n_config,
                           const char *name,
                           const char *tags) {
        bool default_tags = !has_tag_rules(config, n_config);
        Text text = { name, strlen(name) };

        for (Tier tier = 0; tier < _TIER_N; tier++)
                for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                        WireReader reader;
                        Text pattern;

                        if (lists[i].field == CONFIG_DISABLED_TAGS && default_tags &&
                            disabled_by_default(tags, tier))
                                return false;
                        wire_reader_init(&reader, config, n_config);
                        while (next_pattern(&reader, lists[i].field, &pattern))
                                if (lists[i].of_tags ? matches_any_tag(pattern, tags, tier)
                                                     : matches(pattern, text, tier))
                                        return lists[i].enables;
                }
        return true;
}
