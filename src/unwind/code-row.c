/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Code row: what instructions do with the stack pointer, up to the end of their function */

#include <elf.h>
#include <string.h>

#include "shared/macro.h"
#include "unwind/code-row.h"
#include "unwind/instruction.h"

#define WORD_BYTES 8
#define PATHS_MAX  16u

/* Registers, by their numbers in instructions. */
enum {
        BASE = 3,
        STACK = 4,
        FRAME = 5,
};

/* An address, as an offset from what a register was at the beginning. */
typedef struct Place {
        enum {
                FROM_STACK,
                FROM_FRAME,
                FROM_NOWHERE, /* unknown */
        } from;
        int64_t offset;
} Place;

typedef enum Step {
        STEP_ON,
        STEP_RETURN, /* the stack pointer is at the return address */
        STEP_LOST,   /* this path leads nowhere */
} Step;

/* A way through the function, up to an instruction. */
typedef struct Path {
        size_t at;
        Place stack;
        Place frame;
        Place saved
                [KEPT_N]; /* where the function takes the caller's value from; FROM_NOWHERE: it has kept it */
} Path;

typedef struct Run {
        const uint8_t *bytes;
        size_t n_bytes;
        size_t start;
        Path path;
        Path others[PATHS_MAX]; /* where conditional jumps lead that were passed */
        size_t n_others;
        uint8_t seen[CODE_ROW_BYTES_MAX / 8]; /* a bit for each instruction */
} Run;

static void set_kept(Path *path, uint8_t number) {
        if (number == FRAME) {
                path->saved[KEPT_FRAME_POINTER] = path->stack;
                path->frame.from = FROM_NOWHERE;
        } else if (number == BASE) {
                path->saved[KEPT_BASE] = path->stack;
        }
}

/* `pop` and `push` in 16 bits are in no compiler's code. */
static Step pop(Path *path, const Instruction *instruction, uint8_t number) {
        if (number == STACK || instruction->is_narrow)
                return STEP_LOST;
        set_kept(path, number);
        path->stack.offset += WORD_BYTES;
        return STEP_ON;
}

static Step push(Path *path, const Instruction *instruction) {
        path->stack.offset -= WORD_BYTES;
        return instruction->is_narrow ? STEP_LOST : STEP_ON;
}

/* From here on the stack pointer is unknown, until it is taken from the frame pointer. */
static Step forget(Path *path) {
        path->stack.from = FROM_NOWHERE;
        return STEP_ON;
}

static Step leave(Path *path) {
        path->stack = path->frame;
        set_kept(path, FRAME);
        path->stack.offset += WORD_BYTES;
        return STEP_ON;
}

/* Arithmetic with an immediate operand: the operation is `reg`. */
static Step add(Path *path, const Instruction *instruction) {
        enum { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP };

        if (instruction->mode != 3 || instruction->rm != STACK || (instruction->reg & 7) == CMP)
                return STEP_ON;
        if ((instruction->reg & 7) == ADD)
                path->stack.offset += instruction->immediate;
        else if ((instruction->reg & 7) == SUB)
                path->stack.offset -= instruction->immediate;
        else
                return forget(path);
        return STEP_ON;
}

/* `lea` into the stack pointer. */
static Step address(Path *path, const Instruction *instruction) {
        if (instruction->reg != STACK)
                return STEP_ON;
        if (instruction->has_index || (instruction->rm != STACK && instruction->rm != FRAME))
                return forget(path);
        if (instruction->rm == FRAME)
                path->stack = path->frame;
        path->stack.offset += instruction->displacement;
        return STEP_ON;
}

static Step move(Path *path, uint8_t to, uint8_t from) {
        if (to == FRAME && from == STACK)
                path->frame = path->stack;
        else if (to == STACK && from == FRAME)
                path->stack = path->frame;
        else if (to == STACK)
                return forget(path);
        return STEP_ON;
}

static Step do_group_5(Path *path, const Instruction *instruction) {
        enum { INC, DEC, CALL, FAR_CALL, JUMP, FAR_JUMP, PUSH };

        switch (instruction->reg & 7) {
        case INC:
        case DEC:
        case CALL:
                return STEP_ON;
        case PUSH:
                return push(path, instruction);
        case JUMP: /* by a table, within the function, or from its end to another one */
                return instruction->mode != 3 && !instruction->has_index ? STEP_RETURN : STEP_LOST;
        default:
                return STEP_LOST;
        }
}

