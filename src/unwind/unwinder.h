/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unwinder: from registers and a piece of stack to the frames of a call stack
 *
 * It reads nothing but what it is given, and allocates nothing once it is made, so it may run in a signal handler, in a
 * malloc() hook, or over a ring that the kernel writes. One thread at a time uses it. What it remembers of addresses is
 * a table of fixed size.
 *
 * A frame's address is where the call is, not where it returns to: a byte before the return address. So it is in the
 * function, in the line and in the row that the call belongs to, also when nothing follows the call.
 */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/address-space.h"

#define UNWIND_FRAMES_MAX        512u
#define UNWIND_POINTER_STEPS_MAX 16 /* along frame pointers, until one returns to code */

typedef enum UnwindEnd {
        UNWIND_COMPLETE,
        UNWIND_UNREAD,      /* the file of `needs` must be read first; then start again */
        UNWIND_STACK_SHORT, /* it goes on where the piece of stack has ended */
        UNWIND_NO_CODE,     /* a return address that points to no code */
        UNWIND_NO_ROW,      /* nothing is known of how to go on */
        UNWIND_TOO_DEEP,
        _UNWIND_END_N,
} UnwindEnd;

typedef struct UnwindRegisters {
        uint64_t pc;
        uint64_t values[UNWIND_REGISTERS_MAX]; /* by DWARF's numbers */
        uint64_t known;                        /* a bit for each */
} UnwindRegisters;

typedef struct UnwindStack {
        uint64_t address;
        const void *bytes;
        size_t n_bytes;
} UnwindStack;

typedef struct UnwindFrame {
        uint64_t pc;    /* in the process */
        CodeFile *file; /* NULL: code in no file */
        uint64_t
                address; /* as the file's segments count; of a file that is no program, the offset */
} UnwindFrame;

typedef struct UnwindCacheEntry UnwindCacheEntry;
typedef struct UnwindRowEntry UnwindRowEntry;

typedef struct Unwinder {
        const Architecture *architecture;
        UnwindCacheEntry *places;              /* by address space and address */
        UnwindRowEntry *rows;                  /* by module and address: what processes share */
        CodeFile *needs;                       /* of UNWIND_UNREAD */
        UnwindFrame frames[UNWIND_FRAMES_MAX]; /* innermost first */
        size_t n_frames;
        uint64_t n_steps_by_pointer; /* so far */
        uint64_t n_rows_made;        /* so far */
} Unwinder;

/* -EOPNOTSUPP: the machine (EM_…) is unknown. */
int unwinder_new(Unwinder **ret, uint16_t elf_machine);
Unwinder *unwinder_free(Unwinder *unwinder);

/* Fills `frames`. There is at least one, the place itself, unless the end is UNWIND_UNREAD. */
UnwindEnd unwinder_run(Unwinder *unwinder,
                       const AddressSpace *space,
                       const UnwindRegisters *registers,
                       const UnwindStack *stack);

/* One address alone: UNWIND_COMPLETE, UNWIND_UNREAD or UNWIND_NO_CODE. */
UnwindEnd
unwinder_locate(Unwinder *unwinder, UnwindFrame *ret, const AddressSpace *space, uint64_t address);

/* Before a CodeFile goes, or when it is read again. */
void unwinder_forget(Unwinder *unwinder);
