/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unwinder: from registers and a piece of stack to the frames of a call stack */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "unwind/unwinder.h"

/* Places are as many as stay in the processor's own cache while other programs use it, too. */
#define PLACES_BITS 12
#define ROWS_BITS   14
#define WORD_BYTES  8

/* What was found at an address of an address space. A generation is never 0, so an empty entry matches nothing. */
struct UnwindCacheEntry {
        uint64_t address;
        uint32_t generation;
        UnwindRow row;
        CodeFile *file;
        uint64_t file_address;
};

struct UnwindRowEntry {
        uint64_t address;
        uint32_t module;
        UnwindRow row;
};

/* A walk along one stack. */
typedef struct Walk {
        Unwinder *unwinder;
        const AddressSpace *space;
        const UnwindStack *stack;
        UnwindRegisters registers;
        const UnwindRow *innermost; /* instead of a row that is missing; NULL: nothing */
        bool is_return;             /* pc is a return address */
        bool is_blind;              /* the innermost frame is in code that has no rows anywhere */
} Walk;

int unwinder_new(Unwinder **ret, uint16_t elf_machine) {
        Unwinder *unwinder;

        if (!architecture_of_elf(elf_machine))
                return -EOPNOTSUPP;
        unwinder = calloc(1, sizeof(*unwinder));
        if (!unwinder)
                return -ENOMEM;
        unwinder->architecture = architecture_of_elf(elf_machine);
        unwinder->places = calloc((size_t)1 << PLACES_BITS, sizeof(*unwinder->places));
        unwinder->rows = calloc((size_t)1 << ROWS_BITS, sizeof(*unwinder->rows));
        if (!unwinder->places || !unwinder->rows) {
                unwinder_free(unwinder);
                return -ENOMEM;
        }
        *ret = unwinder;
        return 0;
}

Unwinder *unwinder_free(Unwinder *unwinder) {
        if (!unwinder)
                return NULL;
        free(unwinder->places);
        free(unwinder->rows);
        free(unwinder);
        return NULL;
}

void unwinder_forget(Unwinder *unwinder) {
        memset(unwinder->places, 0, sizeof(*unwinder->places) << PLACES_BITS);
}

/*
 * Looking up an address
 */

static size_t hash(uint64_t address, uint32_t salt, unsigned n_bits) {
        return (size_t)((address ^ ((uint64_t)salt << 40)) * UINT64_C(0x9e3779b97f4a7c15) >>
                        (64 - n_bits));
}

static void find_row(Unwinder *unwinder, UnwindRow *ret, const Module *module, uint64_t address) {
        UnwindRowEntry *entry = &unwinder->rows[hash(address, module->id, ROWS_BITS)];

        if (entry->address != address || entry->module != module->id) {
                entry->address = address;
                entry->module = module->id;
                module_row(module, &entry->row, address);
                unwinder->n_rows_made++;
        }
        *ret = entry->row;
}

/* Fills in the entry of an address in a mapping. Returns false if the file must be read first. */
static bool
fill_place(Unwinder *unwinder, UnwindCacheEntry *entry, const Mapping *mapping, uint64_t address) {
        const Module *module = mapping->file ? mapping->file->module : NULL;
        uint64_t bias;

        if (mapping->file && mapping->file->state == CODE_UNREAD) {
                unwinder->needs = mapping->file;
                return false;
        }
        entry->file = mapping->file;
        entry->file_address = address - mapping->start + mapping->offset;
        entry->row = (UnwindRow){};
        if (module && elf_image_bias(&module->image, mapping->offset, &bias)) {
                entry->file_address += bias;
                if (module->architecture == unwinder->architecture)
                        find_row(unwinder, &entry->row, module, entry->file_address);
        }
        return true;
}

