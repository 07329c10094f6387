/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Data: the content of a page as bytes, which docs/REPORT.md specifies
 */

#include "report/report-content.h"
#include "shared/bytes.h"

#define REPORT_DATA_VERSION 2

/* Longest name in a page; the rest is cut. */
#define REPORT_NAME_BYTES_MAX 200
/* Most lanes in a page; further ones are left out, and the page says how many. */
#define REPORT_LANES_MAX 5000

/* Most flows in a page; beyond that, only every n-th is kept. */
#define REPORT_FLOWS_MAX 50000

/* Returns 0, or -ENOMEM. `title` is the file's name; the two times are what is shown at first, or equal to show
 * everything. */
int report_data_make(Bytes *ret,
                     const ReportContent *content,
                     const char *title,
                     int64_t from_ns,
                     int64_t to_ns);
