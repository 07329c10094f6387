/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap program: whether the library that counts allocations can be loaded into a program
 *
 * What the dynamic linker would leave out without a word is refused before it is started: a recording without the heap
 * that was asked for helps nobody. A script is as its interpreter is. What such a program starts in its turn is not
 * known before, and not looked at.
 */

#include "client/exit-status.h"

/* Why not, in a sentence; NULL: it can be. */
char *heap_program_refusal(const char *path, const char *library);

/* argv[0] of a command. Reports errors; a program that is not found is left to those who start it. */
ExitStatus heap_program_check(const char *name, const char *library);