/* Finds the entry of an address. Returns UNWIND_COMPLETE, UNWIND_UNREAD or UNWIND_NO_CODE. */
static UnwindEnd find_place(Unwinder *unwinder,
                            UnwindCacheEntry **ret,
                            const AddressSpace *space,
                            uint64_t address) {
        UnwindCacheEntry *entry = &unwinder->places[hash(address, space->generation, PLACES_BITS)];
        const Mapping *mapping;

        *ret = entry;
        if (LIKELY(entry->address == address && entry->generation == space->generation))
                return UNWIND_COMPLETE;
        mapping = address_space_find(space, address);
        if (!mapping)
                return UNWIND_NO_CODE;
        entry->generation = 0;
        if (!fill_place(unwinder, entry, mapping, address))
                return UNWIND_UNREAD;
        entry->address = address;
        entry->generation = space->generation;
        return UNWIND_COMPLETE;
}

static UnwindFrame frame_of(const UnwindCacheEntry *entry) {
        return (UnwindFrame){
                .pc = entry->address,
                .file = entry->file,
                .address = entry->file_address,
        };
}

UnwindEnd
unwinder_locate(Unwinder *unwinder, UnwindFrame *ret, const AddressSpace *space, uint64_t address) {
        UnwindCacheEntry *entry;
        UnwindEnd end;

        end = find_place(unwinder, &entry, space, address);
        *ret = end == UNWIND_COMPLETE ? frame_of(entry) : (UnwindFrame){ .pc = address };
        return end;
}

/*
 * One step
 */

/* Returns UNWIND_STACK_SHORT if the word lies above the piece of stack, and UNWIND_NO_ROW if it lies below. */
static UnwindEnd read_word(const UnwindStack *stack, uint64_t address, uint64_t *ret) {
        const uint64_t offset = address - stack->address;

        if (address < stack->address)
                return UNWIND_NO_ROW;
        if (stack->n_bytes < WORD_BYTES || offset > stack->n_bytes - WORD_BYTES)
                return UNWIND_STACK_SHORT;
        memcpy(ret, (const uint8_t *)stack->bytes + offset, WORD_BYTES);
        return UNWIND_COMPLETE;
}

static bool get_register(const Walk *walk, uint8_t number, uint64_t *ret) {
        if (number >= UNWIND_REGISTERS_MAX)
                return false;
        *ret = walk->registers.values[number];
        return walk->registers.known & UINT64_C(1) << number;
}

static uint64_t stack_pointer(const Walk *walk) {
        return walk->registers.values[walk->unwinder->architecture->stack_pointer];
}

static uint64_t frame_pointer(const Walk *walk) {
        return walk->registers.values[walk->unwinder->architecture->kept[KEPT_FRAME_POINTER]];
}

static void set_register(Walk *walk, uint8_t number, uint64_t value) {
        walk->registers.values[number] = value;
        walk->registers.known |= UINT64_C(1) << number;
}

/* The caller's other registers are unknown. */
static void set_caller(Walk *walk, uint64_t pc, uint64_t sp) {
        walk->registers.pc = pc;
        walk->registers.known = 0;
        set_register(walk, walk->unwinder->architecture->stack_pointer, sp);
        walk->is_return = true;
}

static UnwindEnd find_cfa(const Walk *walk, const UnwindRow *row, uint64_t *ret) {
        uint64_t base;

        if (row->kind == ROW_PLT) {
                *ret = stack_pointer(walk) + WORD_BYTES;
                if ((walk->registers.pc & 15) >= (uint64_t)row->cfa)
                        *ret += WORD_BYTES;
                return UNWIND_COMPLETE;
        }
        if (!get_register(walk, row->cfa_register, &base))
                return UNWIND_NO_ROW;
        *ret = base + (uint64_t)(int64_t)row->cfa;
        return row->kind == ROW_INDIRECT ? read_word(walk->stack, *ret, ret) : UNWIND_COMPLETE;
}

/* What a kept register was in the caller. Compilers do not say that a function's end has restored it: when the place
 * where it was saved is no longer on the stack, it has been. A register that nobody knows stays unknown. */
