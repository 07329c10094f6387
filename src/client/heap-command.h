/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap command: what a program is started with so that its heap can be recorded
 *
 * The library that counts allocations is loaded into the command before all others, and into what the command starts.
 */

#include <stdint.h>

#include "client/exit-status.h"
#include "client/process.h"

#define HEAP_INTERVAL_DEFAULT 32768u
#define HEAP_INTERVAL_MAX     (UINT64_C(1) << 40)

typedef struct HeapCommand {
        char *preload;  /* $LD_PRELOAD; NULL: the heap is not recorded */
        char *interval; /* $DESKTRACE_HEAP */
} HeapCommand;

void heap_command_deinit(HeapCommand *command);

/* "", or a size such as "32K": bytes for each sample. Reports errors. */
ExitStatus heap_command_parse(uint64_t *ret_interval, const char *text);

/* For a program, argv[0] of a command. Reports errors, one of which is that it cannot be loaded into that. */
ExitStatus heap_command_prepare(HeapCommand *ret, uint64_t interval, const char *program);
