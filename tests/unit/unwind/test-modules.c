/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <elf.h>
#include <errno.h>

#include "forged-elf.h"
#include "module-file.h"
#include "shared/macro.h"
#include "test.h"
#include "unwind/address-space.h"

static const uint8_t common[] = { 0x0c, 7, 8, 0x90, 1 };

static UnwindRow row_of(const uint8_t *program, size_t n_program, uint64_t offset) {
        ForgedElf *elf = calloc(1, sizeof(*elf));
        Module *module = NULL;
        UnwindRow row;

        forged_begin(elf, common, sizeof(common));
        forged_function(elf, program, n_program);
        ck_assert_int_eq(module_new(&module, &elf->reader), 0);
        module_row(module, &row, FORGED_START + offset);
        module_free(module);
        free(elf);
        return row;
}

#define row_of_program(offset, ...) \
        row_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), offset)

START_TEST(test_a_row_is_that_of_its_address) {
        UnwindRow row;

        row = row_of_program(
                0, 0x41, 0x0e, 16, 0x42, 0x0e, 8); /* advance 1, offset 16, advance 2, offset 8 */
        ck_assert_int_eq(row.cfa, 8);
        row = row_of_program(1, 0x41, 0x0e, 16, 0x42, 0x0e, 8);
        ck_assert_int_eq(row.cfa, 16);
        row = row_of_program(2, 0x41, 0x0e, 16, 0x42, 0x0e, 8);
        ck_assert_int_eq(row.cfa, 16);
        row = row_of_program(3, 0x41, 0x0e, 16, 0x42, 0x0e, 8);
        ck_assert_int_eq(row.cfa, 8);
        ck_assert_int_eq(row.kind, ROW_REGISTER);
        ck_assert_int_eq(row.cfa_register, 7);
        ck_assert_int_eq(row.return_offset, -8);
}
END_TEST

START_TEST(test_states_are_remembered_and_restored) {
        UnwindRow row;

        /* remember, rbp at CFA - 16, offset 32, advance 4, restore */
        row = row_of_program(0, 0x0a, 0x86, 2, 0x0e, 32, 0x44, 0x0b);
        ck_assert_int_eq(row.cfa, 32);
        ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], RULE_SAVED);
        ck_assert_int_eq(row.kept_offset[KEPT_FRAME_POINTER], -16);
        row = row_of_program(4, 0x0a, 0x86, 2, 0x0e, 32, 0x44, 0x0b);
        ck_assert_int_eq(row.cfa, 8);
        ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], RULE_SAME);
        row = row_of_program(0, 0x86, 2, 0xc6); /* rbp saved, and restored */
        ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], RULE_SAME);
}
END_TEST