static UnwindEnd
find_kept(const Walk *walk, const UnwindRow *row, size_t kept, uint64_t cfa, uint64_t *ret) {
        const int64_t offset = row->kept_offset[kept];
        uint8_t number = walk->unwinder->architecture->kept[kept];
        uint64_t at;

        if (row->kept_rule[kept] == RULE_SAVED)
                at = cfa + (uint64_t)offset;
        else if (row->kept_rule[kept] == RULE_AT_FRAME)
                at = frame_pointer(walk) + (uint64_t)offset;
        else
                at = 0;
        if (at >= stack_pointer(walk))
                return read_word(walk->stack, at, ret);
        if (row->kept_rule[kept] == RULE_REGISTER)
                number = (uint8_t)offset;
        return get_register(walk, number, ret) ? UNWIND_COMPLETE : UNWIND_NO_ROW;
}

static UnwindEnd find_return(const Walk *walk, const UnwindRow *row, uint64_t cfa, uint64_t *ret) {
        if (row->return_rule == RULE_SAVED)
                return read_word(walk->stack, cfa + (uint64_t)(int64_t)row->return_offset, ret);
        if (row->return_rule == RULE_REGISTER &&
            get_register(walk, (uint8_t)row->return_offset, ret))
                return UNWIND_COMPLETE;
        if (row->return_rule == RULE_SAME &&
            get_register(walk, walk->unwinder->architecture->return_address, ret))
                return UNWIND_COMPLETE;
        return UNWIND_NO_ROW;
}

static UnwindEnd step_by_row(Walk *walk, const UnwindRow *row) {
        uint64_t cfa, pc, kept[KEPT_N];
        UnwindEnd end, kept_ends[KEPT_N];

        end = find_cfa(walk, row, &cfa);
        if (end != UNWIND_COMPLETE)
                return end;
        if (cfa < stack_pointer(walk))
                return UNWIND_NO_ROW;
        end = find_return(walk, row, cfa, &pc);
        if (end != UNWIND_COMPLETE)
                return end;
        for (size_t i = 0; i < KEPT_N; i++)
                kept_ends[i] = find_kept(walk, row, i, cfa, &kept[i]);
        set_caller(walk, pc, cfa);
        for (size_t i = 0; i < KEPT_N; i++)
                if (kept_ends[i] == UNWIND_COMPLETE)
                        set_register(walk, walk->unwinder->architecture->kept[i], kept[i]);
        return UNWIND_COMPLETE;
}

/* The kernel has put all registers on the stack. The next frame was interrupted, not called from: its pc is exact. */
static UnwindEnd step_out_of_signal(Walk *walk) {
        const Architecture *architecture = walk->unwinder->architecture;
        const SignalFrame *frame = &architecture->signal_frame;
        UnwindRegisters interrupted = {};
        const uint64_t sp = stack_pointer(walk);
        UnwindEnd end;

        for (uint8_t i = 0; i < frame->n_registers; i++) {
                end = read_word(
                        walk->stack, sp + (uint64_t)frame->offsets[i], &interrupted.values[i]);
                if (end != UNWIND_COMPLETE)
                        return end;
                interrupted.known |= UINT64_C(1) << i;
        }
        interrupted.pc = interrupted.values[frame->n_registers - 1];
        walk->registers = interrupted;
        walk->is_return = false;
        return UNWIND_COMPLETE;
}

/* Without a row: code that keeps frame pointers has the caller's above its own, and the return address above that. A
 * chain that passes no code at all is none. A frame pointer of 0 is how the ABI marks the outermost frame; but the
 * innermost one may be of code that uses the register as it likes, if there are no rows for any of that code. */
