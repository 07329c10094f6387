/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probes of this program itself, and of damaged copies of it. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "host/probe.h"
#include "marked.h"
#include "probes/ftrace/probe-operand.h"
#include "probes/ftrace/probe-place.h"
#include "probes/ftrace/static-probes.h"
#include "shared/fd.h"
#include "shared/macro.h"

typedef Perfetto__Protos__FtraceConfig__UprobeEvent UprobeConfig;

unsigned short marked_semaphore __attribute__((__used__, __section__(".probes")));

/* Never called with another number; two places of one probe. */
__attribute__((__noinline__)) static void marked(int number) {
        MARK("test", "plain", "0", "");
        if (number > 0)
                MARK("test", "plain", "0", "");
        MARK("test", "watched", "marked_semaphore", "-4@$7 8@%%rdi 4@%%xmm0");
}

static char *own_path(void) {
        static char path[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

        ck_assert_int_gt(n, 0);
        path[n] = '\0';
        return path;
}

static const StaticProbe *find(const StaticProbes *list, const char *name, size_t nth) {
        for (size_t i = 0; i < list->n_probes; i++)
                if (streq(list->probes[i].provider, "test") && streq(list->probes[i].name, name) &&
                    nth-- == 0)
                        return &list->probes[i];
        return NULL;
}

START_TEST(test_the_marks_of_a_program_are_found) {
        _cleanup_(static_probes_deinit) StaticProbes list = {};
        _cleanup_(fd_closep) int fd = open(own_path(), O_RDONLY | O_CLOEXEC);
        const StaticProbe *first, *second, *watched;
        unsigned short value = 1;

        marked(1);
        ck_assert_int_eq(static_probes_init(&list, fd, "own", NULL), 0);
        first = find(&list, "plain", 0);
        second = find(&list, "plain", 1);
        watched = find(&list, "watched", 0);
        ck_assert_ptr_nonnull(first);
        ck_assert_ptr_nonnull(second);
        ck_assert_ptr_null(find(&list, "plain", 2));
        ck_assert_str_eq(first->arguments, "");
        ck_assert_uint_gt(first->offset, 0);
        ck_assert_uint_ne(first->offset, second->offset);
        ck_assert_uint_eq(first->semaphore_offset, 0);

        ck_assert_ptr_nonnull(watched);
        ck_assert_str_eq(watched->arguments, "-4@$7 8@%rdi 4@%xmm0");
        ck_assert_int_eq(pread(fd, &value, sizeof(value), (off_t)watched->semaphore_offset),
                         sizeof(value));
        ck_assert_uint_eq(value, marked_semaphore);
}
END_TEST

#if defined(__x86_64__)
START_TEST(test_a_mark_is_at_its_instruction) {
        _cleanup_(static_probes_deinit) StaticProbes list = {};
        _cleanup_(fd_closep) int fd = open(own_path(), O_RDONLY | O_CLOEXEC);
        unsigned char nop = 0;

        ck_assert_int_eq(static_probes_init(&list, fd, "own", NULL), 0);
        for (size_t i = 0; i < list.n_probes; i++) {
                ck_assert_int_eq(pread(fd, &nop, 1, (off_t)list.probes[i].offset), 1);
                ck_assert_uint_eq(nop, 0x90);
        }
}
END_TEST
#endif

/* A copy of this program whose first note says that all was `shift` further when it was linked; cut off behind
 * n_bytes. */
static int copy(uint64_t shift, size_t n_bytes) {
        static const char words[] = "stapsdt";
        _cleanup_(freep) char *text = NULL;
        int fd = memfd_create("copy", MFD_CLOEXEC);
        Elf64_Addr addresses[3];
        size_t n;
        char *note;

        ck_assert_int_eq(fd_read_file(&text, &n, AT_FDCWD, own_path(), 64 << 20), 0);
        /* Behind the word are the addresses. */
        for (note = text; (note = memmem(note, (size_t)(text + n - note), words, sizeof(words)));
             note += sizeof(words)) {
                memcpy(addresses, note + sizeof(words), sizeof(addresses));
                if (((uintptr_t)(note - text) & 3) || addresses[1] == 0 || addresses[1] > n * 2)
                        continue;
                addresses[0] += shift;
                addresses[1] += shift;
                addresses[2] += addresses[2] ? shift : 0;
                memcpy(note + sizeof(words), addresses, sizeof(addresses));
        }
        ck_assert_int_eq(fd_write_all(fd, text, n < n_bytes ? n : n_bytes), 0);
        return fd;
}

START_TEST(test_marks_of_a_prelinked_program_are_where_its_code_is) {
        _cleanup_(static_probes_deinit) StaticProbes list = {}, shifted = {};
        _cleanup_(fd_closep) int fd = copy(0, SIZE_MAX), shifted_fd = copy(0x10000000, SIZE_MAX);

        ck_assert_int_eq(static_probes_init(&list, fd, "own", NULL), 0);
        ck_assert_int_eq(static_probes_init(&shifted, shifted_fd, "own", NULL), 0);
        ck_assert_uint_gt(list.n_probes, 2);
        ck_assert_uint_eq(list.n_probes, shifted.n_probes);
        for (size_t i = 0; i < list.n_probes; i++) {
                ck_assert_uint_eq(list.probes[i].offset, shifted.probes[i].offset);
                ck_assert_uint_eq(list.probes[i].semaphore_offset,
                                  shifted.probes[i].semaphore_offset);
        }
}
END_TEST

START_TEST(test_a_damaged_program_has_fewer_marks) {
        struct stat st;

        ck_assert_int_eq(stat(own_path(), &st), 0);
        for (size_t i = 0; i < 40; i++) {
                _cleanup_(static_probes_deinit) StaticProbes list = {};
                _cleanup_(fd_closep) int fd = copy(0, (size_t)st.st_size * i / 40);
                _cleanup_(freep) char *error = NULL;
                int r = static_probes_init(&list, fd, "copy", &error);

                ck_assert(r == 0 || (r == PROBE_E_REFUSED && error));
        }
}
END_TEST

START_TEST(test_what_is_no_program_is_refused) {
        _cleanup_(fd_closep) int fd = memfd_create("text", MFD_CLOEXEC);
        _cleanup_(freep) char *error = NULL;
        StaticProbes list;

        ck_assert_int_eq(fd_write_all(fd, "#!/bin/sh\n", 10), 0);
        ck_assert_int_eq(static_probes_init(&list, fd, "text", &error), PROBE_E_REFUSED);
        ck_assert_str_eq(error, "text is no program or library");
}
END_TEST

START_TEST(test_operands_become_the_kernels) {
        static const struct {
                uint16_t machine;
                const char *text, *fetch, *type;
        } cases[] = {
                { EM_X86_64, "-4@%eax", "%ax", "s32" },
                { EM_X86_64, "8@%r12", "%r12", "u64" },
                { EM_X86_64, "1@%sil", "%si", "u8" },
                { EM_X86_64, "2@%r8w", "%r8", "u16" },
                { EM_X86_64, "-8@$-5", "\\-5", "s64" },
                { EM_X86_64, "4@$0x10", "\\16", "u32" },
                { EM_X86_64, "-4@112(%rsp)", "+112(%sp)", "s32" },
                { EM_X86_64, "8@-8(%rbp)", "-8(%bp)", "u64" },
                { EM_X86_64, "8@(%rdi)", "+0(%di)", "u64" },
                { EM_386, "-4@8(%ebp)", "+8(%bp)", "s32" },
                { EM_AARCH64, "8@x0", "%x0", "u64" },
                { EM_AARCH64, "-4@w19", "%x19", "s32" },
                { EM_AARCH64, "8@[sp, 16]", "+16(%sp)", "u64" },
                { EM_AARCH64, "8@[x29, #-8]", "-8(%x29)", "u64" },
                { EM_AARCH64, "4@[x1]", "+0(%x1)", "u32" },
                { EM_AARCH64, "-4@5", "\\5", "s32" },
                /* What the kernel cannot, and what is nothing. */
                { EM_X86_64, "8@(%rax,%rbx,8)", "", "u64" },
                { EM_X86_64, "4@%ah", "", "u32" },
                { EM_X86_64, "4@counter(%rip)", "", "u32" },
                { EM_X86_64, "4@%fs:16", "", "u32" },
                { EM_X86_64, "4f@%xmm0", "", "u32" },
                { EM_X86_64, "3@%eax", "", "" },
                { EM_X86_64, "%eax", "", "" },
                { EM_X86_64, "4@", "", "u32" },
                { EM_X86_64, "4@%eax;x", "", "u32" },
                { EM_X86_64, "4@$99999999999999999999", "", "u32" },
                { EM_X86_64, "4@%waytoolongregister", "", "u32" },
                { EM_AARCH64, "8@x31", "", "u64" },
                { EM_AARCH64, "8@[x0, x1]", "", "u64" },
                { EM_AARCH64, "8@[x0", "", "u64" },
                { EM_RISCV, "8@a0", "", "u64" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ProbeOperand operands[PROBE_OPERANDS_MAX];

                ck_assert_msg(probe_operands_parse(operands, cases[i].machine, cases[i].text) == 1,
                              "%s",
                              cases[i].text);
                ck_assert_str_eq(operands[0].fetch, cases[i].fetch);
                if (cases[i].fetch[0])
                        ck_assert_str_eq(operands[0].type, cases[i].type);
        }
}
END_TEST

START_TEST(test_operands_are_counted_with_those_that_cannot_be_read) {
        ProbeOperand operands[PROBE_OPERANDS_MAX];

        ck_assert_uint_eq(probe_operands_parse(operands, EM_X86_64, ""), 0);
        ck_assert_uint_eq(probe_operands_parse(operands, EM_X86_64, "  "), 0);
        ck_assert_uint_eq(
                probe_operands_parse(operands, EM_X86_64, " 4@%eax  ? 8@(%rax, %rbx) 1@$1"), 4);
        ck_assert_str_eq(operands[3].fetch, "\\1");
        ck_assert_uint_eq(probe_operands_parse(operands, EM_AARCH64, "8@[sp, 16] 1@w0"), 2);
        ck_assert_uint_eq(
                probe_operands_parse(operands, EM_X86_64, "a a a a a a a a a a a a a a a a"),
                PROBE_OPERANDS_MAX);
}
END_TEST

/* A probe at 0x40 of /p. */
static int place(char **ret_line, char **ret_error, const char *arguments, char *args[], size_t n) {
        const StaticProbe probe = {
                .provider = "app",
                .name = "frame",
                .arguments = arguments,
                .offset = 0x40,
                .semaphore_offset = 0x80,
        };
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
        ProbePlace place = {};
        int r;

        config.path = (char *)"/p";
        config.usdt = (char *)"app:*";
        config.args = args;
        config.n_args = n;
        ck_assert(probe_place_is_meant(&config, &probe));
        r = probe_place_init_static(&place, &config, 7, &probe, EM_X86_64, ret_error);
        if (r == 0) {
                *ret_line = probe_place_line(&place, false, "g/n");
                ck_assert_str_eq(place.label, "app:frame");
                ck_assert_str_eq(place.name, "app_frame");
        }
        probe_place_deinit(&place);
        return r;
}

static void expect_line(const char *arguments, char *args[], size_t n, const char *expected) {
        _cleanup_(freep) char *line = NULL, *error = NULL;

        ck_assert_msg(place(&line, &error, arguments, args, n) == 0, "%s", error);
        ck_assert_str_eq(line, expected);
}

START_TEST(test_a_static_probe_has_all_its_arguments) {
        expect_line("", NULL, 0, "p:g/n /proc/self/fd/7:0x40(0x80)");
        expect_line("-4@%eax 4f@%xmm0 8@8(%rsp)",
                    NULL,
                    0,
                    "p:g/n /proc/self/fd/7:0x40(0x80) arg1=%ax:s32 arg3=+8(%sp):u64");
}
END_TEST

START_TEST(test_arguments_are_what_the_config_says_of_them) {
        char *args[] = { (char *)"file=+0($arg1):ustring", (char *)"sum=$arg2", (char *)"%cx" };
        char *none[] = { (char *)"$arg4" }, *unreadable[] = { (char *)"x=$arg3" },
             *zero[] = { (char *)"x=$arg0" }, *blank[] = { (char *)"x=$arg1 y" };
        char *const *const refused[] = { none, unreadable, zero, blank };

        expect_line("8@8(%rsp) -4@%eax 4f@%xmm0",
                    args,
                    3,
                    "p:g/n /proc/self/fd/7:0x40(0x80) file=+0(+8(%sp)):ustring sum=%ax %cx");
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                _cleanup_(freep) char *line = NULL, *error = NULL;

                ck_assert_int_eq(
                        place(&line, &error, "8@8(%rsp) -4@%eax 4f@%xmm0", (char **)refused[i], 1),
                        PROBE_E_REFUSED);
                ck_assert_ptr_nonnull(error);
        }
}
END_TEST

START_TEST(test_what_makes_no_sense_of_a_static_probe_is_refused) {
        static const struct {
                const char *path, *symbol, *usdt, *name;
                int type;
                const char *error;
        } cases[] = {
                { "own", "main", "test:plain", NULL, 1, "neither a symbol" },
                { "own", NULL, "test:plain", NULL, 3, "nor a return" },
                { "own", NULL, "test:*", "name", 1, "leave the name out" },
                { "bin", NULL, "test:*", NULL, 1, "no path" },
                { "/etc/passwd", NULL, "test:*", NULL, 1, "no program" },
                { "/nonexistent", NULL, "test:*", NULL, 1, "cannot open" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
                _cleanup_(freep) char *error = NULL;
                StaticProbes list;
                int fd;

                config.path = streq(cases[i].path, "own") ? own_path() : (char *)cases[i].path;
                config.symbol = (char *)cases[i].symbol;
                config.usdt = (char *)cases[i].usdt;
                config.name = (char *)cases[i].name;
                config.type = (unsigned)cases[i].type;
                ck_assert_int_eq(probe_place_read_static(&list, &fd, &config, &error),
                                 PROBE_E_REFUSED);
                ck_assert_msg(strstr(error, cases[i].error) != NULL, "case %zu: %s", i, error);
        }
}
END_TEST

TEST_MAIN("static-probes",
          test_the_marks_of_a_program_are_found,
#if defined(__x86_64__)
          test_a_mark_is_at_its_instruction,
#endif
          test_marks_of_a_prelinked_program_are_where_its_code_is,
          test_a_damaged_program_has_fewer_marks,
          test_what_is_no_program_is_refused,
          test_operands_become_the_kernels,
          test_operands_are_counted_with_those_that_cannot_be_read,
          test_a_static_probe_has_all_its_arguments,
          test_arguments_are_what_the_config_says_of_them,
          test_what_makes_no_sense_of_a_static_probe_is_refused)