START_TEST(test_the_expressions_of_compilers_and_linkers_are_known) {
        UnwindRow row;

        /* rsp + 8 + ((rip & 15) >= 11) << 3 */
        row = row_of_program(
                0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
        ck_assert_int_eq(row.kind, ROW_PLT);
        ck_assert_int_eq(row.cfa, 11);
        row = row_of_program(0, 0x0f, 3, 0x76, 0x78, 0x06); /* the word at rbp - 8 */
        ck_assert_int_eq(row.kind, ROW_INDIRECT);
        ck_assert_int_eq(row.cfa_register, 6);
        ck_assert_int_eq(row.cfa, -8);
        row = row_of_program(0, 0x10, 6, 2, 0x76, 0); /* rbp is at rbp + 0 */
        ck_assert_int_eq(row.kept_rule[KEPT_FRAME_POINTER], RULE_AT_FRAME);
        row = row_of_program(0, 0x0f, 2, 0x77, 8); /* something else */
        ck_assert_int_eq(row.kind, ROW_NONE);
        row = row_of_program(0, 0x09, 16, 3); /* the return address is in rbx */
        ck_assert_int_eq(row.return_rule, RULE_REGISTER);
        ck_assert_int_eq(row.return_offset, 3);
        row = row_of_program(0, 0x09, 16, 60); /* in one that does not exist */
        ck_assert_int_eq(row.kind, ROW_NONE);
}
END_TEST

START_TEST(test_a_broken_program_gives_no_row) {
        uint8_t deep[CFI_STATES_MAX + 1];

        memset(deep, 0x0a, sizeof(deep));
        ck_assert_int_eq(row_of(deep, sizeof(deep), 0).kind, ROW_NONE);
        ck_assert_int_eq(row_of(deep, CFI_STATES_MAX, 0).kind, ROW_REGISTER);
        ck_assert_int_eq(row_of_program(0, 0x0b).kind, ROW_NONE); /* nothing was remembered */
        ck_assert_int_eq(row_of_program(0, 0x3f).kind, ROW_NONE); /* no instruction */
        ck_assert_int_eq(row_of_program(0, 0x0f, 100, 0x77).kind,
                         ROW_NONE); /* longer than there is */
        ck_assert_int_eq(row_of_program(0, 0x0c, 200, 1, 8).kind, ROW_NONE); /* no such register */
        ck_assert_int_eq(
                row_of_program(0, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80)
                        .kind,
                ROW_NONE);
        ck_assert_int_eq(row_of_program(0x100, 0x0e, 16).kind, ROW_NONE); /* behind the function */
}
END_TEST

/* Each word of the file in turn becomes something else: whatever is found, it is found without reading elsewhere (the
 * sanitizers look), and an address outside has no row. */
START_TEST(test_a_broken_file_does_no_harm) {
        static const uint32_t values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
        ForgedElf *elf = calloc(1, sizeof(*elf)), *broken = calloc(1, sizeof(*broken));

        forged_begin(elf, common, sizeof(common));
        forged_function(elf, common, sizeof(common));
        for (size_t at = 0; at < FORGED_SECTION + 64; at += 2)
                for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                        Module *module = NULL;
                        UnwindRow row;

                        *broken = *elf;
                        forged_number(broken, at, values[i], 4);
                        if (module_new(&module, &broken->reader) < 0 || !module)
                                continue;
                        module_row(module, &row, FORGED_START);
                        module_row(module, &row, UINT64_MAX);
                        ck_assert_int_eq(row.kind, ROW_NONE);
                        module_free(module);
                }
        free(elf);
        free(broken);
}
END_TEST

START_TEST(test_a_file_without_frames_is_a_module_without_rows) {
        ForgedElf *elf = calloc(1, sizeof(*elf));
        Module *module = NULL;
        UnwindRow row;

        forged_begin(elf, common, sizeof(common)); /* its index has no function */
        ck_assert_int_eq(module_new(&module, &elf->reader), MODULE_E_NO_FRAMES);
        module_row(module, &row, FORGED_START);
        ck_assert_int_eq(row.kind, ROW_NONE);
        module_free(module);
        elf->bytes[0] = 'X';
        ck_assert_int_eq(module_new(&module, &elf->reader), MODULE_E_NOT_ELF);
        free(elf);
}
END_TEST

/*
 * Build ids
 */

#define NOTES   0x2000u /* of the program's segment */
#define OUTSIDE 0x2800u /* of a section that is in no segment of notes */
#define TABLE   0x3000u /* of sections */

#define GNU_ID "0123456789abcdefghij"
#define GO_ID  "Zyxwvutsrqponmlkji_-"

/* A note, padded as they are: its end. */
static size_t put_note(ForgedElf *elf,
                       size_t at,
                       uint32_t type,
                       const char *name,
                       const char *content,
                       size_t n_content) {
        const size_t n_name =
                name[0] == 'X' ? 2 : 4; /* with the zero behind it, and those of "Go" */

        forged_number(elf, at, n_name, 4);
        forged_number(elf, at + 4, n_content, 4);
        forged_number(elf, at + 8, type, 4);
        memcpy(elf->bytes + at + 12, name, strlen(name));
        memcpy(elf->bytes + at + 16, content, n_content);
        return at + 16 + ALIGN_UP(n_content, (size_t)4);
}

