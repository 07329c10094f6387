/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Text of a page: the template with its styles and scripts, cut at its placeholders
 *
 * The build makes it from the files in page/.
 */

#include <stddef.h>

typedef enum ReportSlot {
        REPORT_SLOT_NONE, /* plain text */
        REPORT_SLOT_WORD, /* the text, translated */
        REPORT_SLOT_TITLE,
        REPORT_SLOT_LANGUAGE,
        REPORT_SLOT_DIFFERENCES,
        REPORT_SLOT_EACH, /* begins a part that repeats for each recording */
        REPORT_SLOT_END,
        REPORT_SLOT_SIDE, /* the suffix of the recording's ids */
        REPORT_SLOT_NAME,
        REPORT_SLOT_FINDINGS,
        REPORT_SLOT_DATA,
        REPORT_SLOT_WORDS,
} ReportSlot;

typedef struct ReportPart {
        ReportSlot slot;
        const char *text;
} ReportPart;

extern const ReportPart report_parts[];
extern const size_t report_n_parts;
