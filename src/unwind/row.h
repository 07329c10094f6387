/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Row: how to find the caller's frame from one place in a program
 *
 * The canonical frame address (CFA) is what the stack pointer is in the caller. What compilers write into .eh_frame is
 * nearly always "a register and an offset"; three of DWARF's expressions occur besides, and have kinds of their own.
 * Anything else is not expressed: there is no row then.
 */

#include <stdint.h>

typedef enum RowKind {
        ROW_NONE,     /* nothing is known, or not expressible */
        ROW_REGISTER, /* CFA = register + cfa */
        ROW_INDIRECT, /* CFA = the word at register + cfa: a function that aligns its stack */
        ROW_PLT, /* CFA = stack pointer + 8, and 8 more from byte `cfa` of 16 on: the linker's jumps */
        ROW_SIGNAL,    /* the kernel's frame of a signal: all registers are in it */
        ROW_OUTERMOST, /* there is no caller */
        _ROW_KIND_N,
} RowKind;

/* Where a register of the caller is. */
typedef enum RowRule {
        RULE_SAME,      /* still in its register */
        RULE_SAVED,     /* at CFA + offset */
        RULE_REGISTER,  /* in the register of the number `offset`: vfork(), longjmp() */
        RULE_AT_FRAME,  /* at frame pointer + offset */
        RULE_UNDEFINED, /* nowhere: of the return address that means that there is no caller */
        RULE_NONE,      /* not expressible */
} RowRule;

/* The registers that a frame is found by, other than the stack pointer. Of all others a caller's values are lost. */
enum {
        KEPT_FRAME_POINTER,
        KEPT_BASE, /* of the few functions that move the stack pointer and keep no frame pointer */
        KEPT_N,
};

typedef struct UnwindRow {
        uint8_t kind; /* RowKind */
        uint8_t cfa_register;
        uint8_t return_rule;       /* RowRule of the return address */
        uint8_t kept_rule[KEPT_N]; /* RowRule */
        int16_t return_offset;
        int16_t kept_offset[KEPT_N];
        int32_t cfa;
} UnwindRow;