static size_t
put_text_note(ForgedElf *elf, size_t at, uint32_t type, const char *name, const char *text) {
        return put_note(elf, at, type, name, text, strlen(text));
}

/* The program's segment and the section have room for notes that end there. */
static void put_table(ForgedElf *elf, size_t notes_end, size_t outside_end) {
        forged_segment(elf, 2, PT_NOTE, NOTES, notes_end - NOTES);
        forged_number(elf, offsetof(Elf64_Ehdr, e_phnum), 3, 2);
        forged_number(elf, offsetof(Elf64_Ehdr, e_shoff), TABLE, 8);
        forged_number(elf, offsetof(Elf64_Ehdr, e_shentsize), sizeof(Elf64_Shdr), 2);
        forged_number(elf, offsetof(Elf64_Ehdr, e_shnum), 2, 2);
        forged_number(elf, TABLE + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type), SHT_NOTE, 4);
        forged_number(
                elf, TABLE + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset), OUTSIDE, 8);
        forged_number(elf,
                      TABLE + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
                      outside_end - OUTSIDE,
                      8);
}

/* The module's build id is these bytes; "": it has none. */
static void expect_id(ForgedElf *elf, const char *id) {
        Module *module = NULL;

        ck_assert_int_eq(module_new(&module, &elf->reader), MODULE_E_NO_FRAMES);
        ck_assert_uint_eq(module->n_build_id, strlen(id));
        ck_assert_mem_eq(module->build_id, id, strlen(id));
        module_free(module);
}

static ForgedElf *forge_notes(void) {
        ForgedElf *elf = calloc(1, sizeof(*elf));

        ck_assert_ptr_nonnull(elf);
        forged_begin(elf, common, sizeof(common));
        return elf;
}

/* Go 1.24 and newer leave the segment of notes to their own. */
START_TEST(test_a_build_id_may_be_outside_of_the_segment_of_notes) {
        ForgedElf *elf = forge_notes();
        size_t inside, outside;

        inside = put_text_note(elf, NOTES, 4, "Go", "one/two/three/" GO_ID);
        outside = put_text_note(elf, OUTSIDE, NT_GNU_BUILD_ID, "GNU", GNU_ID);
        put_table(elf, inside, outside);
        expect_id(elf, GNU_ID);
        put_table(elf, inside, OUTSIDE); /* the section is empty */
        expect_id(elf, GO_ID);
        put_table(elf, NOTES, outside);
        expect_id(elf, GNU_ID);
        put_table(elf, NOTES, OUTSIDE);
        expect_id(elf, "");
        free(elf);
}
END_TEST

START_TEST(test_the_build_id_of_gnu_is_believed_first) {
        ForgedElf *elf = forge_notes();
        size_t inside, outside;

        inside = put_text_note(
                elf, NOTES, NT_GNU_BUILD_ID, "X", "of somebody else"); /* the same type */
        inside = put_text_note(elf, inside, 4, "Go", "one/two/three/" GO_ID);
        inside = put_text_note(elf, inside, NT_GNU_BUILD_ID, "GNU", GNU_ID);
        outside = put_text_note(elf, OUTSIDE, NT_GNU_BUILD_ID, "GNU", "another");
        put_table(elf, inside, outside);
        expect_id(elf, GNU_ID);
        free(elf);
}
END_TEST

/* Only the last part of Go's differs between any two files. */
START_TEST(test_a_text_that_identifies_no_file_is_no_build_id) {
        static const char *const texts[] = {
                "",
                "redacted",
                "/",
                GO_ID,
                "one/two/three/short",
                "one-" GO_ID,
                "one/two/three/Zyxwvutsrqponml kji_",
                GO_ID "/",
        };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                ForgedElf *elf = forge_notes();

                put_table(elf, put_text_note(elf, NOTES, 4, "Go", texts[i]), OUTSIDE);
                expect_id(elf, "");
                put_table(elf, put_text_note(elf, NOTES, 4, "Go", "/" GO_ID), OUTSIDE);
                expect_id(elf, GO_ID);
                put_table(elf, put_text_note(elf, NOTES, 3, "Go", "/" GO_ID), OUTSIDE);
                expect_id(elf, ""); /* of another type */
                free(elf);
        }
}
END_TEST

