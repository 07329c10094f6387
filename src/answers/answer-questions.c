/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer questions: one row each, and the order of its facts and columns */

#include "answers/answer-questions.h"

static const AnswerDef *const defs[] = {
        &answer_cpu,     &answer_functions,  &answer_sleeps,  &answer_slice, &answer_wakers,
        &answer_slowest, &answer_times,      &answer_repeats, &answer_waits, &answer_wakeups,
        &answer_disk,    &answer_interrupts, &answer_memory,  &answer_grows, &answer_journal,
        &answer_bus,     &answer_losses,
};

const AnswerDef *const *answer_defs(size_t *ret_n) {
        *ret_n = ARRAY_SIZE(defs);
        return defs;
}

const AnswerDef *answer_def_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(defs); i++)
                if (streq(defs[i]->name, name))
                        return defs[i];
        return NULL;
}
