/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "forged-elf.h"
#include "shared/macro.h"
#include "test.h"
#include "unwind/unwinder.h"

#define BASE        UINT64_C(0x7f0000000000)
#define OTHER_BASE  UINT64_C(0x7e0000000000)
#define STACK_START UINT64_C(0x7ffc00000000)
#define N_WORDS     2048u

/* DW_CFA_def_cfa rsp 8; DW_CFA_offset rip at CFA - 8 */
static const uint8_t common[] = { 0x0c, 7, 8, 0x90, 1 };

typedef struct World {
        ForgedElf elf;
        Module *module;
        CodeFile file;
        AddressSpace space;
        Unwinder *unwinder;
        uint64_t words[N_WORDS];
        UnwindStack stack;
        UnwindRegisters registers;
        uint64_t plain;     /* a function that pushes nothing */
        uint64_t framed;    /* one that has pushed rbp, from its second byte on, and uses it */
        uint64_t outermost; /* one that nobody has called */
        uint64_t unknown;   /* one of whose frame nothing can be said */
} World;

static Mapping mapping_at(World *world, uint64_t base) {
        return (Mapping){ .start = base, .end = base + FORGED_SIZE, .file = &world->file };
}

static World *world_new(void) {
        /* advance 1; def_cfa_offset 16; rbp at CFA - 16; advance 3; def_cfa_register rbp */
        static const uint8_t framed[] = { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6 };
        static const uint8_t outermost[] = { 0x07, 16 };
        static const uint8_t unknown[] = { 0x0f, 1, 0x96 };
        World *world = calloc(1, sizeof(*world));

        forged_begin(&world->elf, common, sizeof(common));
        world->plain = BASE + forged_function(&world->elf, NULL, 0);
        world->framed = BASE + forged_function(&world->elf, framed, sizeof(framed));
        world->outermost = BASE + forged_function(&world->elf, outermost, sizeof(outermost));
        world->unknown = BASE + forged_function(&world->elf, unknown, sizeof(unknown));
        ck_assert_int_eq(module_new(&world->module, &world->elf.reader), 0);
        world->file = (CodeFile){ CODE_READ, world->module };
        address_space_init(&world->space);
        ck_assert_int_eq(
                address_space_map(&world->space, &(Mapping[]){ mapping_at(world, BASE) }[0]), 0);
        ck_assert_int_eq(unwinder_new(&world->unwinder, EM_X86_64), 0);
        world->stack = (UnwindStack){ STACK_START, world->words, sizeof(world->words) };
        world->registers.known = 0xffff;
        world->registers.values[7] = STACK_START;
        return world;
}

static void world_free(World *world) {
        unwinder_free(world->unwinder);
        address_space_deinit(&world->space);
        module_free(world->module);
        free(world);
}

static uint64_t place(size_t word) {
        return STACK_START + 8 * word;
}

static UnwindEnd run_at(World *world, uint64_t pc, uint64_t fp) {
        world->registers.pc = pc;
        world->registers.values[6] = fp;
        return unwinder_run(world->unwinder, &world->space, &world->registers, &world->stack);
}

static void expect(const World *world, size_t i, uint64_t pc) {
        ck_assert_uint_lt(i, world->unwinder->n_frames);
        ck_assert_uint_eq(world->unwinder->frames[i].pc, pc);
        ck_assert_uint_eq(world->unwinder->frames[i].address, pc - BASE);
}

