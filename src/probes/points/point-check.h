/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point check: what a section of a points file says, as a whole
 *
 * Some keys refer to arguments that may be defined after them. So these keys are kept as words until the section has
 * ended.
 */

#include <stdbool.h>

#include "probes/points/point.h"

#define POINT_WORDS_BYTES 512
#define POINT_WHY_BYTES   192

typedef struct PointWords {
        char arguments[POINT_WORDS_BYTES];  /* "NAME:TYPE:WHERE; …" */
        char conditions[POINT_WORDS_BYTES]; /* "NAME=VALUE; …" */
        char process[POINT_WORDS_BYTES], surface[POINT_WORDS_BYTES];
        char seconds[POINT_WORDS_BYTES], nanoseconds[POINT_WORDS_BYTES], refresh[POINT_WORDS_BYTES];
} PointWords;

/* Completes the point, and takes the words apart. Returns false, with the reason, if something is wrong or missing. */
bool point_check(Point *point, PointWords *words, char why[static POINT_WHY_BYTES]);
