/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "module-file.h"
#include "shared/macro.h"
#include "test.h"
#include "unwind/code-row.h"
#include "unwind/instruction.h"

#define STRIDE 10u /* of the C library's functions, of which there are some thousands */

enum {
        RBP = 6, /* DWARF's numbers */
        RSP = 7,
};

static bool row_of(UnwindRow *ret, const uint8_t *code, size_t n, size_t at) {
        return code_row(ret, architecture_of_elf(EM_X86_64), code, n, at);
}

/* A function that saves rbp and rbx, has an array on its stack, and a loop. */
static const uint8_t frameless[] = {
        0x55,                                           /*  0 push %rbp */
        0x53,                                           /*  1 push %rbx */
        0x48, 0x83, 0xec, 0x28,                         /*  2 sub $40,%rsp */
        0xbd, 0x10, 0x00, 0x00, 0x00,                   /*  6 mov $16,%ebp */
        0xc5, 0xfd, 0x6f, 0x04, 0x24,                   /* 11 vmovdqa (%rsp),%ymm0 */
        0x62, 0xf1, 0xfd, 0x48, 0x6f, 0x44, 0x24, 0x01, /* 16 vmovdqa64 64(%rsp),%zmm0 */
        0xff, 0xcd,                                     /* 24 dec %ebp */
        0x75, 0xef,                                     /* 26 jne 11 */
        0x48, 0x83, 0xc4, 0x28,                         /* 28 add $40,%rsp */
        0x5b,                                           /* 32 pop %rbx */
        0x5d,                                           /* 33 pop %rbp */
        0xc3,                                           /* 34 ret */
};

START_TEST(test_a_function_gives_the_stack_back) {
        static const struct {
                size_t at;
                int32_t cfa;
                uint8_t frame_rule;
                uint8_t base_rule;
        } places[] = {
                { 0, 8, RULE_SAME, RULE_SAME },     { 1, 16, RULE_SAVED, RULE_SAME },
                { 2, 24, RULE_SAVED, RULE_SAVED },  { 6, 64, RULE_SAVED, RULE_SAVED },
                { 24, 64, RULE_SAVED, RULE_SAVED }, { 28, 64, RULE_SAVED, RULE_SAVED },
                { 32, 24, RULE_SAVED, RULE_SAVED }, { 33, 16, RULE_SAVED, RULE_SAME },
                { 34, 8, RULE_SAME, RULE_SAME },
        };
        UnwindRow row;

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                ck_assert(row_of(&row, frameless, sizeof(frameless), places[i].at));
                ck_assert_int_eq(row.kind, ROW_REGISTER);
                ck_assert_int_eq(row.cfa_register, RSP);
                ck_assert_int_eq(row.cfa, places[i].cfa);
                ck_assert_int_eq(row.return_rule, RULE_SAVED);
                ck_assert_int_eq(row.return_offset, -8);
                ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], places[i].frame_rule);
                ck_assert_int_eq(row.kept_rule[KEPT_BASE], places[i].base_rule);
                if (places[i].frame_rule == RULE_SAVED)
                        ck_assert_int_eq(row.kept_offset[KEPT_FRAME_POINTER], -16);
        }
}
END_TEST

START_TEST(test_code_that_ends_nowhere_says_nothing) {
        UnwindRow row;

        for (size_t n = 0; n < sizeof(frameless); n++)
                ck_assert(!row_of(&row, frameless, n, 0));
        ck_assert(!row_of(&row, frameless, sizeof(frameless), sizeof(frameless)));
        ck_assert(!row_of(&row, frameless, sizeof(frameless), SIZE_MAX));
        ck_assert(!code_row(&row,
                            &(Architecture){ .elf_machine = EM_AARCH64 },
                            frameless,
                            sizeof(frameless),
                            0));
}
END_TEST

