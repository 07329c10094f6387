/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Instruction: how long an instruction of x86-64 is, and what it works on
 *
 * Enough to go from one instruction to the next, and to see what becomes of the stack pointer. Vector instructions have
 * a length and nothing else, as none of them changes it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum InstructionMap {
        MAP_ONE_BYTE,
        MAP_TWO_BYTES, /* 0f … */
        MAP_OTHER,     /* all else, vector instructions included */
} InstructionMap;

typedef struct Instruction {
        size_t n_bytes;
        InstructionMap map;
        uint8_t opcode;
        uint8_t mode; /* of ModRM: 3 is a register, all else is memory; 0 without ModRM */
        uint8_t reg;  /* a register, or a part of the opcode */
        uint8_t rm; /* the register, also of an opcode; or the one that an address begins with; UINT8_MAX: none */
        bool has_index;
        bool is_wide;   /* 64 bits */
        bool is_narrow; /* 16 bits */
        int32_t displacement;
        int32_t immediate;
} Instruction;

/* Returns false if the bytes are no instruction, or it does not end within them. */
bool instruction_read(Instruction *ret, const uint8_t *bytes, size_t n_bytes);
