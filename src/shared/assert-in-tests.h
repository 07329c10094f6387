/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Assertions in code that also runs in other people's processes, which must never be aborted
 *
 * They hold in sanitizer builds, which only tests use.
 */

#include <assert.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define assert_in_tests(condition) assert(condition)
#else
#define assert_in_tests(condition) ((void)sizeof(condition))
#endif
