/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Causes: sentences that explain why something took so long
 */

#include "report/report-sentences.h"

/* The sentences of an item about a slice: what its thread did, and which threads it waited for, or behind, the
 * longest. */
void report_cause_of_slice(ReportSentences *sentences, uint32_t row);

/* A list of what happens again and again, and of how the slowest case differed. */
void report_slowest(ReportSentences *sentences);

/* Lists of what the machine's threads waited for, and whose memory grew. */
void report_machine_answers(ReportSentences *sentences);

/* A list of where programs' heaps grew, what was never freed, and what was freed at once. */
void report_heap_answers(ReportSentences *sentences);

/* Losses and their consequences. */
void report_losses(ReportSentences *sentences);
