/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ELF symbols: where in a program's file a function is
 *
 * Uprobes are placed by offset. The file is whatever the config names, so sizes are checked before anything is read.
 */

#include <stdbool.h>
#include <stdint.h>

/* Programs have one of all symbols and one for the dynamic linker. Each that is read stays in memory until the end. */
#define ELF_TABLES_MAX 4

/* A near name is searched among at most this many functions: browsers have half a million, and a config names
 * hundreds of probes. */
#define ELF_NEAREST_MAX 20000

/* Whether, by the file's symbols, a function begins at that offset. 0 with `*ret`; PROBE_E_REFUSED. */
int elf_has_function_at(bool *ret, int fd, const char *path, uint64_t offset, char **ret_error);

/* `symbol` is "name" or "name+offset". `fd` is of a regular file; `path` is for errors. Returns 0; PROBE_E_REFUSED,
 * with the nearest name if there is one; -ENOMEM. */
int elf_find_function(uint64_t *ret_offset,
                      int fd,
                      const char *path,
                      const char *symbol,
                      char **ret_error);
