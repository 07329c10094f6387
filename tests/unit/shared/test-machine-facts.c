/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Facts about a machine, from files that a test makes. */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/machine-facts.h"
#include "shared/macro.h"
#include "test.h"

static void put(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
}

START_TEST(test_files_say_what_the_machine_is) {
        char path[] = "/tmp/desktrace-facts-XXXXXX", command[64];
        MachineFacts facts;

        ck_assert_ptr_nonnull(mkdtemp(path));
        ck_assert_int_eq(chdir(path), 0);
        ck_assert_int_eq(mkdir("etc", 0755) | mkdir("proc", 0755) | mkdir("proc/sys", 0755), 0);
        ck_assert_int_eq(mkdir("proc/sys/kernel", 0755) | mkdir("proc/sys/kernel/random", 0755), 0);
        put("etc/os-release", "NAME=\"ID=wrong\"\nVARIANT_ID=no\nID=debian\nVERSION_ID=\"12\"\n");
        put("proc/sys/kernel/random/boot_id", "0b29a1c8-7c1d-4f6e-8a43-3d5f1c2b4a5e\n");
        put("proc/cpuinfo",
            "processor\t: 0\nmodel\t\t: 85\nmodel name\t: A \001 CPU @ 2 GHz \nflags: x\n");
        machine_facts_read(&facts, path);
        ck_assert_str_eq(facts.boot_id, "0b29a1c87c1d4f6e8a433d5f1c2b4a5e");
        ck_assert_str_eq(facts.os_id, "debian");
        ck_assert_str_eq(facts.os_version, "12");
        ck_assert_str_eq(facts.cpu_model, "A ? CPU @ 2 GHz");
        ck_assert_int_eq(chdir("/"), 0);
        snprintf(command, sizeof(command), "rm -r %s", path);
        ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(test_what_no_file_says_is_nothing) {
        MachineFacts facts;

        machine_facts_read(&facts, "/dev/null");
        ck_assert_str_eq(facts.boot_id, "");
        ck_assert_str_eq(facts.os_id, "");
        ck_assert_str_eq(facts.os_version, "");
        ck_assert_str_eq(facts.cpu_model, "");
}
END_TEST

START_TEST(test_a_boot_id_has_32_digits) {
        static const char *const wrong[] = {
                "",
                "x",
                "0b29a1c87c1d4f6e8a433d5f1c2b4a5",
                "0b29a1c87c1d4f6e8a433d5f1c2b4a5e0",
                "0b29a1c87c1d4f6e8a433d5f1c2b4a5%",
                "---------------------------------",
        };
        MachineFacts facts = { 0 };

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                machine_facts_set_boot_id(&facts, wrong[i]);
                ck_assert_str_eq(facts.boot_id, "");
        }
        machine_facts_set_boot_id(&facts, "0b29a1c87c1d4f6e8a433d5f1c2b4a5e");
        ck_assert_str_eq(facts.boot_id, "0b29a1c87c1d4f6e8a433d5f1c2b4a5e");
}
END_TEST

TEST_MAIN("machine-facts",
          test_a_boot_id_has_32_digits,
          test_files_say_what_the_machine_is,
          test_what_no_file_says_is_nothing)
