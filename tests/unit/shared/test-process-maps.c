/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../../../src/shared/process-maps.h"
#include "test.h"

START_TEST(test_a_line_has_all_parts) {
        ProcessMapping mapping;

        ck_assert(process_mapping_parse(
                &mapping,
                "7f00dead0000-7f00dead2000 r-xp 00001000 fe:1f 18446744073709551615    /a b/c"));
        ck_assert_uint_eq(mapping.start, UINT64_C(0x7f00dead0000));
        ck_assert_uint_eq(mapping.end, UINT64_C(0x7f00dead2000));
        ck_assert_uint_eq(mapping.offset, 0x1000);
        ck_assert_uint_eq(mapping.major, 0xfe);
        ck_assert_uint_eq(mapping.minor, 0x1f);
        ck_assert_uint_eq(mapping.inode, UINT64_MAX);
        ck_assert(mapping.is_executable);
        ck_assert_str_eq(mapping.path, "/a b/c");
}
END_TEST

START_TEST(test_memory_without_a_file_has_no_path) {
        ProcessMapping mapping;

        ck_assert(process_mapping_parse(&mapping, "1000-2000 rw-p 00000000 00:00 0 "));
        ck_assert_uint_eq(mapping.inode, 0);
        ck_assert(!mapping.is_executable);
        ck_assert_str_eq(mapping.path, "");
}
END_TEST

START_TEST(test_what_is_cut_off_is_no_line) {
        static const char line[] = "1000-2000 r-xp 00000000 00:01 7 /a";
        ProcessMapping mapping;
        char copy[sizeof(line)];

        for (size_t n = 0; n <= strlen("1000-2000 r-xp 00000000 00:01 7"); n++) {
                memcpy(copy, line, n);
                copy[n] = '\0';
                ck_assert(!process_mapping_parse(&mapping, copy));
        }
        ck_assert(process_mapping_parse(&mapping, line));
        ck_assert(!process_mapping_parse(&mapping, "x"));
}
END_TEST

TEST_MAIN("process-maps",
          test_a_line_has_all_parts,
          test_memory_without_a_file_has_no_path,
          test_what_is_cut_off_is_no_line)
