/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer who: threads, as people tell them apart
 *
 * A group's key is a number that is the same for all threads of it.
 */

#include "answers/answer.h"

extern const char answer_interrupt[], answer_who_no_unit[];

/* Names in the pool; 0: the recording has no name. */
uint32_t answer_who_program(const TraceStore *store, uint32_t utid);
/* An app, else a unit of the user's manager, else one of the machine's. */
uint32_t answer_who_unit_of_process(const TraceStore *store, uint32_t upid);
uint32_t answer_who_unit(const TraceStore *store, uint32_t utid);

uint64_t answer_who_key(const TraceStore *store, uint32_t utid, AnswerGroup group);

/* "name 1234", of a thread; nothing for TRACE_NONE. */
void answer_set_thread(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t utid);
/* The name of a group; one thread of it is enough to know it. */
void answer_set_who(Answer *answer,
                    AnswerValue *value,
                    const TraceStore *store,
                    uint32_t utid,
                    AnswerGroup group);
