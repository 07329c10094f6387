/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Findings: sentences about what stands out in a recording
 *
 * HTML that can be read without the picture, with links that show the place in it: `data-from` and `data-to` are times
 * after the start, in nanoseconds; `data-track`, `data-upid` or `data-who` (a thread) say what to look at.
 */

#include "report/report-sentences.h"

/* `translate` and `tell` may be NULL. Returns 0, or -ENOMEM. */
int report_findings(Bytes *page,
                    const ReportContent *content,
                    const char *(*translate)(const char *),
                    ReportTell tell);