/* Notes and sections that say they go on where the file does not. */
START_TEST(test_notes_that_lie_about_their_length_do_no_harm) {
        static const uint32_t values[] = { 0, 1, 21, 0x7fffffff, 0x80000000, 0xffffffff };
        ForgedElf *elf = forge_notes(), *broken = forge_notes();
        size_t inside, outside;

        inside = put_text_note(elf, NOTES, 4, "Go", "one/two/three/" GO_ID);
        outside = put_text_note(elf, OUTSIDE, NT_GNU_BUILD_ID, "GNU", GNU_ID);
        put_table(elf, inside, outside);
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                for (size_t at = 0; at < 4 * 16; at++) {
                        const size_t bases[] = { NOTES,
                                                 OUTSIDE,
                                                 TABLE + sizeof(Elf64_Shdr),
                                                 offsetof(Elf64_Ehdr, e_shoff) };
                        Module *module = NULL;

                        *broken = *elf;
                        forged_number(broken, bases[at % 4] + at / 4 * 4, values[i], 4);
                        if (module_new(&module, &broken->reader) < 0 || !module)
                                continue;
                        ck_assert_uint_le(module->n_build_id, BUILD_ID_MAX);
                        module_free(module);
                }
        free(elf);
        free(broken);
}
END_TEST

/*
 * Address spaces
 */

static CodeFile files[2];

static int map(AddressSpace *space, uint64_t start, uint64_t end, CodeFile *file) {
        return address_space_map(
                space, &(Mapping){ .start = start, .end = end, .offset = start, .file = file });
}

static CodeFile *file_at(const AddressSpace *space, uint64_t address) {
        const Mapping *mapping = address_space_find(space, address);

        /* Each was mapped with its own address as the offset, so whatever was cut off, that still holds. */
        if (mapping)
                ck_assert_uint_eq(mapping->start, mapping->offset);
        return mapping ? mapping->file : NULL;
}

/* A file as it is, but that nothing in its head says where .eh_frame_hdr is. */
static int64_t
read_without_index(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const int64_t n = file_read(reader, buffer, n_bytes, offset);
        Elf64_Ehdr header;

        if (offset != 0 || n < (int64_t)sizeof(header))
                return n;
        memcpy(&header, buffer, sizeof(header));
        for (size_t i = 0; i < header.e_phnum; i++) {
                uint8_t *segment = (uint8_t *)buffer + header.e_phoff + i * sizeof(Elf64_Phdr);
                Elf64_Word type = PT_NULL;

                if (memcmp(segment, &(Elf64_Word){ PT_GNU_EH_FRAME }, sizeof(type)) == 0)
                        memcpy(segment, &type, sizeof(type));
        }
        return n;
}

START_TEST(test_a_file_without_an_index_has_the_same_rows) {
        FileReader reader = { .reader.read = file_read };
        Module *indexed = NULL, *listed = NULL;

        reader.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(reader.fd, 0);
        ck_assert_int_eq(module_new(&indexed, &reader.reader), 0);
        reader.reader.read = read_without_index;
        ck_assert_int_eq(module_new(&listed, &reader.reader), 0);
        close(reader.fd);
        ck_assert_uint_eq(listed->image.frame_index.n_bytes, 0);
        ck_assert_uint_eq(listed->index.n_rows, indexed->index.n_rows);
        for (size_t i = 0; i < indexed->image.n_loaded; i++) {
                const ElfSegment *segment = &indexed->image.loaded[i];
                UnwindRow one, other;

                for (uint64_t at = 0; segment->is_executable && at < segment->n_bytes; at++) {
                        module_row(indexed, &one, segment->address + at);
                        module_row(listed, &other, segment->address + at);
                        ck_assert_mem_eq(&one, &other, sizeof(one));
                }
        }
        module_free(indexed);
        module_free(listed);
}
END_TEST