START_TEST(test_a_stack_is_complete_when_nobody_has_called) {
        World *world = world_new();

        world->words[0] = world->outermost + 9;
        ck_assert_int_eq(run_at(world, world->plain + 5, 0), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        expect(world, 0, world->plain + 5);
        expect(world, 1, world->outermost + 8); /* the call, not what follows it */

        world->words[0] = 0;
        ck_assert_int_eq(run_at(world, world->plain + 5, 0), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 1);
        world_free(world);
}
END_TEST

/* Nothing follows a call that never returns, so the return address is the next function's first byte. */
START_TEST(test_a_caller_is_where_it_calls_from) {
        World *world = world_new();

        world->words[0] = world->framed; /* behind the last byte of the plain function */
        world->words[1] = world->outermost + 1;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        expect(world, 1, world->framed - 1);
        world_free(world);
}
END_TEST

START_TEST(test_frame_pointers_are_followed_where_they_are_kept) {
        World *world = world_new();

        world->words[4] = place(10);
        world->words[5] = world->framed + 8;
        world->words[10] = 0;
        world->words[11] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, world->framed + 20, place(4)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        ck_assert_uint_eq(world->unwinder->n_steps_by_pointer, 0);
        world_free(world);
}
END_TEST

/* The function's end: rbp is what it was in the caller, and its place is below the stack pointer. The caller finds its
 * own frame by it. */
START_TEST(test_a_register_that_is_no_longer_on_the_stack_has_been_restored) {
        /* as compilers write it: what a `pop` restores is not said */
        static const uint8_t ending[] = { 0x86, 2 };
        World *world = world_new();
        const uint64_t at = BASE + forged_function(&world->elf, ending, sizeof(ending));

        module_free(world->module);
        ck_assert_int_eq(module_new(&world->module, &world->elf.reader), 0);
        world->file.module = world->module;
        world->words[0] = world->framed + 8;
        world->words[6] = 0;
        world->words[7] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, at, place(6)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        expect(world, 2, world->outermost + 7);
        world_free(world);
}
END_TEST

/* As in vfork(): the return address is in rdi, in the place itself. A caller's rdi is lost. */
START_TEST(test_a_return_address_may_be_in_a_register) {
        static const uint8_t in_rdi[] = { 0x09, 16, 5, 0x0e, 0 };
        World *world = world_new();
        const uint64_t at = BASE + forged_function(&world->elf, in_rdi, sizeof(in_rdi));

        module_free(world->module);
        ck_assert_int_eq(module_new(&world->module, &world->elf.reader), 0);
        world->file.module = world->module;
        world->registers.values[5] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, at, 0), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        expect(world, 1, world->outermost + 7);
        world->words[0] = at + 1;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_NO_ROW);
        world_free(world);
}
END_TEST

START_TEST(test_without_a_row_the_frame_pointer_leads_on) {
        World *world = world_new();

        world->words[3] = place(8); /* a frame of code that is in no file, and is passed over */
        world->words[4] = 0x1234;
        world->words[8] = 0;
        world->words[9] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, world->unknown, place(3)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        ck_assert_uint_eq(world->unwinder->n_steps_by_pointer, 1);
        expect(world, 1, world->outermost + 7);

        ck_assert_int_eq(run_at(world, world->unknown, 0), UNWIND_COMPLETE);
        ck_assert_int_eq(run_at(world, world->unknown, place(0) - 8), UNWIND_NO_ROW);
        ck_assert_int_eq(run_at(world, world->unknown, place(N_WORDS)), UNWIND_STACK_SHORT);
        world->words[3] = place(3); /* a chain that bites its tail */
        ck_assert_int_eq(run_at(world, world->unknown, place(3)), UNWIND_NO_ROW);
        world_free(world);
}
END_TEST

START_TEST(test_code_in_no_file_is_a_frame_too) {
        World *world = world_new();
        const uint64_t jit = UINT64_C(0x500000);

        address_space_map(&world->space, &(Mapping){ .start = jit, .end = jit + 4096 });
        world->words[2] = 0;
        world->words[3] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, jit + 7, place(2)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        ck_assert_ptr_null(world->unwinder->frames[0].file);
        ck_assert_uint_eq(world->unwinder->frames[0].pc, jit + 7);

        ck_assert_int_eq(run_at(world, 1, place(2)), UNWIND_COMPLETE); /* nobody's address */
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        world_free(world);
}
END_TEST

START_TEST(test_a_stack_that_is_not_all_there_says_so) {
        World *world = world_new();

        world->words[0] = world->plain + 2;
        world->words[1] = world->plain + 2;
        world->stack.n_bytes = 16;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_STACK_SHORT);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        world->stack.n_bytes = 0;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_STACK_SHORT);
        ck_assert_uint_eq(world->unwinder->n_frames, 1);
        world_free(world);
}
END_TEST

START_TEST(test_a_return_address_that_is_no_code_ends_the_stack) {
        World *world = world_new();

        world->words[0] = 0x4242;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_NO_CODE);
        ck_assert_uint_eq(world->unwinder->n_frames, 1);
        world_free(world);
}
END_TEST