START_TEST(test_a_frame_pointer_is_followed_where_the_stack_is_aligned) {
        static const uint8_t code[] = {
                0x55,                                     /*  0 push %rbp */
                0x48, 0x89, 0xe5,                         /*  1 mov %rsp,%rbp */
                0x53,                                     /*  4 push %rbx */
                0x48, 0x83, 0xe4, 0xe0,                   /*  5 and $-32,%rsp */
                0x48, 0x81, 0xec, 0x00, 0x02, 0x00, 0x00, /*  9 sub $512,%rsp */
                0x90,                                     /* 16 nop */
                0x48, 0x8d, 0x65, 0xf8,                   /* 17 lea -8(%rbp),%rsp */
                0x5b,                                     /* 21 pop %rbx */
                0x5d,                                     /* 22 pop %rbp */
                0xc3,
        };
        UnwindRow row;

        ck_assert(row_of(&row, code, sizeof(code), 16));
        ck_assert_int_eq(row.cfa_register, RBP);
        ck_assert_int_eq(row.cfa, 16);
        ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], RULE_SAVED);
        ck_assert_int_eq(row.kept_offset[KEPT_FRAME_POINTER], -16);
        ck_assert_int_eq(row.kept_offset[KEPT_BASE], -24);
        ck_assert(row_of(&row, code, sizeof(code), 0));
        ck_assert_int_eq(row.cfa_register, RSP);
        ck_assert_int_eq(row.cfa, 8);
        ck_assert(row_of(&row, code, sizeof(code), 22));
        ck_assert_int_eq(row.cfa_register, RSP);
        ck_assert_int_eq(row.cfa, 16);
}
END_TEST

/* As in libraries of OpenGL: which function it is stands in a table of the thread. */
START_TEST(test_an_entry_point_goes_on_elsewhere) {
        static const uint8_t code[] = {
                0x48, 0x8b, 0x05, 0x00, 0x10, 0x00, 0x00, /* mov 4096(%rip),%rax */
                0x64, 0x4c, 0x8b, 0x18,                   /* mov %fs:(%rax),%r11 */
                0x41, 0xff, 0xa3, 0x80, 0x00, 0x00, 0x00, /* jmp *128(%r11) */
        };
        static const uint8_t by_table[] = { 0xff, 0x24, 0xc5, 0, 0, 0, 0 };
        static const uint8_t by_register[] = { 0xff, 0xe0 };
        UnwindRow row;

        for (size_t at = 0; at < sizeof(code); at += at < 7 ? 7 : at < 11 ? 4 : 7) {
                ck_assert(row_of(&row, code, sizeof(code), at));
                ck_assert_int_eq(row.cfa_register, RSP);
                ck_assert_int_eq(row.cfa, 8);
        }
        ck_assert(!row_of(&row, by_table, sizeof(by_table), 0));
        ck_assert(!row_of(&row, by_register, sizeof(by_register), 0));
}
END_TEST

/* What stands behind the call is another function. */
START_TEST(test_a_call_that_never_returns_is_no_way) {
        static const uint8_t code[] = {
                0x48, 0x83, 0xec, 0x18,       /*  0 sub $24,%rsp */
                0x74, 0x06,                   /*  4 je 12 */
                0xe8, 0x00, 0x01, 0x00, 0x00, /*  6 call */
                0x90,                         /* 11 nop */
                0x48, 0x83, 0xc4, 0x18,       /* 12 add $24,%rsp */
                0xc3,
        };
        UnwindRow row;

        ck_assert(!row_of(&row, code, sizeof(code), 6));
        ck_assert(row_of(&row, code, sizeof(code), 4));
        ck_assert_int_eq(row.cfa, 32);
}
END_TEST

START_TEST(test_endless_code_has_an_end) {
        static const uint8_t loop[] = { 0xeb, 0xfe };
        uint8_t *long_one = malloc(CODE_ROW_BYTES_MAX);
        UnwindRow row;

        ck_assert(!row_of(&row, loop, sizeof(loop), 0));
        memset(long_one, 0x50, CODE_ROW_BYTES_MAX); /* push %rax */
        ck_assert(!row_of(&row, long_one, CODE_ROW_BYTES_MAX, 0));
        memset(long_one, 0x75, CODE_ROW_BYTES_MAX); /* jne, far ahead */
        ck_assert(!row_of(&row, long_one, CODE_ROW_BYTES_MAX, 0));
        free(long_one);
}
END_TEST

