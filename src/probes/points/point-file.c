/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point file: one file of points.d */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/points/point-check.h"
#include "probes/points/point-file.h"
#include "shared/utf8.h"

#define LINE_BYTES_MAX 1024

typedef struct PointParser {
        PointTable *table;
        ProbeNotes *notes;
        const char *file;
        unsigned line;
        Point common;   /* of [Points] */
        Point *section; /* where the keys go; NULL: this section is ignored */
        Point point;    /* the one being read */
        PointWords words;
        bool is_bad; /* so the point is left out */
} PointParser;

static void complain(PointParser *parser, unsigned line, const char *format, ...) _printf_(3, 4);

static void complain(PointParser *parser, unsigned line, const char *format, ...) {
        char text[256];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        probe_note(parser->notes, "%s:%u: %s", parser->file, line, text);
}

/*
 * Keys
 */

static bool set_text(char *field, size_t size, const char *value) {
        return *value && (size_t)snprintf(field, size, "%s", value) < size;
}

/* Names of groups and points: a config can ask for them, with wildcards. */
static bool set_name(char *field, const char *value) {
        for (const char *c = value; *c; c++)
                if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.')
                        return false;
        return set_text(field, POINT_NAME_BYTES, value);
}

static bool set_meaning(Point *point, const char *value) {
        static const char *const words[_POINT_MEANING_N] = {
                [POINT_INSTANT] = "instant",     [POINT_SLICE] = "slice", [POINT_FRAME] = "frame",
                [POINT_SWAP] = "swap",           [POINT_BEGIN] = "begin", [POINT_END] = "end",
                [POINT_PRESENTED] = "presented",
        };

        for (unsigned i = 0; i < _POINT_MEANING_N; i++)
                if (words[i] && streq(words[i], value)) {
                        point->meaning = (PointMeaning)i;
                        return true;
                }
        return false;
}

static bool set_default(Point *point, const char *value) {
        point->is_default = streq(value, "yes");
        return point->is_default || streq(value, "no");
}

typedef struct Key {
        const char *name;
        bool in_common; /* also in [Points] */
        size_t word; /* where in PointWords the value waits until all keys are known; SIZE_MAX: nowhere */
        size_t at, bytes; /* or where in the point it goes; 0 bytes: the function does that */
        bool (*set)(Point *point, const char *value);
} Key;

#define KEY_WORD(_name, _word) \
        { .name = _name, .word = offsetof(PointWords, _word) }
#define KEY_TEXT(_name, _field, _common)                                                \
        {                                                                               \
                .name = _name, .in_common = _common, .word = SIZE_MAX,                  \
                .at = offsetof(Point, _field), .bytes = sizeof(((Point *)NULL)->_field) \
        }
#define KEY_CALL(_name, _set, _common) \
        { .name = _name, .in_common = _common, .word = SIZE_MAX, .set = _set }

static bool set_group(Point *point, const char *value) {
        return set_name(point->group, value);
}

static const Key keys[] = {
        KEY_CALL("Group", set_group, true),    KEY_TEXT("Library", library, true),
        KEY_TEXT("Symbol", symbol, false),     KEY_TEXT("USDT", usdt, false),
        KEY_CALL("Means", set_meaning, false), KEY_TEXT("Name", label, false),
        KEY_TEXT("Category", category, true),  KEY_CALL("Default", set_default, true),
        KEY_WORD("Arguments", arguments),      KEY_WORD("When", conditions),
        KEY_WORD("Process", process),          KEY_WORD("Surface", surface),
        KEY_WORD("Seconds", seconds),          KEY_WORD("Nanoseconds", nanoseconds),
        KEY_WORD("Refresh", refresh),
};

static bool set_key(PointParser *parser, const Key *key, const char *value) {
        if (key->word != SIZE_MAX)
                return set_text((char *)&parser->words + key->word, POINT_WORDS_BYTES, value);
        if (key->bytes > 0)
                return set_text((char *)parser->section + key->at, key->bytes, value);
        return key->set(parser->section, value);
}

static void read_key(PointParser *parser, const char *name, const char *value) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                if (!streq(keys[i].name, name))
                        continue;
                if (parser->section == &parser->common && !keys[i].in_common) {
                        complain(parser, parser->line, "%s= belongs into a [Point NAME]", name);
                        return;
                }
                if (!set_key(parser, &keys[i], value)) {
                        complain(parser, parser->line, "%s=%.64s: no such value", name, value);
                        parser->is_bad = true;
                }
                return;
        }
        complain(parser, parser->line, "there is no key %.32s=", name);
}

