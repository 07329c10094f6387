/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer sentences: what an answer says in words
 */

#include "answers/answer.h"

/* On stdout, a line each. */
void answer_sentences_print(const Answer *answer);
