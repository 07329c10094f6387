/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer text: one value of an answer for people
 */

#include "answers/answer.h"

#define ANSWER_TEXT_BYTES 64 /* of a number */

/* Made safe to print; "-" for nothing. Malloc'ed. */
char *answer_value_text(const AnswerValue *value, AnswerKind kind);