static UnwindEnd step_by_pointer(Walk *walk) {
        const uint8_t fp_number = walk->unwinder->architecture->kept[KEPT_FRAME_POINTER];
        uint64_t sp = stack_pointer(walk), fp, pc, caller;

        walk->unwinder->n_steps_by_pointer++;
        if (!get_register(walk, fp_number, &fp) || (fp == 0 && walk->is_blind))
                return UNWIND_NO_ROW;
        for (unsigned i = 0; i < UNWIND_POINTER_STEPS_MAX; i++) {
                UnwindEnd end;

                if (fp == 0)
                        break;
                end = fp < sp ? UNWIND_NO_ROW : read_word(walk->stack, fp + WORD_BYTES, &pc);
                if (end == UNWIND_COMPLETE)
                        end = read_word(walk->stack, fp, &caller);
                if (end != UNWIND_COMPLETE)
                        return end;
                sp = fp + 2 * WORD_BYTES;
                fp = caller;
                if (pc == 0 || address_space_find(walk->space, pc - 1)) {
                        set_caller(walk, pc, sp);
                        set_register(walk, fp_number, fp);
                        return UNWIND_COMPLETE;
                }
        }
        if (fp != 0)
                return UNWIND_NO_CODE;
        set_caller(walk, 0, sp);
        return UNWIND_COMPLETE;
}

static UnwindEnd step(Walk *walk, const UnwindRow *row) {
        switch (row->kind) {
        case ROW_REGISTER:
        case ROW_INDIRECT:
        case ROW_PLT:
                return step_by_row(walk, row);
        case ROW_SIGNAL:
                return step_out_of_signal(walk);
        case ROW_OUTERMOST:
                walk->registers.pc = 0;
                return UNWIND_COMPLETE;
        default:
                return step_by_pointer(walk);
        }
}

/* The innermost frame is reported even if its address is in no known mapping: its caller may still be found. */
static UnwindEnd begin_nowhere(Walk *walk) {
        walk->unwinder->frames[walk->unwinder->n_frames++] =
                (UnwindFrame){ .pc = walk->registers.pc };
        walk->is_blind = true;
        return step_by_pointer(walk);
}

static bool has_rows(const CodeFile *file) {
        return file && file->module && file->module->section.n_bytes > 0;
}

static UnwindEnd walk_frame(Walk *walk) {
        Unwinder *unwinder = walk->unwinder;
        UnwindCacheEntry *entry;
        const UnwindRow *row;
        UnwindEnd end;

        end = find_place(unwinder, &entry, walk->space, walk->registers.pc - walk->is_return);
        if (end == UNWIND_NO_CODE && unwinder->n_frames == 0)
                return begin_nowhere(walk);
        if (end != UNWIND_COMPLETE)
                return end;
        unwinder->frames[unwinder->n_frames++] = frame_of(entry);
        walk->is_blind = !walk->is_return && !has_rows(entry->file);
        row = &entry->row;
        if (unwinder->n_frames == 1) {
                unwinder->is_rowless = row->kind == ROW_NONE;
                if (unwinder->is_rowless && walk->innermost)
                        row = walk->innermost;
        }
        return step(walk, row);
}

UnwindEnd unwinder_run_by(Unwinder *unwinder,
                          const AddressSpace *space,
                          const UnwindRegisters *registers,
                          const UnwindStack *stack,
                          const UnwindRow *innermost) {
        Walk walk = {
                .unwinder = unwinder,
                .space = space,
                .stack = stack,
                .registers = *registers,
                .innermost = innermost,
        };
        UnwindEnd end;

        unwinder->n_frames = 0;
        unwinder->is_rowless = false;
        do {
                if (unwinder->n_frames == UNWIND_FRAMES_MAX)
                        return UNWIND_TOO_DEEP;
                end = walk_frame(&walk);
        } while (end == UNWIND_COMPLETE && walk.registers.pc != 0);
        return end;
}

UnwindEnd unwinder_run(Unwinder *unwinder,
                       const AddressSpace *space,
                       const UnwindRegisters *registers,
                       const UnwindStack *stack) {
        return unwinder_run_by(unwinder, space, registers, stack, NULL);
}