/* Each word of the table of sections in turn becomes something else. */
START_TEST(test_a_broken_table_of_sections_does_no_harm) {
        static const uint64_t values[] = { 0, 1, 0x7fffffff, UINT64_MAX };
        Elf64_Shdr table[3] = { [1] = { .sh_name = 1,
                                        .sh_type = SHT_PROGBITS,
                                        .sh_flags = SHF_ALLOC,
                                        .sh_offset = 64,
                                        .sh_size = 64 },
                                [2] = { .sh_type = SHT_STRTAB, .sh_offset = 128, .sh_size = 11 } };
        static const char names[] = "\0.eh_frame";
        ElfSegment found;

        ck_assert(elf_sections_find_frames(table, sizeof(table), names, sizeof(names), &found));
        ck_assert_uint_eq(found.offset, 64);
        ck_assert(
                !elf_sections_find_frames(table, sizeof(table), names, sizeof(names) - 1, &found));
        ck_assert(!elf_sections_find_frames(table, sizeof(table), names, 0, &found));
        ck_assert(!elf_sections_find_frames(table, sizeof(table[0]), names, sizeof(names), &found));
        ck_assert(!elf_sections_get(table, sizeof(table), 3, &found));
        ck_assert(!elf_sections_get(table, sizeof(table), SIZE_MAX, &found));
        for (size_t at = 0; at + sizeof(values[0]) <= sizeof(table); at += 4)
                for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                        Elf64_Shdr broken[3];

                        memcpy(broken, table, sizeof(table));
                        memcpy((uint8_t *)broken + at, &values[i], sizeof(values[i]));
                        (void)elf_sections_find_frames(
                                broken, sizeof(broken), names, sizeof(names), &found);
                }
}
END_TEST

/* A section whose records say that they are longer than it, or nothing. */
START_TEST(test_a_list_of_broken_entries_ends) {
        static const uint8_t lengths[] = { 0, 1, 4, 0x7f, 0xff };
        uint8_t bytes[64], rows[sizeof(bytes) * FRAME_INDEX_ROW_BYTES];

        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
                for (size_t fill = 0; fill < 256; fill++) {
                        const CfiSection section = { bytes, sizeof(bytes), FORGED_START };

                        memset(bytes, (int)fill, sizeof(bytes));
                        memset(bytes, 0, 4);
                        bytes[0] = lengths[i];
                        ck_assert_uint_le(frame_list_make(rows, sizeof(bytes), &section),
                                          sizeof(bytes));
                }
}
END_TEST

START_TEST(test_a_new_mapping_replaces_what_lay_there) {
        AddressSpace space;

        address_space_init(&space);
        map(&space, 100, 200, &files[0]);
        map(&space, 300, 400, &files[0]);
        map(&space, 140, 160, &files[1]); /* inside: the old one becomes two */
        ck_assert_uint_eq(space.n_mappings, 4);
        ck_assert_ptr_eq(file_at(&space, 139), &files[0]);
        ck_assert_ptr_eq(file_at(&space, 140), &files[1]);
        ck_assert_ptr_eq(file_at(&space, 159), &files[1]);
        ck_assert_ptr_eq(file_at(&space, 160), &files[0]);
        map(&space, 150, 350, &files[1]); /* over the ends of two */
        ck_assert_ptr_eq(file_at(&space, 145), &files[1]);
        ck_assert_ptr_eq(file_at(&space, 250), &files[1]);
        ck_assert_ptr_eq(file_at(&space, 350), &files[0]);
        map(&space, 0, 1000, &files[0]); /* over all */
        ck_assert_uint_eq(space.n_mappings, 1);
        ck_assert_ptr_null(file_at(&space, 1000));
        ck_assert_int_eq(map(&space, 5, 5, &files[0]), -EINVAL);
        address_space_deinit(&space);
}
END_TEST

