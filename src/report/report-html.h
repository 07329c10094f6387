/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * HTML: text that stays text in a page
 */

#include "shared/bytes.h"

/* Returns 0, or -ENOMEM. NULL adds nothing. */
int report_html_text(Bytes *page, const char *text);

/* JSON for a script element: it contains no "<". */
int report_html_json(Bytes *page, const Bytes *json);
