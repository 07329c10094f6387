/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JIT names: what a program calls the code that it makes while it runs
 *
 * Runtimes (Node, OpenJDK's agents, .NET, Python, Julia, LLVM) append a line to /tmp/perf-PID.map for each piece of
 * code: "START SIZE NAME", the numbers in hexadecimal. Any program can write any text there, so it is believed only
 * about that process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_FILE_BYTES_MAX (16u << 20) /* of one process's file; the rest is not read */
#define JIT_NAMES_MAX      (1u << 18)  /* of one process; names beyond are left out */
#define JIT_NAME_BYTES_MAX 512u        /* of one name; the rest is cut off */

typedef struct JitName {
        uint64_t start;
        uint64_t end;
        uint32_t order; /* its number among the lines: code may take the place of older code */
        uint32_t n_text;
        const char *text;
        uint64_t
                key; /* equal for equal names; two different names can hardly be made to have the same */
} JitName;

typedef struct JitNames {
        JitName *names; /* by start */
        size_t n;
        char *text;     /* all of them point into it */
        size_t n_bytes; /* of memory, all in all */
} JitNames;

/* Takes ownership of the text, also on failure; it has a NUL behind its `n_text` bytes. Returns 0 or -ENOMEM. */
int jit_names_new(JitNames **ret, char *text, size_t n_text);
JitNames *jit_names_free(JitNames *names);

/* Returns NULL if the address has no name. */
const JitName *jit_names_find(const JitNames *names, uint64_t address);