START_TEST(test_what_replaces_a_mapping_makes_a_new_generation) {
        AddressSpace space;
        uint32_t generation;

        address_space_init(&space);
        generation = space.generation;
        map(&space, 100, 200, &files[0]);
        map(&space, 200, 300, &files[0]);
        map(&space, 0, 100, &files[0]);
        ck_assert_uint_eq(space.generation, generation); /* what was remembered is still true */
        map(&space, 299, 400, &files[1]);
        ck_assert_uint_ne(space.generation, generation);
        generation = space.generation;
        map(&space, 350, 351, &files[0]);
        ck_assert_uint_ne(space.generation, generation);
        generation = space.generation;
        address_space_clear(&space);
        ck_assert_uint_ne(space.generation, generation);
        address_space_deinit(&space);
}
END_TEST

/* Otherwise they would take what is remembered of the other, as each could map something else in the same place. */
START_TEST(test_a_copy_has_its_generation_until_either_changes) {
        AddressSpace space, child, other;

        address_space_init(&space);
        address_space_init(&child);
        address_space_init(&other);
        ck_assert_uint_ne(space.generation, child.generation);
        map(&space, 100, 200, &files[0]);
        ck_assert_int_eq(address_space_copy(&child, &space), 0);
        ck_assert_int_eq(address_space_copy(&other, &space), 0);
        ck_assert_uint_eq(space.generation, child.generation);
        ck_assert_ptr_eq(file_at(&child, 100), &files[0]);
        map(&child, 500, 600, &files[1]);
        ck_assert_uint_ne(space.generation, child.generation);
        map(&space, 500, 600, &files[0]);
        ck_assert_uint_ne(space.generation, child.generation);
        ck_assert_uint_ne(space.generation, other.generation);
        ck_assert_uint_ne(child.generation, other.generation);
        address_space_clear(&child);
        ck_assert_ptr_null(file_at(&child, 100));
        ck_assert_ptr_eq(file_at(&space, 100), &files[0]);
        address_space_deinit(&space);
        address_space_deinit(&child);
        address_space_deinit(&other);
}
END_TEST

START_TEST(test_the_mappings_of_a_space_are_limited) {
        AddressSpace space;
        uint64_t i;

        address_space_init(&space);
        for (i = 0; map(&space, i * 10, i * 10 + 5, &files[0]) == 0; i++)
                ;
        ck_assert_uint_eq(i, ADDRESS_SPACE_MAPPINGS_MAX - 1);
        ck_assert_uint_eq(space.n_refused, 1);
        ck_assert_int_eq(map(&space, 0, 5, &files[1]), -E2BIG);
        ck_assert_ptr_eq(file_at(&space, 0), &files[0]);
        address_space_deinit(&space);
}
END_TEST

TEST_MAIN("modules",
          test_a_row_is_that_of_its_address,
          test_states_are_remembered_and_restored,
          test_the_expressions_of_compilers_and_linkers_are_known,
          test_a_broken_program_gives_no_row,
          test_a_broken_file_does_no_harm,
          test_a_build_id_may_be_outside_of_the_segment_of_notes,
          test_the_build_id_of_gnu_is_believed_first,
          test_a_text_that_identifies_no_file_is_no_build_id,
          test_notes_that_lie_about_their_length_do_no_harm,
          test_a_file_without_frames_is_a_module_without_rows,
          test_a_file_without_an_index_has_the_same_rows,
          test_a_broken_table_of_sections_does_no_harm,
          test_a_list_of_broken_entries_ends,
          test_a_new_mapping_replaces_what_lay_there,
          test_what_replaces_a_mapping_makes_a_new_generation,
          test_a_copy_has_its_generation_until_either_changes,
          test_the_mappings_of_a_space_are_limited)
