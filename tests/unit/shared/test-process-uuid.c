/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "../../../src/shared/process-uuid.h"
#include "shared/fd.h"
#include "test.h"

/* Computed by hand, as others do: the number is a promise to them. */
START_TEST(test_number_is_that_of_start_time_and_pid) {
        static const char stat[] =
                "1234 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 5678 20 21\n";
        static const uint8_t bytes[] = { 0x2e, 0x16, 0, 0, 0, 0, 0, 0, 0xd2, 0x04, 0, 0 };
        uint64_t expected = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < sizeof(bytes); i++)
                expected = (expected ^ bytes[i]) * UINT64_C(0x100000001b3);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        ck_assert_uint_eq(process_uuid_make(stat, 1234), expected);
#endif
        ck_assert_uint_ne(process_uuid_make(stat, 1235), expected);
}
END_TEST

START_TEST(test_there_is_no_number_of_what_is_no_stat) {
        static const char *const texts[] = { "",
                                             "1 (x",
                                             "1 (x)",
                                             "1 (x) S 1 2 3",
                                             "1 (x) S a b c d e f g h i j k l m n o p q r s t" };

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                ck_assert_uint_eq(process_uuid_make(texts[i], 1), 0);
}
END_TEST

START_TEST(test_number_of_a_process_stays) {
        _cleanup_(freep) char *stat = NULL;
        uint64_t number = process_uuid_get();

        ck_assert_uint_ne(number, 0);
        ck_assert_uint_eq(process_uuid_get(), number);
        ck_assert_int_eq(fd_read_file(&stat, NULL, AT_FDCWD, "/proc/self/stat", 4096), 0);
        ck_assert_uint_eq(process_uuid_make(stat, getpid()), number);
}
END_TEST

TEST_MAIN("process-uuid",
          test_number_is_that_of_start_time_and_pid,
          test_there_is_no_number_of_what_is_no_stat,
          test_number_of_a_process_stays)
