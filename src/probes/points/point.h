/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point: a place in a library where programs show what they are doing, without knowing it
 *
 * Points are data. Files in points.d say which function of which library it is, and what it means that a program calls
 * it (point-file.h). All texts are bounded, so a point is one piece of memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINT_NAME_BYTES     48
#define POINT_LABEL_BYTES    64
#define POINT_LIBRARY_BYTES  96
#define POINT_SYMBOL_BYTES   256 /* C++ has long names */
#define POINT_WHERE_BYTES    96
#define POINT_TEXT_BYTES     48 /* of a text read at a point */
#define POINT_FILE_BYTES     128
#define POINT_NUMBERS_MAX    6
#define POINT_ARGUMENTS_MAX  (POINT_NUMBERS_MAX + 1) /* one of them may be a text */
#define POINT_CONDITIONS_MAX 4
#define POINT_NO_ARGUMENT    (-1)

typedef enum PointMeaning {
        POINT_NOTHING, /* not said */
        POINT_INSTANT, /* something happened */
        POINT_SLICE,   /* the function's time */
        POINT_FRAME,   /* a frame was finished */
        POINT_SWAP,    /* both: the time of the function, whose end finishes a frame */
        POINT_BEGIN,   /* begins a slice that the point of the same Name with POINT_END ends */
        POINT_END,
        POINT_PRESENTED, /* a frame was shown, at the time that the arguments say */
        _POINT_MEANING_N,
} PointMeaning;

typedef enum PointType {
        POINT_U8,
        POINT_U16,
        POINT_U32,
        POINT_U64,
        POINT_S8,
        POINT_S16,
        POINT_S32,
        POINT_S64,
        POINT_TEXT,
        _POINT_TYPE_N,
} PointType;

typedef struct PointArgument {
        char name[POINT_NAME_BYTES];
        char where[POINT_WHERE_BYTES]; /* point-fetch.h */
        PointType type;
        unsigned slot; /* its number among the numbers of a record; 0 for a text */
} PointArgument;

typedef struct PointCondition {
        int argument;
        uint64_t number;
        char text[POINT_TEXT_BYTES];
} PointCondition;

typedef struct Point {
        char file[POINT_FILE_BYTES]; /* the file that defines it */
        unsigned line;
        char group[POINT_NAME_BYTES], name[POINT_NAME_BYTES];
        char library[POINT_LIBRARY_BYTES]; /* its soname, which may have wildcards */
        char symbol[POINT_SYMBOL_BYTES];   /* "": it is only a static probe */
        char usdt[POINT_LABEL_BYTES];      /* "provider:name"; "": none */
        char label[POINT_LABEL_BYTES], category[POINT_NAME_BYTES];
        PointMeaning meaning;
        PointArgument arguments[POINT_ARGUMENTS_MAX];
        size_t n_arguments;
        PointCondition conditions[POINT_CONDITIONS_MAX];
        size_t n_conditions;
        /* The arguments by meaning, or POINT_NO_ARGUMENT: the pid of the process that the hit is about if it is not
         * the caller, what tells windows apart, the time of presentation, and the time until the next one. */
        int process, surface, seconds, nanoseconds, refresh;
        bool is_default; /* recorded unless the config names others */
} Point;

static inline bool point_has_return(const Point *point) {
        return point->meaning == POINT_SLICE || point->meaning == POINT_SWAP;
}
