/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The keys are in a table: how they begin, what the rest of the key names, and where the value goes.
 */

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "probes/graphics/drm-fdinfo.h"
#include "shared/macro.h"

typedef struct Line {
        const char *key, *value;
        size_t n_key, n_value;
} Line;

static bool line_begins(const Line *line, const char *prefix) {
        size_t n = strlen(prefix);

        return line->n_key >= n && memcmp(line->key, prefix, n) == 0;
}

static bool line_is(const Line *line, const char *key) {
        return line->n_key == strlen(key) && line_begins(line, key);
}

/* Splits off the first line. Returns false at the end; a line without a colon has no key. */
static bool next_line(const char **at, const char *end, Line *ret) {
        const char *newline, *colon;

        if (*at >= end)
                return false;
        newline = memchr(*at, '\n', (size_t)(end - *at)) ?: end;
        colon = memchr(*at, ':', (size_t)(newline - *at));
        *ret = (Line){ .key = *at, .value = newline };
        *at = newline < end ? newline + 1 : end;
        if (!colon)
                return true;
        ret->n_key = (size_t)(colon - ret->key);
        ret->value = colon + 1;
        while (ret->value < newline && (*ret->value == ' ' || *ret->value == '\t'))
                ret->value++;
        ret->n_value = (size_t)(newline - ret->value);
        return true;
}

/* Names become names of tracks, so only characters that can be drawn are allowed. */
static bool copy_name(char ret[static DRM_NAME_BYTES], const char *text, size_t n) {
        if (n == 0 || n >= DRM_NAME_BYTES)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isascii((unsigned char)text[i]) || !isgraph((unsigned char)text[i]))
                        return false;
        memcpy(ret, text, n);
        ret[n] = '\0';
        return true;
}

static const struct {
        const char *text;
        uint64_t factor;
} units[] = {
        { "", 1 },          { "ns", 1 },         { "Hz", 1 },         { "KHz", 1000 },
        { "MHz", 1000000 }, { "KiB", 1u << 10 }, { "MiB", 1u << 20 },
};

static bool unit_factor(const char *text, size_t n, uint64_t *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
                if (n == strlen(units[i].text) && memcmp(text, units[i].text, n) == 0) {
                        *ret = units[i].factor;
                        return true;
                }
        return false;
}

/* "123", "123 ns", "123 KiB": digits, and perhaps a unit. Anything else is refused, and so is a number that does not
 * fit. */
static bool line_number(const Line *line, uint64_t *ret) {
        uint64_t value = 0, factor;
        size_t i = 0;

        for (; i < line->n_value && isdigit((unsigned char)line->value[i]); i++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(line->value[i] - '0'), &value))
                        return false;
        if (i == 0)
                return false;
        while (i < line->n_value && line->value[i] == ' ')
                i++;
        return unit_factor(line->value + i, line->n_value - i, &factor) &&
               !__builtin_mul_overflow(value, factor, ret);
}

/* The engine that the key names after its prefix. */
static DrmEngine *find_engine(DrmFdinfo *info, const char *name) {
        for (size_t i = 0; i < info->n_engines; i++)
                if (streq(info->engines[i].name, name))
                        return &info->engines[i];
        if (info->n_engines == DRM_ENGINES_MAX) {
                info->n_left_out++;
                return NULL;
        }
        memcpy(info->engines[info->n_engines].name, name, DRM_NAME_BYTES);
        return &info->engines[info->n_engines++];
}

static DrmRegion *find_region(DrmFdinfo *info, const char *name) {
        for (size_t i = 0; i < info->n_regions; i++)
                if (streq(info->regions[i].name, name))
                        return &info->regions[i];
        if (info->n_regions == DRM_REGIONS_MAX) {
                info->n_left_out++;
                return NULL;
        }
        memcpy(info->regions[info->n_regions].name, name, DRM_NAME_BYTES);
        return &info->regions[info->n_regions++];
}

static void set_once(uint64_t *value, bool *has, uint64_t to) {
        if (!*has)
                *value = to;
        *has = true;
}

static void engine_set_capacity(DrmEngine *engine, uint64_t value) {
        if (engine->capacity == 0)
                engine->capacity = value;
}

static void engine_set_busy(DrmEngine *engine, uint64_t value) {
        set_once(&engine->busy_ns, &engine->has_busy, value);
}

static void engine_set_cycles(DrmEngine *engine, uint64_t value) {
        set_once(&engine->cycles, &engine->has_cycles, value);
}

