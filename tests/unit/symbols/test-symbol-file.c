/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* This program is read, and copies of it that were made to harm who reads them. */

#include "symbols/symbol-file.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/fd.h"
#include "symbols/own-program.h"
#include "test.h"

/* The descriptor is of a file that claims to go on for a terabyte, if it has holes. */
static int open_copy(const char *bytes, size_t n, bool has_holes) {
        int fd = memfd_create("copy", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fd_write_all(fd, bytes, n), 0);
        if (has_holes && sizeof(off_t) == 8)
                ck_assert_int_eq(ftruncate(fd, (off_t)(INT64_C(1) << 40)), 0);
        return fd;
}

static int open_fd(const Program *program, int fd) {
        SymbolFile file;
        int r = symbol_file_open_fd(&file, fd, &program->build_id);

        if (r == 0)
                symbol_file_close(&file);
        return r;
}

START_TEST(test_the_file_that_was_recorded_is_read) {
        _cleanup_(program_deinit) Program program;
        SymbolFile file;

        if (!program_init(&program))
                return;
        ck_assert_int_eq(symbol_file_open(&file, "/proc/self/exe", &program.build_id), 0);
        symbol_file_close(&file);
        ck_assert_int_eq(symbol_file_open(&file, "/dev/null", &program.build_id),
                         SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(symbol_file_open_fd(&file,
                                             open_copy(program.bytes, program.n, false),
                                             &program.build_id),
                         0);
        symbol_file_close(&file);
        program.build_id.bytes[0] ^= 1;
        ck_assert_int_eq(open_fd(&program, open_copy(program.bytes, program.n, false)),
                         SYMBOL_FILE_E_OTHER);
}
END_TEST

START_TEST(test_what_is_no_program_is_refused) {
        _cleanup_(program_deinit) Program program;

        if (!program_init(&program))
                return;
        ck_assert_int_eq(open_fd(&program, -1), SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_fd(&program, open_copy("", 0, false)), SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_fd(&program, open_copy("#!/bin/sh\n", 10, false)),
                         SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_fd(&program, open_copy("", 0, true)), SYMBOL_FILE_E_NONE);
}
END_TEST

/* What a header cannot count is in the first section, and libelf would make room for it. */
START_TEST(test_more_parts_than_a_header_counts_are_refused) {
        _cleanup_(program_deinit) Program program;
        ElfW(Ehdr) * header, whole;
        ElfW(Shdr) * section;

        if (!program_init(&program))
                return;
        header = (ElfW(Ehdr) *)program.bytes;
        whole = *header;
        section = (ElfW(Shdr) *)(program.bytes + header->e_shoff);
        section->sh_size = UINT32_MAX;
        section->sh_info = UINT32_MAX;
        header->e_shnum = 0;
        ck_assert_int_eq(open_fd(&program, open_copy(program.bytes, program.n, true)),
                         SYMBOL_FILE_E_NONE);
        *header = whole;
        header->e_phnum = PN_XNUM;
        ck_assert_int_eq(open_fd(&program, open_copy(program.bytes, program.n, true)),
                         SYMBOL_FILE_E_NONE);
        *header = whole;
        ck_assert_int_eq(open_fd(&program, open_copy(program.bytes, program.n, false)), 0);
}
END_TEST

/* A file of three sections: nothing, notes, and the names of sections, of which there are none. */
static int open_notes(const void *notes, size_t n) {
        enum { NOTES = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr) };
        Elf64_Ehdr header = {
                .e_ident = { ELFMAG0,
                             ELFMAG1,
                             ELFMAG2,
                             ELFMAG3,
                             ELFCLASS64,
                             ELFDATA2LSB,
                             EV_CURRENT },
                .e_type = ET_EXEC,
                .e_machine = EM_X86_64,
                .e_version = EV_CURRENT,
                .e_shoff = sizeof(Elf64_Ehdr),
                .e_ehsize = sizeof(Elf64_Ehdr),
                .e_shentsize = sizeof(Elf64_Shdr),
                .e_shnum = 3,
                .e_shstrndx = 2,
        };
        Elf64_Shdr sections[3] = {
                [1] = { .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = n, .sh_addralign = 4 },
                [2] = { .sh_type = SHT_STRTAB, .sh_offset = NOTES + n, .sh_size = 1 },
        };
        char bytes[512] = {};

        ck_assert_uint_lt(NOTES + n, sizeof(bytes));
        memcpy(bytes, &header, sizeof(header));
        memcpy(bytes + sizeof(header), sections, sizeof(sections));
        memcpy(bytes + NOTES, notes, n);
        return open_copy(bytes, NOTES + n + 1, false);
}

static int open_of(const void *notes, size_t n, const char *id) {
        BuildId build_id = { .n = strlen(id) };
        SymbolFile file;
        int r;

        memcpy(build_id.bytes, id, build_id.n);
        r = symbol_file_open_fd(&file, open_notes(notes, n), &build_id);
        if (r == 0)
                symbol_file_close(&file);
        return r;
}

#define GNU_NOTE                         \
        "\4\0\0\0\24\0\0\0\3\0\0\0GNU\0" \
        "0123456789abcdefghij"
#define GO_NOTE                           \
        "\4\0\0\0\30\0\0\0\4\0\0\0Go\0\0" \
        "one/Zyxwvutsrqponmlkji_-"
#define SHORT                             \
        "\4\0\0\0\10\0\0\0\4\0\0\0Go\0\0" \
        "redacted"

/* As what records them: the last part of Go's build id, unless there is GNU's. */
START_TEST(test_a_program_of_go_is_known_by_the_build_id_of_go) {
        static const char both[] = GO_NOTE GNU_NOTE, gnu[] = GNU_NOTE, go[] = GO_NOTE,
                          none[] = SHORT;

        ck_assert_int_eq(open_of(go, sizeof(go) - 1, "Zyxwvutsrqponmlkji_-"), 0);
        ck_assert_int_eq(open_of(go, sizeof(go) - 1, "zyxwvutsrqponmlkji_-"), SYMBOL_FILE_E_OTHER);
        ck_assert_int_eq(open_of(go, sizeof(go) - 1, "one"), SYMBOL_FILE_E_OTHER);
        ck_assert_int_eq(open_of(gnu, sizeof(gnu) - 1, "0123456789abcdefghij"), 0);
        ck_assert_int_eq(open_of(both, sizeof(both) - 1, "0123456789abcdefghij"), 0);
        ck_assert_int_eq(open_of(both, sizeof(both) - 1, "Zyxwvutsrqponmlkji_-"),
                         SYMBOL_FILE_E_OTHER);
        ck_assert_int_eq(open_of(none, sizeof(none) - 1, "redacted"), SYMBOL_FILE_E_OTHER);
}
END_TEST

TEST_MAIN("symbols-symbol-file",
          test_the_file_that_was_recorded_is_read,
          test_what_is_no_program_is_refused,
          test_more_parts_than_a_header_counts_are_refused,
          test_a_program_of_go_is_known_by_the_build_id_of_go)
