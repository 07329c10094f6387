/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point check: what a section of a points file says, as a whole */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/points/point-check.h"
#include "probes/points/point-fetch.h"
#include "probes/points/reviewed-texts.h"
#include "shared/macro.h"
#include "shared/text.h"

static bool say(char why[static POINT_WHY_BYTES], const char *format, ...) _printf_(2, 3);

static bool say(char why[static POINT_WHY_BYTES], const char *format, ...) {
        va_list args;

        va_start(args, format);
        vsnprintf(why, POINT_WHY_BYTES, format, args);
        va_end(args);
        return false;
}

static char *trim(char *text) {
        size_t n;

        text += strspn(text, " \t");
        for (n = strlen(text); n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
                ;
        text[n] = '\0';
        return text;
}

static int find_argument(const Point *point, const char *name) {
        for (size_t i = 0; i < point->n_arguments; i++)
                if (streq(point->arguments[i].name, name))
                        return (int)i;
        return POINT_NO_ARGUMENT;
}

/*
 * Arguments
 */

static bool find_type(PointType *ret, const char *word) {
        static const char *const words[_POINT_TYPE_N] = {
                [POINT_U8] = "u8",   [POINT_U16] = "u16", [POINT_U32] = "u32",
                [POINT_U64] = "u64", [POINT_S8] = "s8",   [POINT_S16] = "s16",
                [POINT_S32] = "s32", [POINT_S64] = "s64", [POINT_TEXT] = "text",
        };

        for (unsigned i = 0; i < _POINT_TYPE_N; i++)
                if (streq(words[i], word)) {
                        *ret = (PointType)i;
                        return true;
                }
        return false;
}

static bool name_is_valid(const char *name) {
        for (const char *c = name; *c; c++)
                if (!isalnum((unsigned char)*c) && *c != '_')
                        return false;
        return *name && strlen(name) < POINT_NAME_BYTES;
}

/* Numbers get the slots of a record in order. */
static bool
choose_slot(const Point *point, PointArgument *argument, char why[static POINT_WHY_BYTES]) {
        unsigned n = 0;

        for (size_t i = 0; i < point->n_arguments; i++)
                n += (point->arguments[i].type == POINT_TEXT) == (argument->type == POINT_TEXT);
        if (argument->type == POINT_TEXT && n > 0)
                return say(why, "only one argument can be a text");
        if (n >= POINT_NUMBERS_MAX)
                return say(why, "at most %d arguments can be numbers", POINT_NUMBERS_MAX);
        argument->slot = n;
        return true;
}

static bool add_argument(Point *point, char *word, char why[static POINT_WHY_BYTES]) {
        char *type = strchr(word, ':'), *where = type ? strchr(type + 1, ':') : NULL;
        PointArgument argument = {};

        if (!where)
                return say(why, "\"%.48s\": an argument is NAME:TYPE:WHERE", word);
        *type++ = '\0';
        *where++ = '\0';
        if (!name_is_valid(word) || find_argument(point, word) >= 0)
                return say(why, "\"%.48s\": no such name of an argument, or twice", word);
        if (!find_type(&argument.type, type))
                return say(why, "\"%.48s\": types are u8 to u64, s8 to s64 and text", type);
        if (!point_fetch_is_valid(where))
                return say(why, "\"%.64s\": an argument is at arg1 to arg6, or at +N(arg1)", where);
        if (argument.type == POINT_TEXT && !text_is_reviewed(point->library, point->symbol, where))
                return say(
                        why, "\"%.48s\": of this function no text may be read; numbers may", word);
        snprintf(argument.name, sizeof(argument.name), "%s", word);
        snprintf(argument.where, sizeof(argument.where), "%s", where);
        if (!choose_slot(point, &argument, why))
                return false;
        point->arguments[point->n_arguments++] = argument;
        return true;
}

static bool add_condition(Point *point, char *word, char why[static POINT_WHY_BYTES]) {
        PointCondition *condition = &point->conditions[point->n_conditions];
        char *value = strchr(word, '=');

        if (point->n_conditions == POINT_CONDITIONS_MAX)
                return say(why, "When= can have %d conditions", POINT_CONDITIONS_MAX);
        if (!value)
                return say(why, "\"%.48s\": a condition is NAME=VALUE", word);
        *value++ = '\0';
        *condition = (PointCondition){ .argument = find_argument(point, word) };
        if (condition->argument < 0)
                return say(why, "When=: there is no argument %.48s", word);
        if (point->arguments[condition->argument].type != POINT_TEXT) {
                if (text_parse_uint(&condition->number, value, UINT64_MAX) < 0)
                        return say(why, "When=: %.48s is a number, not \"%.48s\"", word, value);
        } else if (strlen(value) >= sizeof(condition->text)) {
                return say(why, "When=: \"%.48s\" is too long", value);
        }
        snprintf(condition->text, sizeof(condition->text), "%s", value);
        point->n_conditions++;
        return true;
}

/* Each part of a list. */
static bool for_each_part(Point *point,
                          char *list,
                          bool (*add)(Point *point, char *word, char why[static POINT_WHY_BYTES]),
                          char why[static POINT_WHY_BYTES]) {
        char *state = NULL;

        for (char *part = strtok_r(list, ";", &state); part; part = strtok_r(NULL, ";", &state)) {
                part = trim(part);
                if (*part && !add(point, part, why))
                        return false;
        }
        return true;
}

static bool choose(int *ret,
                   const Point *point,
                   const char *key,
                   const char *name,
                   char why[static POINT_WHY_BYTES]) {
        *ret = *name ? find_argument(point, name) : POINT_NO_ARGUMENT;
        if (*name && *ret < 0)
                return say(why, "%s=: there is no argument %.48s", key, name);
        return *ret < 0 || point->arguments[*ret].type != POINT_TEXT ||
               say(why, "%s=: %.48s is a text, not a number", key, name);
}

static bool choose_all(Point *point, const PointWords *words, char why[static POINT_WHY_BYTES]) {
        return choose(&point->process, point, "Process", words->process, why) &&
               choose(&point->surface, point, "Surface", words->surface, why) &&
               choose(&point->seconds, point, "Seconds", words->seconds, why) &&
               choose(&point->nanoseconds, point, "Nanoseconds", words->nanoseconds, why) &&
               choose(&point->refresh, point, "Refresh", words->refresh, why);
}

/*
 * All of it
 */

static bool check_required(const Point *point, char why[static POINT_WHY_BYTES]) {
        if (!*point->group)
                return say(why, "Group= is missing");
        if (!*point->library || strchr(point->library, '/'))
                return say(why, "Library= is missing, or no soname such as libgtk-4.so.1");
        if (strcspn(point->library, "*?[") < strlen("libx"))
                return say(why, "Library= has to begin with a name before its wildcards");
        if (!*point->symbol && !*point->usdt)
                return say(why, "Symbol= is missing");
        if (*point->usdt && !strchr(point->usdt, ':'))
                return say(why, "USDT= is PROVIDER:NAME");
        if (point->meaning == POINT_NOTHING)
                return say(why, "Means= is missing");
        return true;
}

bool point_check(Point *point, PointWords *words, char why[static POINT_WHY_BYTES]) {
        if (!check_required(point, why) ||
            !for_each_part(point, words->arguments, add_argument, why) ||
            !for_each_part(point, words->conditions, add_condition, why) ||
            !choose_all(point, words, why))
                return false;
        if (point->meaning == POINT_PRESENTED && (point->seconds < 0 || point->nanoseconds < 0))
                return say(why, "Means=presented needs Seconds= and Nanoseconds=");
        if (*point->usdt && (point->n_arguments > 0 || point_has_return(point)))
                return say(why, "a point with USDT= is an instant without Arguments=");
        if (!*point->label)
                snprintf(point->label, sizeof(point->label), "%s", point->name);
        if (!*point->category)
                snprintf(point->category, sizeof(point->category), "%s", point->group);
        return true;
}