START_TEST(test_endless_recursion_has_an_end) {
        World *world = world_new();

        for (size_t i = 0; i < N_WORDS; i++)
                world->words[i] = world->plain + 2;
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_TOO_DEEP);
        ck_assert_uint_eq(world->unwinder->n_frames, UNWIND_FRAMES_MAX);
        world_free(world);
}
END_TEST

START_TEST(test_a_file_that_nobody_has_read_is_asked_for) {
        World *world = world_new();

        world->file = (CodeFile){ CODE_UNREAD };
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_UNREAD);
        ck_assert_ptr_eq(world->unwinder->needs, &world->file);
        world->file = (CodeFile){ CODE_READ, world->module };
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_COMPLETE);

        world->file = (CodeFile){ CODE_OPAQUE };
        unwinder_forget(world->unwinder);
        world->words[2] = 0;
        world->words[3] = 0;
        ck_assert_int_eq(run_at(world, world->plain + 7, place(2)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->frames[0].address, world->plain + 7 - BASE);
        world_free(world);
}
END_TEST

/* Of a program without tables, say: that its register is 0 does not make the innermost function the only one. */
START_TEST(test_no_frame_pointer_says_nothing_where_there_are_no_rows) {
        World *world = world_new();

        world->file = (CodeFile){ CODE_OPAQUE };
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_NO_ROW);
        ck_assert_uint_eq(world->unwinder->n_frames, 1);
        /* What has called something keeps the rules of the ABI. */
        world->words[2] = 0;
        world->words[3] = world->plain + 8;
        ck_assert_int_eq(run_at(world, world->plain, place(2)), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 2);
        world_free(world);
}
END_TEST

START_TEST(test_processes_share_the_rows_of_a_file) {
        World *world = world_new();
        AddressSpace other;

        address_space_init(&other);
        ck_assert_int_eq(
                address_space_map(&other, &(Mapping[]){ mapping_at(world, OTHER_BASE) }[0]), 0);
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_rows_made, 1);
        world->registers.pc += OTHER_BASE - BASE;
        ck_assert_int_eq(unwinder_run(world->unwinder, &other, &world->registers, &world->stack),
                         UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->frames[0].address, world->plain - BASE);
        ck_assert_uint_eq(world->unwinder->n_rows_made, 1);
        address_space_deinit(&other);
        world_free(world);
}
END_TEST

START_TEST(test_what_is_mapped_elsewhere_is_not_remembered) {
        World *world = world_new();

        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_COMPLETE);
        ck_assert_ptr_eq(world->unwinder->frames[0].file, &world->file);
        ck_assert_int_eq(address_space_map(&world->space,
                                           &(Mapping){ .start = BASE, .end = BASE + FORGED_SIZE }),
                         0);
        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_NO_ROW);
        ck_assert_ptr_null(world->unwinder->frames[0].file);
        world_free(world);
}
END_TEST

/* Places share a table by a number made of both. Sooner or later two address spaces meet in it. */
START_TEST(test_address_spaces_do_not_take_each_other_s_places) {
        World *world = world_new();

        ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_COMPLETE);
        for (unsigned i = 0; i < 100000; i++) {
                address_space_clear(&world->space);
                address_space_map(&world->space,
                                  &(Mapping){ .start = BASE, .end = BASE + FORGED_SIZE });
                ck_assert_int_eq(run_at(world, world->plain, 0), UNWIND_NO_ROW);
                ck_assert_ptr_null(world->unwinder->frames[0].file);
        }
        world_free(world);
}
END_TEST