static void engine_set_total(DrmEngine *engine, uint64_t value) {
        set_once(&engine->total_cycles, &engine->has_total, value);
}

static void engine_set_max(DrmEngine *engine, uint64_t value) {
        set_once(&engine->max_hz, &engine->has_max, value);
}

static void region_set_total(DrmRegion *region, uint64_t value) {
        set_once(&region->total, &region->has_total, value);
}

static void region_set_resident(DrmRegion *region, uint64_t value) {
        set_once(&region->resident, &region->has_resident, value);
}

/* The order matters, because one prefix begins with another. */
static const struct {
        const char *prefix;
        void (*set_engine)(DrmEngine *engine, uint64_t value);
        void (*set_region)(DrmRegion *region, uint64_t value);
} numbers[] = {
        { "drm-engine-capacity-", engine_set_capacity, NULL },
        { "drm-engine-", engine_set_busy, NULL },
        { "drm-total-cycles-", engine_set_total, NULL },
        { "drm-cycles-", engine_set_cycles, NULL },
        { "drm-maxfreq-", engine_set_max, NULL },
        { "drm-resident-", NULL, region_set_resident },
        { "drm-memory-", NULL, region_set_resident }, /* the older name */
        { "drm-total-", NULL, region_set_total },
};

static void parse_number(DrmFdinfo *info, const Line *line) {
        char name[DRM_NAME_BYTES] = {};
        uint64_t value;
        size_t i = 0, n;

        while (i < ARRAY_SIZE(numbers) && !line_begins(line, numbers[i].prefix))
                i++;
        if (i == ARRAY_SIZE(numbers) || !line_number(line, &value))
                return;
        n = strlen(numbers[i].prefix);
        if (!copy_name(name, line->key + n, line->n_key - n))
                return;
        if (numbers[i].set_engine) {
                DrmEngine *engine = find_engine(info, name);

                if (engine)
                        numbers[i].set_engine(engine, value);
        } else {
                DrmRegion *region = find_region(info, name);

                if (region)
                        numbers[i].set_region(region, value);
        }
}

static void parse_line(DrmFdinfo *info, const Line *line) {
        if (line_is(line, "drm-driver")) {
                if (!*info->driver)
                        copy_name(info->driver, line->value, line->n_value);
        } else if (line_is(line, "drm-pdev")) {
                if (!*info->device)
                        copy_name(info->device, line->value, line->n_value);
        } else if (line_is(line, "drm-client-id")) {
                uint64_t id;

                if (line_number(line, &id))
                        set_once(&info->client_id, &info->has_client_id, id);
        } else {
                parse_number(info, line);
        }
}

int drm_fdinfo_parse(DrmFdinfo *ret, const char *text, size_t n) {
        const char *at = text, *end = text + n;
        Line line;

        memset(ret, 0, sizeof(*ret));
        while (next_line(&at, end, &line))
                if (line_begins(&line, "drm-"))
                        parse_line(ret, &line);
        return *ret->driver && ret->has_client_id ? 0 : DRM_FDINFO_E_OTHER;
}

/* a * b / c, at most UINT64_MAX. Not every machine has a type of 128 bits, so if a product is too large for 64 bits,
 * the lowest bits of a and c are left out. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
        uint64_t rest = a % c, whole, part;

        if (__builtin_mul_overflow(a / c, b, &whole))
                return UINT64_MAX;
        while (__builtin_mul_overflow(rest, b, &part)) {
                rest >>= 1; /* is at least 2, and c is more */
                c >>= 1;
        }
        return __builtin_add_overflow(whole, part / c, &whole) ? UINT64_MAX : whole;
}

uint64_t drm_engine_busy_ns(const DrmEngine *before, const DrmEngine *now, uint64_t passed_ns) {
        uint64_t cycles = now->cycles - before->cycles;

        if (now->has_busy && before->has_busy)
                return now->busy_ns > before->busy_ns ? now->busy_ns - before->busy_ns : 0;
        if (!now->has_cycles || !before->has_cycles || now->cycles <= before->cycles)
                return 0;
        if (now->has_total && before->has_total)
                return now->total_cycles > before->total_cycles
                               ? scale(cycles, passed_ns, now->total_cycles - before->total_cycles)
                               : 0;
        return now->max_hz > 0 ? scale(cycles, 1000000000, now->max_hz) : 0;
}
