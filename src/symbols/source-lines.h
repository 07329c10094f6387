/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Source lines: where in the source code an address is, and which functions are inlined there
 *
 * Debug information is a language of its own, and addr2line of binutils speaks it. It runs once for each module, as a
 * child of the process that looks up names and with the same limits, and reads the file whose build id was compared: by
 * descriptor, not by name. Its output is not trusted to have any form.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINES_TOOL      "addr2line"
#define SOURCE_LINES_MAX       32u                   /* functions inlined into one another */
#define SOURCE_LINES_BYTES_MAX (UINT64_C(256) << 20) /* lines read for one module */

typedef struct SourceLine {
        const char *function; /* the linker's name; NULL: none */
        const char *file;     /* NULL: not known */
        uint32_t line;        /* 0: not known */
} SourceLine;

typedef struct SourceLines {
        char *text, *at, *end; /* the tool's output, and how much of it has been read */
} SourceLines;

/* For all these addresses, which must ascend. Returns 0, -ENOENT if there is no such tool, or another errno. */
int source_lines_load(SourceLines *ret, int elf_fd, const uint64_t *addresses, size_t n);
void source_lines_deinit(SourceLines *lines);

/* How many functions are at an address, the innermost first. Addresses must be asked about in ascending order. 0:
 * unknown. */
size_t
source_lines_find(SourceLines *lines, uint64_t address, SourceLine ret[static SOURCE_LINES_MAX]);
