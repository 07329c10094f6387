/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Architecture: the parts of unwinding that differ between processors
 *
 * Registers have DWARF's numbers. Only a few matter to a caller's frame: those that a stack frame is found by. A
 * processor is a row of the table in architecture.c. Nothing samples on arm64 yet, where return addresses may also be
 * signed; docs/INTERNALS.md says what else that takes.
 */

#include <stdint.h>

#include "unwind/row.h"

#define UNWIND_REGISTERS_MAX 33 /* arm64 has the most */

/* A frame that the kernel has made for a signal: where the registers are that it interrupted, above the stack pointer.
 * */
typedef struct SignalFrame {
        const int16_t *offsets; /* by register; -1: not saved */
        uint8_t n_registers;
} SignalFrame;

typedef struct Architecture {
        uint16_t elf_machine;
        uint8_t stack_pointer;
        uint8_t kept[KEPT_N];
        uint8_t return_address; /* the column of the return address */
        uint8_t n_registers;
        SignalFrame signal_frame;
} Architecture;

/* Returns NULL if it is unknown. */
const Architecture *architecture_of_elf(uint16_t elf_machine);
