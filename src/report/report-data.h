/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Data: the content of a page as bytes, which docs/REPORT.md specifies
 */

#include "report/report-content.h"
#include "shared/bytes.h"

#define REPORT_DATA_VERSION 2

/* Text of a name in a page; what is longer is cut. */
#define REPORT_NAME_BYTES_MAX 200
/* Lanes of a page; what follows is left out, and the page says how many they are. */
#define REPORT_LANES_MAX 5000

/* Flows of a page; beyond that, only every n-th is kept. */
#define REPORT_FLOWS_MAX 50000

/* 0, or -ENOMEM. `title` is the file's name; the times are what is shown at first, or the same for all. */
int report_data_make(Bytes *ret,
                     const ReportContent *content,
                     const char *title,
                     int64_t from_ns,
                     int64_t to_ns);
