/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Demangle: names of functions as they are written in C++ and Rust
 *
 * C++'s names are taken apart by the machine's own libstdc++, where there is one. Names come from files of anybody:
 * those that are too long stay as they are.
 */

#define DEMANGLE_BYTES_MAX 8192u

/* malloc'ed; NULL: it stays as it is. */
char *symbol_demangle(const char *name);
