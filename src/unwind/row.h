/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Row: how to find the caller's frame from one place in a program
 *
 * The canonical frame address (CFA) is the caller's stack pointer. In .eh_frame, compilers nearly always define it as
 * "register plus offset"; the three DWARF expressions that also occur have kinds of their own. Nothing else can be
 * expressed, and such places have no row.
 */

#include <stdint.h>

typedef enum RowKind {
        ROW_NONE,      /* unknown, or not expressible */
        ROW_REGISTER,  /* CFA = register + cfa */
        ROW_INDIRECT,  /* CFA = the word at register + cfa: a function that aligns its stack */
        ROW_PLT,       /* CFA = stack pointer + 8, or + 16 from byte `cfa` of a PLT entry on */
        ROW_SIGNAL,    /* the kernel's frame of a signal: all registers are in it */
        ROW_OUTERMOST, /* there is no caller */
        _ROW_KIND_N,
} RowKind;

/* Where a register of the caller is. */
typedef enum RowRule {
        RULE_SAME,      /* still in its register */
        RULE_SAVED,     /* at CFA + offset */
        RULE_REGISTER,  /* in register number `offset`: vfork(), longjmp() */
        RULE_AT_FRAME,  /* at frame pointer + offset */
        RULE_UNDEFINED, /* lost; for the return address: there is no caller */
        RULE_NONE,      /* not expressible */
} RowRule;

/* Registers besides the stack pointer that a CFA can depend on. The caller's values of all others are lost. */
enum {
        KEPT_FRAME_POINTER,
        KEPT_BASE, /* rbx, or x19: in the few functions that move the stack pointer without keeping a frame pointer */
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
