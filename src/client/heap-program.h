/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap program: whether the library that counts allocations can be loaded into a program
 *
 * If the dynamic linker would silently leave the library out, the command is refused before it starts: a recording
 * without the requested heap helps nobody. A script is judged by its interpreter. Programs that the command will
 * start itself are not known in advance, and not examined.
 */

#include "client/exit-status.h"

/* Why the library cannot be loaded, as a sentence; NULL: it can. */
char *heap_program_refusal(const char *path, const char *library);

/* Checks argv[0] of a command, and reports errors. A program that is not found is reported when it is started. */
ExitStatus heap_program_check(const char *name, const char *library);
