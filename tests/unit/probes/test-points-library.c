/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A library of this test, and copies of it that were made to harm who reads them. */

#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/points/point-library.h"
#include "shared/fd.h"

#define COPY_BYTES_MAX (16u << 20)

typedef struct Copy {
        char *bytes;
        size_t n_bytes;
        Elf64_Ehdr *header;
        Elf64_Shdr *sections;
} Copy;

static const Point inner = { .library = "libpointed.so.*", .symbol = "pointed_inner" };

/* False where points are for no library: the machine has none. */
static bool copy_take(Copy *copy) {
        ck_assert_int_eq(
                fd_read_file(&copy->bytes, &copy->n_bytes, AT_FDCWD, POINTED, COPY_BYTES_MAX), 0);
        copy->header = (Elf64_Ehdr *)copy->bytes;
        copy->sections = (Elf64_Shdr *)(copy->bytes + copy->header->e_shoff);
        if (point_machine_is_known(point_machine()))
                return true;
        free(copy->bytes);
        return false;
}

static Elf64_Shdr *copy_section(const Copy *copy, uint32_t type) {
        for (size_t i = 0; i < copy->header->e_shnum; i++)
                if (copy->sections[i].sh_type == type)
                        return &copy->sections[i];
        ck_abort_msg("no such section");
        return NULL;
}

/* Which consumes the copy. `has_holes`: it goes on for a terabyte. */
static int copy_open(Copy *copy, bool has_holes) {
        int fd = memfd_create("copy", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fd_write_all(fd, copy->bytes, copy->n_bytes), 0);
        if (has_holes)
                ck_assert_int_eq(ftruncate(fd, (off_t)1 << 40), 0);
        free(copy->bytes);
        return fd;
}

START_TEST(test_a_function_is_found) {
        _cleanup_(fd_closep) int fd = -1;
        PointLibrary library;
        PointSpot spot;
        Copy copy;

        if (!copy_take(&copy))
                return;
        fd = copy_open(&copy, false);
        ck_assert_int_eq(point_library_open(&library, fd), 0);
        ck_assert_str_eq(library.soname, "libpointed.so.1");
        ck_assert(point_library_is_meant(&library, &inner));
        ck_assert_int_ne(point_library_find(&library, &inner, &spot), POINT_LIBRARY_E_NOT_THERE);
        ck_assert_uint_gt(spot.offset, 0);
        point_library_close(&library);
}
END_TEST

/* libelf would go through all of them for each name. */
START_TEST(test_names_that_do_not_end_are_not_read) {
        _cleanup_(fd_closep) int fd = -1;
        PointLibrary library;
        Elf64_Shdr *symbols;
        PointSpot spot;
        Copy copy;

        if (!copy_take(&copy))
                return;
        symbols = copy_section(&copy, SHT_DYNSYM);
        copy.sections[symbols->sh_link].sh_size--;
        fd = copy_open(&copy, false);
        ck_assert_int_eq(point_library_open(&library, fd), 0);
        ck_assert_str_eq(library.soname, "");
        ck_assert(!point_library_is_meant(&library, &inner));
        ck_assert_int_eq(point_library_find(&library, &inner, &spot), POINT_LIBRARY_E_NOT_THERE);
        point_library_close(&library);
}
END_TEST

START_TEST(test_tables_that_are_too_large_are_not_read) {
        _cleanup_(fd_closep) int fd = -1;
        PointLibrary library;
        PointSpot spot;
        Copy copy;

        if (!copy_take(&copy))
                return;
        copy_section(&copy, SHT_DYNSYM)->sh_size = POINT_TABLE_BYTES_MAX + sizeof(Elf64_Sym);
        fd = copy_open(&copy, true);
        ck_assert_int_eq(point_library_open(&library, fd), 0);
        ck_assert_int_eq(point_library_find(&library, &inner, &spot), POINT_LIBRARY_E_NOT_THERE);
        point_library_close(&library);
}
END_TEST

/* What a header cannot count is in the first section, and libelf would make room for it. */
START_TEST(test_more_parts_than_a_header_counts_are_refused) {
        for (int i = 0; i < 2; i++) {
                _cleanup_(fd_closep) int fd = -1;
                PointLibrary library;
                Copy copy;

                if (!copy_take(&copy))
                        return;
                if (i == 0)
                        copy.header->e_shnum = 0;
                else
                        copy.header->e_phnum = PN_XNUM;
                copy.sections[0].sh_size = UINT32_MAX;
                copy.sections[0].sh_info = UINT32_MAX;
                fd = copy_open(&copy, true);
                ck_assert_int_eq(point_library_open(&library, fd), POINT_LIBRARY_E_OTHER);
        }
}
END_TEST

TEST_MAIN("probes-points-library",
          test_a_function_is_found,
          test_names_that_do_not_end_are_not_read,
          test_tables_that_are_too_large_are_not_read,
          test_more_parts_than_a_header_counts_are_refused)
