/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Own allocator: whether the program has one linked in, which calls no malloc() that we could see
 */

/* What it is called; NULL: none that is known. Looks through the program's constants, in memory. */
const char *own_allocator_find(void);