/* Arithmetic between registers and memory, of which the low bits say where the result goes. */
static Step do_arithmetic(Path *path, const Instruction *instruction) {
        const bool to_rm = (instruction->opcode & 7) < 2,
                   is_cmp = (instruction->opcode & 0x38) == 0x38;
        const bool is_stack = to_rm ? instruction->mode == 3 && instruction->rm == STACK
                                    : instruction->reg == STACK;

        return (instruction->opcode & 7) < 4 && is_stack && !is_cmp && (instruction->opcode & 1)
                       ? forget(path)
                       : STEP_ON;
}

static Step do_one_byte(Path *path, const Instruction *instruction) {
        const uint8_t opcode = instruction->opcode;

        if (opcode < 0x40)
                return do_arithmetic(path, instruction);
        switch (opcode) {
        case 0x50 ... 0x57:
        case 0x68:
        case 0x6a:
        case 0x9c:
                return push(path, instruction);
        case 0x58 ... 0x5f:
                return pop(path, instruction, instruction->rm);
        case 0x81:
        case 0x83:
                return add(path, instruction);
        case 0x89:
                return instruction->mode == 3 ? move(path, instruction->rm, instruction->reg)
                                              : STEP_ON;
        case 0x8b:
                return move(path,
                            instruction->reg,
                            instruction->mode == 3 ? instruction->rm : UINT8_MAX);
        case 0x8d:
                return address(path, instruction);
        case 0x8f:
                return instruction->mode == 3 ? pop(path, instruction, instruction->rm) : STEP_LOST;
        case 0x9d:
                return pop(path, instruction, UINT8_MAX);
        case 0xc3:
                return STEP_RETURN;
        case 0xc9:
                return leave(path);
        case 0xff:
                return do_group_5(path, instruction);
        case 0x87: /* xchg */
        case 0xc2: /* `ret` that pops arguments, too */
        case 0xc8:
        case 0xca ... 0xcf:
        case 0xf4:
                return opcode == 0x87 && instruction->reg != STACK && instruction->rm != STACK
                               ? STEP_ON
                               : STEP_LOST;
        default:
                return STEP_ON;
        }
}

/*
 * Ways through the function
 */

/* Whether another function begins here, one that may be called through a pointer. */
static bool is_beginning(const Run *run, size_t at) {
        static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

        return at != run->start && run->n_bytes - at >= sizeof(endbr64) &&
               memcmp(run->bytes + at, endbr64, sizeof(endbr64)) == 0;
}

static bool is_jump(const Instruction *instruction) {
        return instruction->map == MAP_ONE_BYTE &&
               (instruction->opcode == 0xe9 || instruction->opcode == 0xeb);
}

static bool is_call(const Instruction *instruction) {
        return instruction->map == MAP_ONE_BYTE &&
               (instruction->opcode == 0xe8 ||
                (instruction->opcode == 0xff && (instruction->reg & 7) == 2));
}

static bool is_conditional(const Instruction *instruction) {
        return instruction->map == MAP_ONE_BYTE
                       ? (instruction->opcode & 0xf0) == 0x70 ||
                                 (instruction->opcode & 0xfc) == 0xe0
                       : instruction->map == MAP_TWO_BYTES && (instruction->opcode & 0xf0) == 0x80;
}

/* What a compiler puts between functions, and where nothing is ever executed. */
static bool is_padding(const Instruction *instruction) {
        return instruction->map == MAP_ONE_BYTE
                       ? instruction->opcode == 0x90 || instruction->opcode == 0xcc
                       : instruction->map == MAP_TWO_BYTES &&
                                 (instruction->opcode == 0x1f || instruction->opcode == 0x0b);
}

/* Returns false if the code is not there. */
static bool go(const Run *run, Path *path, int64_t distance) {
        const int64_t to = (int64_t)path->at + distance;

        if (to < 0 || to >= (int64_t)run->n_bytes)
                return false;
        path->at = (size_t)to;
        return true;
}

