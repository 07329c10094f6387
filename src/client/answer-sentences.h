/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer sentences: what an answer says in words
 */

#include "answers/answer.h"

/* A line each, which may be printed as it is; malloc'ed. */
char *answer_sentences(const Answer *answer);
