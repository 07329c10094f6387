/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Causes: why something took as long as it did, in sentences
 */

#include "report/report-sentences.h"

/* Sentences of an item about a slice: what the thread did in it, and behind whom or for whom it waited the most. */
void report_cause_of_slice(ReportSentences *sentences, uint32_t row);

/* A list of what happens again and again, and of that the slowest: what was different then. */
void report_slowest(ReportSentences *sentences);

/* Lists of what the machine's threads waited for and who grew. */
void report_machine_answers(ReportSentences *sentences);

/* A list of where programs' heaps grew, what they did not free, and what they freed at once. */
void report_heap_answers(ReportSentences *sentences);

/* What was lost, and what that means. */
void report_losses(ReportSentences *sentences);
