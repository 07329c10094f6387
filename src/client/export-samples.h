/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export samples: which samples of call stacks a format gets
 *
 * A recording may have samples of what processors ran, each of which counts once, and others with a weight: the time
 * that a thread slept, or a number of events. They are not added up, so a format has those of one source.
 */

#include "client/export.h"

#define EXPORT_SAMPLES_CPU "cpu" /* the source of samples that count once */

/* Sets export->samples and their kind of weight, unless there are no samples. Returns 0; EXPORT_E_WHICH: the samples
 * that were asked for do not exist, or there are several kinds and none was asked for; or an errno. */
int export_samples_choose(Export *export);

/* SQL for the samples in the range: (SELECT utid, ts, callsite_id, weight). Free it with sqlite3_free(). */
char *export_samples_sql(const Export *export);
