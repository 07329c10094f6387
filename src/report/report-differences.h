/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Differences: tables of how the two recordings of a page differ
 *
 * HTML like the findings. A value is a link to the longest slice of that name in its recording, which `data-side`
 * names.
 */

#include "report/report-page.h"

extern const char *const report_side_suffixes[REPORT_SIDES];

/* Returns 0, or -ENOMEM. */
int report_differences(Bytes *page, const ReportPair *pair, const ReportOptions *options);