/*
 * Sections
 */

static bool is_there_already(const PointTable *table, const Point *point) {
        for (size_t i = 0; i < table->n_points; i++)
                if (streq(table->points[i].group, point->group) &&
                    streq(table->points[i].name, point->name))
                        return true;
        return false;
}

static int keep(PointTable *table, const Point *point) {
        if (table->n_points == table->n_allocated) {
                size_t n = table->n_allocated * 2 + 16;
                Point *more = reallocarray(table->points, n, sizeof(*more));

                if (!more)
                        return -ENOMEM;
                table->points = more;
                table->n_allocated = n;
        }
        table->points[table->n_points++] = *point;
        return 0;
}

/* The current point is complete, because all its keys are known. */
static int end_section(PointParser *parser) {
        Point *point = &parser->point;
        char why[POINT_WHY_BYTES];

        if (parser->section != point || parser->is_bad)
                return 0;
        parser->section = NULL;
        if (!point_check(point, &parser->words, why)) {
                complain(parser, point->line, "[Point %s] is left out: %s", point->name, why);
                return 0;
        }
        if (is_there_already(parser->table, point)) {
                complain(parser,
                         point->line,
                         "there is a point %s/%s already",
                         point->group,
                         point->name);
                return 0;
        }
        if (parser->table->n_points >= POINTS_MAX) {
                complain(parser, point->line, "at most %d points are read", POINTS_MAX);
                return 0;
        }
        return keep(parser->table, point);
}

static void begin_point(PointParser *parser, const char *name) {
        parser->point = parser->common;
        parser->point.line = parser->line;
        snprintf(parser->point.file, sizeof(parser->point.file), "%s", parser->file);
        parser->words = (PointWords){};
        parser->section = &parser->point;
        parser->is_bad = !set_name(parser->point.name, name);
        if (parser->is_bad)
                complain(parser, parser->line, "[Point %.32s]: no such name", name);
}

static int read_section(PointParser *parser, char *line) {
        char *end = strchr(line, ']');
        int r;

        r = end_section(parser);
        if (r < 0)
                return r;
        parser->section = NULL;
        parser->is_bad = false;
        if (!end || end[1] != '\0') {
                complain(parser, parser->line, "a section is written as [Points] or [Point NAME]");
                return 0;
        }
        *end = '\0';
        if (streq(line, "[Points"))
                parser->section = &parser->common;
        else if (strncmp(line, "[Point ", 7) == 0)
                begin_point(parser, line + 7);
        else
                complain(parser, parser->line, "there is no section %.32s]", line);
        return 0;
}

/*
 * Lines
 */

static char *trim(char *text) {
        size_t n;

        text += strspn(text, " \t");
        for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
                ;
        text[n] = '\0';
        return text;
}

static bool is_printable(const char *text) {
        for (const char *c = text; *c; c++)
                if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127)
                        return false;
        return utf8_is_valid((const uint8_t *)text, strlen(text));
}

static int read_line(PointParser *parser, char *line) {
        char *equals;

        line = trim(line);
        if (!*line || *line == '#' || *line == ';')
                return 0;
        if (!is_printable(line)) {
                complain(parser, parser->line, "the line is not text");
                return 0;
        }
        if (*line == '[')
                return read_section(parser, line);
        equals = strchr(line, '=');
        if (!equals) {
                complain(parser, parser->line, "a line is Key=Value, [SECTION] or # comment");
                return 0;
        }
        *equals = '\0';
        if (parser->section)
                read_key(parser, trim(line), trim(equals + 1));
        return 0;
}

int point_file_parse(PointTable *table, const char *file, const char *text, ProbeNotes *notes) {
        PointParser parser = { .table = table, .notes = notes, .file = file };
        int r = 0;

        parser.common.is_default = true;
        while (r == 0 && *text) {
                size_t n = strcspn(text, "\n");
                char line[LINE_BYTES_MAX];

                parser.line++;
                if (n < sizeof(line)) {
                        memcpy(line, text, n);
                        line[n] = '\0';
                        r = read_line(&parser, line);
                } else {
                        complain(&parser, parser.line, "the line is too long");
                        parser.is_bad = true;
                }
                text += n + (text[n] == '\n');
        }
        return r < 0 ? r : end_section(&parser);
}

void point_table_deinit(PointTable *table) {
        free(table->points);
        *table = (PointTable){};
}
