/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lists of names: the kernel's events, and programs' categories
 */

#include "client/list-parts.h"

extern const ListKind list_events, list_categories;
