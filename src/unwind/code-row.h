/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Code row: the row of a place in code without rows, from its instructions
 *
 * A function gives its caller the stack back as it got it. So what the instructions from here to the function's end do
 * with the stack pointer tells where the return address is. That needs code that plainly runs on to a `ret`, or to a
 * jump through memory, as in the entry points of libraries that choose an implementation. Whatever else is found makes
 * no row: there is no guess.
 *
 * What it says is true of code as compilers and assemblers make it. A caller of this therefore believes it only where
 * the stack can be walked from there to its end.
 */

#include <stdbool.h>
#include <stddef.h>

#include "unwind/architecture.h"
#include "unwind/row.h"

#define CODE_ROW_BYTES_MAX        (32u << 10)
#define CODE_ROW_INSTRUCTIONS_MAX 2048u

/* `bytes`: the code around the place, which is at byte `at` of it. Returns false if it says nothing, or is of another
 * processor than x86-64. */
bool code_row(UnwindRow *ret,
              const Architecture *architecture,
              const uint8_t *bytes,
              size_t n_bytes,
              size_t at);
