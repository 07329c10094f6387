/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unwinder: from registers and a piece of stack to the frames of a call stack
 *
 * It reads only what it is given and allocates nothing after unwinder_new(), so it may run in a signal handler, in a
 * malloc() hook, or over a ring that the kernel writes. One thread at a time may use it. Its caches have a fixed size.
 *
 * A frame's address is that of the call: one byte before the return address. So it is in the function, line and row of
 * the call, even if the call is the last instruction of its function.
 */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/address-space.h"

#define UNWIND_FRAMES_MAX        512u
#define UNWIND_POINTER_STEPS_MAX 16 /* frame pointers to follow until a return address is code */

typedef enum UnwindEnd {
        UNWIND_COMPLETE,
        UNWIND_UNREAD,      /* the file `needs` must be read first; then start again */
        UNWIND_STACK_SHORT, /* the stack continues beyond the piece */
        UNWIND_NO_CODE,     /* a return address does not point to code */
        UNWIND_NO_ROW,      /* the caller cannot be found */
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
        uint64_t pc;      /* in the process */
        CodeFile *file;   /* NULL: code in no file */
        uint64_t address; /* in the file's address space; the offset if the file is not ELF */
} UnwindFrame;

typedef struct UnwindCacheEntry UnwindCacheEntry;
typedef struct UnwindRowEntry UnwindRowEntry;

typedef struct Unwinder {
        const Architecture *architecture;
        UnwindCacheEntry *places;              /* by address space and address */
        UnwindRowEntry *rows;                  /* by module and address: shared by processes */
        CodeFile *needs;                       /* of UNWIND_UNREAD */
        UnwindFrame frames[UNWIND_FRAMES_MAX]; /* innermost first */
        size_t n_frames;
        bool is_rowless;             /* there was no row for the innermost frame */
        uint64_t n_steps_by_pointer; /* so far */
        uint64_t n_rows_made;        /* so far */
} Unwinder;

/* -EOPNOTSUPP: the machine (EM_…) is unknown. */
int unwinder_new(Unwinder **ret, uint16_t elf_machine);
Unwinder *unwinder_free(Unwinder *unwinder);

/* Fills `frames`. The first is the start itself, so there is at least one unless the result is UNWIND_UNREAD. */
UnwindEnd unwinder_run(Unwinder *unwinder,
                       const AddressSpace *space,
                       const UnwindRegisters *registers,
                       const UnwindStack *stack);

/* The same with a row for the innermost frame, which has none: of code-row.h. NULL: it has none. */
UnwindEnd unwinder_run_by(Unwinder *unwinder,
                          const AddressSpace *space,
                          const UnwindRegisters *registers,
                          const UnwindStack *stack,
                          const UnwindRow *innermost);

/* Looks up a single address: UNWIND_COMPLETE, UNWIND_UNREAD or UNWIND_NO_CODE. */
UnwindEnd
unwinder_locate(Unwinder *unwinder, UnwindFrame *ret, const AddressSpace *space, uint64_t address);

/* Call it before a CodeFile is freed or read again. */
void unwinder_forget(Unwinder *unwinder);
