/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * HTML: text that stays text in a page
 */

#include "shared/bytes.h"

/* 0, or -ENOMEM. NULL is nothing. */
int report_html_text(Bytes *page, const char *text);

/* JSON inside of a script element: no "<" in it. */
int report_html_json(Bytes *page, const Bytes *json);
