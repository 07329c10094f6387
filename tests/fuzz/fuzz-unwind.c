/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The input is a program's file. Whatever it says of its frames, a stack has an end, and its frames are in the file.
 * It is also code: a row that is made of its instructions takes the return address from above the stack pointer.
 */

#include <elf.h>

#include "fuzz.h"
#include "unwind/code-row.h"
#include "unwind/unwinder.h"

#define BASE        UINT64_C(0x10000)
#define STACK_START UINT64_C(0x7fff0000)
#define N_WORDS     64
#define N_PLACES    16

typedef struct InputReader {
        ModuleReader reader;
        const uint8_t *bytes;
        size_t n_bytes;
} InputReader;

static int64_t read_input(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const InputReader *input = (InputReader *)reader;

        if (offset >= input->n_bytes)
                return 0;
        if (n_bytes > input->n_bytes - offset)
                n_bytes = input->n_bytes - offset;
        memcpy(buffer, input->bytes + offset, n_bytes);
        return (int64_t)n_bytes;
}

/* Return addresses all over the file, and pointers into the stack. */
static void fill_stack(uint64_t *words, size_t n_bytes) {
        for (size_t i = 0; i < N_WORDS; i++)
                words[i] = i % 2 ? BASE + i * n_bytes / N_WORDS : STACK_START + 8 * (i + 2);
}

static void walk(Unwinder *unwinder, const AddressSpace *space, uint64_t pc, size_t n_bytes) {
        UnwindRegisters registers = { .pc = pc, .known = 0xffff };
        uint64_t words[N_WORDS];
        UnwindEnd end;

        fill_stack(words, n_bytes);
        for (size_t i = 0; i < 16; i++)
                registers.values[i] = STACK_START + 16 * i;
        registers.values[7] = STACK_START;
        end = unwinder_run(
                unwinder, space, &registers, &(UnwindStack){ STACK_START, words, sizeof(words) });
        FUZZ_CHECK(end != UNWIND_UNREAD);
        FUZZ_CHECK(unwinder->n_frames > 0 && unwinder->n_frames <= UNWIND_FRAMES_MAX);
        for (size_t i = 0; i < unwinder->n_frames; i++)
                FUZZ_CHECK(address_space_find(space, unwinder->frames[i].pc));
}

static void read_code(const uint8_t *data, size_t n_bytes) {
        const Architecture *architecture = architecture_of_elf(EM_X86_64);
        UnwindRow row;

        for (size_t i = 0; i < N_PLACES; i++)
                if (code_row(&row, architecture, data, n_bytes, i * n_bytes / N_PLACES))
                        FUZZ_CHECK(row.kind == ROW_REGISTER && row.return_offset < 0 &&
                                   (row.cfa_register == 6 ||
                                    (row.cfa_register == 7 && row.cfa + row.return_offset >= 0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        InputReader input = { { read_input }, data, n_bytes };
        CodeFile file = { .state = CODE_READ };
        AddressSpace space;
        Unwinder *unwinder;

        read_code(data, n_bytes);
        if (n_bytes == 0 || module_new(&file.module, &input.reader) < 0 || !file.module)
                return 0;
        FUZZ_CHECK(unwinder_new(&unwinder, EM_X86_64) == 0);
        address_space_init(&space);
        address_space_map(&space,
                          &(Mapping){ .start = BASE, .end = BASE + n_bytes, .file = &file });
        for (size_t i = 0; i < N_PLACES; i++)
                walk(unwinder, &space, BASE + i * n_bytes / N_PLACES, n_bytes);
        address_space_deinit(&space);
        unwinder_free(unwinder);
        module_free(file.module);
        return 0;
}
