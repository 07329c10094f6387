/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer sentences: what an answer says in words
 */

#include "answers/answer.h"

/* One sentence on each line, ready to print; malloc'ed. */
char *answer_sentences(const Answer *answer);
