/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Top machine: who uses the CPUs now, as /proc tells it to anybody
 *
 * To record each switch of each thread takes an authorisation, and more time than to look at what the kernel has
 * added up: for how long each thread ran, and for how long it waited for a CPU. A thread that began and ended between
 * two looks is in no row, and neither are those of other users where /proc hides them (hidepid); what the CPUs did
 * besides is LOAD_FACT_OTHERS. A kernel that adds nothing up by thread has its times in ticks, and no waiting.
 */

#include <stdint.h>

#include "answers/answer-load.h"

#define TOP_THREADS_MAX (1u << 16) /* further threads are in no row */

typedef struct TopMachine TopMachine;

/* `root`: a directory with "proc" in it; stays the caller's, and open. Never NULL. */
TopMachine *top_machine_new(int root);
TopMachine *top_machine_free(TopMachine *machine);
DEFINE_CLEANUP(TopMachine *, top_machine_free)

/* An answer_load about the time since the previous call. The first one covers nothing. `now_ns` is by the caller's
 * clock. Returns 0 or a negative errno. */
int top_machine_look(TopMachine *machine, uint64_t now_ns, AnswerGroup group, Answer **ret);
