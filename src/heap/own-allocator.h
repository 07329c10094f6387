/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Own allocator: whether the program is linked with one whose work we cannot see, because it calls no malloc()
 */

/* The allocator's name, or NULL if the program has none that we know. Searches the program's constants in memory. */
const char *own_allocator_find(void);
