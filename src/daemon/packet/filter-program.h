/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Filter program: which fields of which messages may stay
 *
 * A config's trace_filter brings it as bytecode, made offline from a list of fields: varints, of which each is an
 * opcode in the low three bits and a field number above. Messages are numbered in order; the first one is
 * perfetto.protos.Trace. The last word is a checksum. Follows src/protozero/filtering/filter_bytecode_common.h and
 * the comments at TraceConfig.TraceFilter in protos/perfetto/config/trace_config.proto. It is untrusted: the user
 * who starts a session writes it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define FILTER_BYTECODE_BYTES_MAX (256u << 10)
#define FILTER_MESSAGES_MAX       4096       /* message types of one program */
#define FILTER_ACTIONS_MAX        (1u << 18) /* table entries of all of them */
#define FILTER_RANGES_MAX         64         /* of one message, among fields from 1024 on */

typedef enum FilterKind {
        FILTER_DROP,   /* not allowed */
        FILTER_KEEP,   /* as it is */
        FILTER_NESTED, /* a message: argument is its number */
        FILTER_STRING, /* a string that the string rules see: argument is its semantic type */
} FilterKind;

typedef struct FilterAction {
        FilterKind kind;
        uint32_t argument;
} FilterAction;

typedef struct FilterProgram FilterProgram;

/* The overlay (bytecode_overlay_v54), which changes and adds fields, may be empty. Returns 0, -ENOMEM, or -EINVAL
 * with *ret_why set to a constant text. */
int filter_program_new(FilterProgram **ret,
                       const void *bytecode,
                       size_t n_bytecode,
                       const void *overlay,
                       size_t n_overlay,
                       const char **ret_why);
FilterProgram *filter_program_free(FilterProgram *program);
DEFINE_CLEANUP(FilterProgram *, filter_program_free)

/* Messages and fields that the program does not have are dropped. */
FilterAction filter_program_find(const FilterProgram *program, uint32_t message, uint32_t field);