/* There a return address is in a register, x30, until a function saves it. */
START_TEST(test_a_stack_of_arm64_is_walked_by_its_rows) {
        static const uint8_t begin[] = { 0x0c, 31, 0 }; /* CFA = sp */
        /* stp x29, x30, [sp, #-16]! */
        static const uint8_t framed[] = { 0x44, 0x0e, 16, 0x80 | 29, 2, 0x80 | 30, 1 };
        static const uint8_t outermost[] = { 0x07, 30 };
        World *world = calloc(1, sizeof(*world));
        uint64_t leaf, caller, first;

        forged_begin(&world->elf, begin, sizeof(begin));
        forged_number(&world->elf, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 2);
        world->elf.bytes[FORGED_SECTION + 4 + 10] = 30; /* the return address's column */
        leaf = BASE + forged_function(&world->elf, NULL, 0);
        caller = BASE + forged_function(&world->elf, framed, sizeof(framed));
        first = BASE + forged_function(&world->elf, outermost, sizeof(outermost));
        ck_assert_int_eq(module_new(&world->module, &world->elf.reader), 0);
        world->file = (CodeFile){ CODE_READ, world->module };
        address_space_init(&world->space);
        ck_assert_int_eq(
                address_space_map(&world->space, &(Mapping[]){ mapping_at(world, BASE) }[0]), 0);
        ck_assert_int_eq(unwinder_new(&world->unwinder, EM_AARCH64), 0);
        world->stack = (UnwindStack){ STACK_START, world->words, sizeof(world->words) };
        world->registers = (UnwindRegisters){ .pc = leaf + 8, .known = UINT64_MAX };
        world->registers.values[31] = STACK_START;
        world->registers.values[30] = caller + 16;
        world->words[0] = 0;
        world->words[1] = first + 8;
        ck_assert_int_eq(
                unwinder_run(world->unwinder, &world->space, &world->registers, &world->stack),
                UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        expect(world, 1, caller + 15);
        expect(world, 2, first + 7);
        ck_assert_uint_eq(world->unwinder->n_steps_by_pointer, 0);
        /* One that has called and not saved it is none. */
        world->registers.values[30] = leaf + 4;
        ck_assert_int_eq(
                unwinder_run(world->unwinder, &world->space, &world->registers, &world->stack),
                UNWIND_NO_ROW);
        world_free(world);
}
END_TEST

/* As of its instructions; and of nothing else, as there it would be wrong. */
START_TEST(test_a_row_can_be_given_for_the_innermost_frame) {
        static const UnwindRow row = {
                .kind = ROW_REGISTER,
                .cfa_register = 7,
                .cfa = 24,
                .return_rule = RULE_SAVED,
                .return_offset = -8,
                .kept_rule = { RULE_SAVED, RULE_SAME },
                .kept_offset = { -16, 0 },
        };
        World *world = world_new();

        world->words[1] = place(6);
        world->words[2] = world->framed + 8;
        world->words[6] = 0;
        world->words[7] = world->outermost + 8;
        ck_assert_int_eq(run_at(world, world->unknown, 1), UNWIND_NO_ROW);
        ck_assert(world->unwinder->is_rowless);
        ck_assert_int_eq(
                unwinder_run_by(
                        world->unwinder, &world->space, &world->registers, &world->stack, &row),
                UNWIND_COMPLETE);
        ck_assert_uint_eq(world->unwinder->n_frames, 3);
        expect(world, 1, world->framed + 7);
        expect(world, 2, world->outermost + 7);

        world->words[0] = world->unknown + 1;
        world->registers.pc = world->plain;
        ck_assert_int_eq(
                unwinder_run_by(
                        world->unwinder, &world->space, &world->registers, &world->stack, &row),
                UNWIND_NO_ROW);
        ck_assert(!world->unwinder->is_rowless);
        world_free(world);
}
END_TEST

TEST_MAIN("unwinder",
          test_a_stack_is_complete_when_nobody_has_called,
          test_a_caller_is_where_it_calls_from,
          test_frame_pointers_are_followed_where_they_are_kept,
          test_a_register_that_is_no_longer_on_the_stack_has_been_restored,
          test_a_return_address_may_be_in_a_register,
          test_without_a_row_the_frame_pointer_leads_on,
          test_code_in_no_file_is_a_frame_too,
          test_a_stack_that_is_not_all_there_says_so,
          test_a_return_address_that_is_no_code_ends_the_stack,
          test_endless_recursion_has_an_end,
          test_a_file_that_nobody_has_read_is_asked_for,
          test_no_frame_pointer_says_nothing_where_there_are_no_rows,
          test_processes_share_the_rows_of_a_file,
          test_what_is_mapped_elsewhere_is_not_remembered,
          test_address_spaces_do_not_take_each_other_s_places,
          test_a_row_can_be_given_for_the_innermost_frame,
          test_a_stack_of_arm64_is_walked_by_its_rows)
