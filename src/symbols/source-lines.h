/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Source lines: where in the source code an address is, and which functions are inlined there
 *
 * Debug information is a language of its own, and addr2line of binutils speaks it. It is started once for a module, in
 * the process that looks up names, so it has the limits of that, and it reads the file whose build id was compared:
 * its descriptor, not its name. What it says is not believed to have any form.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINES_TOOL      "addr2line"
#define SOURCE_LINES_MAX       32u /* functions that are inlined into one another */
#define SOURCE_LINES_BYTES_MAX (UINT64_C(256) << 20) /* that are read of one module's lines */

typedef struct SourceLine {
        const char *function; /* as the linker knows it; NULL: it has no name */
        const char *file;     /* NULL: not known */
        uint32_t line;        /* 0: not known */
} SourceLine;

typedef struct SourceLines {
        char *text, *at, *end; /* what the tool said, and how much of it was looked at */
} SourceLines;

/* Of all these addresses, which rise. 0; -ENOENT: there is no such tool; or another errno. */
int source_lines_load(SourceLines *ret, int elf_fd, const uint64_t *addresses, size_t n);
void source_lines_deinit(SourceLines *lines);

/* Of an address behind all that were asked for: how many functions are there, the innermost first. 0: not known. */
size_t
source_lines_find(SourceLines *lines, uint64_t address, SourceLine ret[static SOURCE_LINES_MAX]);