/*
 * The C library: its instructions and its tables say the same
 */

typedef struct Library {
        Module *module;
        uint8_t *bytes;
        size_t n_bytes;
        size_t n_places;
        size_t n_found;
        size_t n_wrong;
} Library;

static bool library_open(Library *library) {
        Dl_info info;
        struct stat st;
        int fd;

        *library = (Library){};
        if (!dladdr((void *)getpid, &info) ||
            test_module_open(&library->module, info.dli_fname) != 0)
                return false;
        if (library->module->image.machine != EM_X86_64) {
                library->module = module_free(library->module);
                return false;
        }
        fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &st), 0);
        library->n_bytes = (size_t)st.st_size;
        library->bytes = mmap(NULL, library->n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        ck_assert_ptr_ne(library->bytes, MAP_FAILED);
        close(fd);
        return true;
}

static void compare_place(Library *library, uint64_t address, size_t offset) {
        const size_t before = MIN(offset, (size_t)8192);
        UnwindRow wanted, row;

        module_row(library->module, &wanted, address);
        if (wanted.kind != ROW_REGISTER || wanted.cfa_register != RSP ||
            wanted.return_rule != RULE_SAVED)
                return;
        library->n_places++;
        if (!row_of(&row,
                    library->bytes + offset - before,
                    MIN(library->n_bytes - offset + before, (size_t)CODE_ROW_BYTES_MAX),
                    before) ||
            row.cfa_register != RSP)
                return;
        library->n_found++;
        library->n_wrong += row.cfa != wanted.cfa;
}

/* Nothing ever runs in what fills the space up to a jump's target. */
static bool is_padding(const Instruction *instruction) {
        return instruction->map == MAP_TWO_BYTES ? instruction->opcode == 0x1f
                                                 : instruction->opcode == 0x90;
}

static void compare_function(Library *library, const CfiEntry *entry) {
        uint64_t offset, n_bytes;
        Instruction instruction;

        if (!elf_image_find(&library->module->image, entry->start, &offset, &n_bytes))
                return;
        for (uint64_t at = 0; at < MIN(entry->end - entry->start, n_bytes);
             at += instruction.n_bytes) {
                ck_assert_msg(
                        instruction_read(&instruction, library->bytes + offset + at, n_bytes - at),
                        "at %" PRIx64,
                        entry->start + at);
                if (!is_padding(&instruction))
                        compare_place(library, entry->start + at, (size_t)(offset + at));
        }
}

START_TEST(test_instructions_agree_with_tables) {
        const CfiSection *section;
        size_t n_functions = 0;
        Library library;
        CfiEntry entry;

        if (!library_open(&library))
                return;
        section = &library.module->section;
        for (size_t at = 0; at < section->n_bytes; at = cfi_record_end(section, at))
                if (n_functions++ % STRIDE == 0 && cfi_entry_read(&entry, section, at) == 0)
                        compare_function(&library, &entry);
        printf("# %zu places, a row for %zu, %zu of them another one than the table has\n",
               library.n_places,
               library.n_found,
               library.n_wrong);
        fflush(stdout);
        ck_assert_uint_gt(library.n_places, 1000);
        ck_assert_uint_ge(library.n_found * 10, library.n_places * 8);
        ck_assert_uint_le(library.n_wrong * 100, library.n_found);
        munmap(library.bytes, library.n_bytes);
        module_free(library.module);
}
END_TEST

TEST_MAIN("code-row",
          test_a_function_gives_the_stack_back,
          test_code_that_ends_nowhere_says_nothing,
          test_a_frame_pointer_is_followed_where_the_stack_is_aligned,
          test_an_entry_point_goes_on_elsewhere,
          test_a_call_that_never_returns_is_no_way,
          test_endless_code_has_an_end,
          test_instructions_agree_with_tables)