static void remember(Run *run, const Instruction *instruction) {
        Path *other = &run->others[run->n_others];

        if (run->n_others == PATHS_MAX)
                return;
        *other = run->path;
        run->n_others += go(run, other, instruction->immediate);
}

static bool is_seen(Run *run, size_t at) {
        const uint8_t bit = (uint8_t)(1u << at % 8);
        const bool is = run->seen[at / 8] & bit;

        run->seen[at / 8] |= bit;
        return is;
}

/* Nothing follows a call that never returns, except the space between functions. */
static bool never_returns(const Run *run) {
        Instruction next;

        return !instruction_read(&next, run->bytes + run->path.at, run->n_bytes - run->path.at) ||
               is_padding(&next);
}

static Step do_instruction(Run *run, const Instruction *instruction) {
        if (is_jump(instruction))
                return go(run, &run->path, instruction->immediate) ? STEP_ON : STEP_LOST;
        if (is_conditional(instruction)) {
                remember(run, instruction);
                return STEP_ON;
        }
        if (is_call(instruction))
                return never_returns(run) ? STEP_LOST : STEP_ON;
        return instruction->map == MAP_ONE_BYTE ? do_one_byte(&run->path, instruction) : STEP_ON;
}

static Step next(Run *run) {
        const size_t at = run->path.at;
        Instruction instruction;

        if (at >= run->n_bytes || is_seen(run, at) || is_beginning(run, at) ||
            !instruction_read(&instruction, run->bytes + at, run->n_bytes - at))
                return STEP_LOST;
        run->path.at += instruction.n_bytes;
        return do_instruction(run, &instruction);
}

/* Where one way ends, another one may lead to the end of the function. */
static Step walk(Run *run) {
        Step step = STEP_ON;

        for (unsigned i = 0; i < CODE_ROW_INSTRUCTIONS_MAX && step != STEP_RETURN; i++) {
                step = next(run);
                if (step != STEP_LOST)
                        continue;
                if (run->n_others == 0)
                        break;
                run->path = run->others[--run->n_others];
        }
        return step;
}

/* What is saved only behind the place is still in its register there. */
static bool set_kept_rule(UnwindRow *row, size_t kept, const Path *path, int64_t cfa) {
        const Place *saved = &path->saved[kept];
        const int64_t offset = saved->offset - cfa;

        if (saved->from == FROM_NOWHERE || (saved->from == FROM_STACK && saved->offset < 0))
                return true;
        row->kept_rule[kept] = RULE_SAVED;
        row->kept_offset[kept] = (int16_t)offset;
        return saved->from == path->stack.from && row->kept_offset[kept] == offset;
}

static bool make_row(UnwindRow *ret, const Architecture *architecture, const Path *path) {
        const int64_t cfa = path->stack.offset + WORD_BYTES;

        if (path->stack.from == FROM_NOWHERE || cfa != (int32_t)cfa ||
            (path->stack.from == FROM_STACK && cfa < WORD_BYTES))
                return false;
        *ret = (UnwindRow){
                .kind = ROW_REGISTER,
                .cfa_register = path->stack.from == FROM_STACK
                                        ? architecture->stack_pointer
                                        : architecture->kept[KEPT_FRAME_POINTER],
                .return_rule = RULE_SAVED,
                .return_offset = -WORD_BYTES,
                .cfa = (int32_t)cfa,
        };
        for (size_t i = 0; i < KEPT_N; i++)
                if (!set_kept_rule(ret, i, path, cfa))
                        return false;
        return true;
}

bool code_row(UnwindRow *ret,
              const Architecture *architecture,
              const uint8_t *bytes,
              size_t n_bytes,
              size_t at) {
        Run run = {
                .bytes = bytes,
                .n_bytes = MIN(n_bytes, (size_t)CODE_ROW_BYTES_MAX),
                .start = at,
                .path = { .at = at,
                          .frame.from = FROM_FRAME,
                          .saved = { { FROM_NOWHERE }, { FROM_NOWHERE } } },
        };

        return architecture->elf_machine == EM_X86_64 && walk(&run) == STEP_RETURN &&
               make_row(ret, architecture, &run.path);
}
