/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The failing allocator for programs that use PCRE2, whose allocations fail as well
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>

#include "../failing-allocator.h"

FAILING(pcre2_code *,
        (*error = PCRE2_ERROR_HEAP_FAILED, NULL),
        pcre2_compile_8,
        (PCRE2_SPTR text,
         PCRE2_SIZE n,
         uint32_t options,
         int *error,
         PCRE2_SIZE *at,
         pcre2_compile_context *context),
        text,
        n,
        options,
        error,
        at,
        context)
FAILING(pcre2_match_context *,
        NULL,
        pcre2_match_context_create_8,
        (pcre2_general_context * context),
        context)
FAILING(pcre2_match_data *,
        NULL,
        pcre2_match_data_create_from_pattern_8,
        (const pcre2_code *code, pcre2_general_context *context),
        code,
        context)
