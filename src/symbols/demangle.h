/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Demangle: names of functions as they are written in C++ and Rust
 *
 * The machine's own libstdc++ demangles C++ names, if it is installed. Files may come from strangers, so names that are
 * too long stay as they are.
 */

#define DEMANGLE_BYTES_MAX 8192u

/* malloc'ed; NULL: it stays as it is. */
char *symbol_demangle(const char *name);
