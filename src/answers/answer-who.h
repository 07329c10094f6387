/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer who: threads, in the terms that people use
 *
 * All threads of a group have the same key, which is a number.
 */

#include "answers/answer.h"

extern const char answer_interrupt[], answer_who_no_unit[];

/* Names in the pool; 0: unknown. */
uint32_t answer_who_program(const TraceStore *store, uint32_t utid);
/* An app, or else a unit of the user's manager, or else one of the machine's. */
uint32_t answer_who_unit_of_process(const TraceStore *store, uint32_t upid);
uint32_t answer_who_unit(const TraceStore *store, uint32_t utid);

uint64_t answer_who_key(const TraceStore *store, uint32_t utid, AnswerGroup group);

/* "name 1234" for a thread; "" for TRACE_NONE. */
void answer_set_thread(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t utid);
/* The name of a group, found from any of its threads. */
void answer_set_who(Answer *answer,
                    AnswerValue *value,
                    const TraceStore *store,
                    uint32_t utid,
                    AnswerGroup group);
