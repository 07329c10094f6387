/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <elf.h>

#include "probes/points/call-stacks.h"
#include "probes/points/point-fetch.h"
#include "probes/points/point-place.h"
#include "shared/macro.h"

/*
 * Places
 */

typedef struct Beginning {
        const char *code; /* the first instructions */
        size_t n;
        int skipped; /* -1: expensive */
} Beginning;

#define CODE(_text) _text, sizeof(_text) - 1

/* As GCC and Clang begin functions; the names are what objdump calls the instructions. */
static const Beginning beginnings[] = {
        { CODE("\x55\x48\x89\xe5"), 0 },                     /* push %rbp */
        { CODE("\x41\x57\x41\x56"), 0 },                     /* push %r15 */
        { CODE("\x0f\x1f\x44\x00\x00"), 0 },                 /* nopl */
        { CODE("\xe9\x00\x01\x00\x00"), 0 },                 /* jmp */
        { CODE("\xe8\x00\x01\x00\x00"), 0 },                 /* call */
        { CODE("\xf3\x0f\x1e\xfa\x55"), 4 },                 /* endbr64; push */
        { CODE("\xf3\x0f\x1e\xfa\x48\x83\xec\x08"), -1 },    /* endbr64; sub */
        { CODE("\x48\x85\xff\x74\x1b"), 3 },                 /* test %rdi,%rdi; je */
        { CODE("\x85\xff\x0f\x84\x00\x01\x00\x00"), 2 },     /* test %edi,%edi; je */
        { CODE("\xf3\x0f\x1e\xfa\x48\x85\xff\x75\x1b"), 7 }, /* endbr64; test; jne */
        { CODE("\x48\x83\xff\x05\x77\x03"), 4 },             /* cmp $5,%rdi; ja */
        { CODE("\x83\xff\x05\x77\x03"), 3 },                 /* cmp $5,%edi; ja */
        { CODE("\x48\x85\xff\x48\x89\xfb"), -1 },            /* test; mov: not moved to a mov */
        { CODE("\x48\x83\xec\x08\x74\x03"), -1 },            /* sub $8,%rsp moves the stack */
        { CODE("\x48\x83\xe7\xf0\x74\x03"), -1 },            /* and $-16,%rdi changes an argument */
        { CODE("\x48\x83\xc7\x08\x74\x03"), -1 },            /* add $8,%rdi, too */
        { CODE("\x48\x83\x3f\x00\x74\x03"), -1 },            /* cmpq $0,(%rdi) reads memory */
        { CODE("\x48\x85\x3f\x74\x03"), -1 },                /* test %rdi,(%rdi), too */
        { CODE("\x49\x85\xff\x74\x03"), 3 },                 /* test %rdi,%r15; je */
        { CODE("\xff\x25\x2a\xc0\x17\x00"), -1 },            /* jmp *table(%rip) */
        { CODE("\x48\x8d\x0d\xc9\x5b\x00\x00"), -1 },        /* lea */
        { CODE("\xcc\x55"), -1 },                            /* int3 */
        { CODE("\xc3"), -1 },                                /* ret */
};

START_TEST(test_a_probe_goes_where_it_costs_least) {
        for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
                const Beginning *beginning = &beginnings[i];
                uint8_t code[POINT_CODE_BYTES] = {};
                PointPlace place;

                memcpy(code, beginning->code, beginning->n);
                place = point_place_choose(EM_X86_64, code, sizeof(code));
                ck_assert_msg(place.is_expensive == (beginning->skipped < 0), "number %zu", i);
                ck_assert_msg(
                        place.skipped == (uint32_t)MAX(beginning->skipped, 0), "number %zu", i);
        }
}
END_TEST

/* Whatever the bytes and however few: nothing is read behind them. */
START_TEST(test_code_that_is_cut_off_is_expensive) {
        for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
                for (size_t n = 0; n < beginnings[i].n && n < 5; n++) {
                        uint8_t *code = malloc(n ?: 1);

                        memcpy(code, beginnings[i].code, n);
                        ck_assert(point_place_choose(EM_X86_64, code, n).is_expensive);
                        free(code);
                }
}
END_TEST

/*
 * Arguments
 */

static const char *fetch(const char *where, uint16_t machine) {
        static char text[POINT_FETCH_BYTES];

        ck_assert(point_fetch_is_valid(where));
        return point_fetch_make(text, where, machine, NULL, NULL) ? text : NULL;
}

START_TEST(test_arguments_are_registers_of_the_machine) {
        ck_assert_str_eq(fetch("arg2", EM_X86_64), "%si");
        ck_assert_str_eq(fetch("arg2", EM_AARCH64), "%x1");
        ck_assert_str_eq(fetch("+0(-8(arg1))", EM_X86_64), "+0(-8(%di))");
        ck_assert_ptr_null(fetch("arg1", EM_S390));
        ck_assert_ptr_null(fetch("+@some_function(arg1)", EM_X86_64));
}
END_TEST

static bool find_at_136(void *userdata, const char *symbol, uint32_t *ret) {
        ck_assert_str_eq(symbol, "some_function");
        *ret = 136;
        return true;
}

START_TEST(test_a_field_can_be_where_a_function_finds_it) {
        char text[POINT_FETCH_BYTES];

        ck_assert(
                point_fetch_make(text, "+@some_function(+64(arg1))", EM_X86_64, find_at_136, NULL));
        ck_assert_str_eq(text, "+136(+64(%di))");
}
END_TEST

/* wl_client_get_credentials() of libwayland-server 1.21 on x86-64, and of 1.22 on AArch64. */
START_TEST(test_the_field_is_read_out_of_the_code) {
        static const uint8_t x86_64[] = { 0x48, 0x85, 0xf6, 0x74, 0x08, 0x8b, 0x87,
                                          0x88, 0x00, 0x00, 0x00, 0x89, 0x06, 0xc3 },
                             aarch64[] = { 0x61, 0x00, 0x00, 0xb4, 0x02, 0x88, 0x40, 0xb9 },
                             none[] = { 0xc3, 0x8b, 0x87, 0x88, 0x00, 0x00, 0x00, 0x00 };
        uint32_t offset;

        ck_assert(point_field_offset(EM_X86_64, x86_64, sizeof(x86_64), &offset));
        ck_assert_uint_eq(offset, 0x88);
        ck_assert(point_field_offset(EM_AARCH64, aarch64, sizeof(aarch64), &offset));
        ck_assert_uint_eq(offset, 0x88);
        ck_assert(!point_field_offset(EM_X86_64, none, sizeof(none), &offset));
        ck_assert(!point_field_offset(EM_X86_64, x86_64, 8, &offset));
}
END_TEST

/*
 * Calls
 */

#define THREAD 7
#define STACK  UINT64_C(0x7ffff000)

static CallStacks stacks;
static char ended[256]; /* "SITE:BEGIN-END" with "!" where the end was only concluded */

static void note_end(void *userdata, pid_t tid, const Call *call, uint64_t end_ns, bool is_whole) {
        size_t n = strlen(ended);

        snprintf(ended + n,
                 sizeof(ended) - n,
                 "%s%u:%u-%u%s",
                 n ? " " : "",
                 call->site,
                 (unsigned)call->begin_ns,
                 (unsigned)end_ns,
                 is_whole ? "" : "!");
}

static void begin_calls(void) {
        *ended = '\0';
        ck_assert_int_eq(call_stacks_init(&stacks, note_end, NULL), 0);
}

static bool enter(uint32_t site, unsigned depth, uint64_t at_ns) {
        const Call call = { .site = site, .stack = STACK - depth * 64, .begin_ns = at_ns };

        return call_stacks_enter(&stacks, THREAD, &call);
}

static void leave(uint32_t site, unsigned depth, uint64_t at_ns) {
        call_stacks_leave(&stacks, THREAD, site, STACK - depth * 64 + 8, 8, at_ns);
}

static void assert_ended(const char *text) {
        ck_assert_str_eq(ended, text);
        call_stacks_deinit(&stacks);
}

START_TEST(test_a_return_belongs_to_the_entry_with_its_stack) {
        begin_calls();
        enter(1, 0, 10);
        enter(1, 1, 20);
        leave(1, 1, 30);
        enter(2, 1, 40);
        leave(2, 1, 50);
        leave(1, 0, 60);
        assert_ended("1:20-30 2:40-50 1:10-60");
}
END_TEST

START_TEST(test_a_return_without_an_entry_is_none) {
        begin_calls();
        leave(1, 0, 10);
        enter(1, 2, 20);
        leave(1, 1, 30);
        leave(2, 2, 40);
        leave(1, 2, 50);
        assert_ended("1:20-50");
}
END_TEST

START_TEST(test_what_was_left_by_longjmp_ends_when_the_stack_tells) {
        begin_calls();
        enter(1, 0, 10);
        enter(2, 1, 20);
        enter(3, 2, 30);
        enter(4,
              1,
              40); /* higher than 3, and as high as 2 was: both are gone, but 2 might have jumped to 4 */
        leave(1, 0, 50);
        assert_ended("3:30-40! 4:40-50! 2:20-50! 1:10-50");
}
END_TEST

START_TEST(test_one_function_may_end_in_another) {
        begin_calls();
        enter(1, 1, 10);
        enter(2, 1, 20);
        leave(2, 1, 30);
        leave(1, 1, 31);
        assert_ended("2:20-30 1:10-31");
}
END_TEST

START_TEST(test_a_lost_return_does_not_last_for_ever) {
        begin_calls();
        enter(1, 1, 10);
        enter(1, 1, 20);
        leave(1, 1, 30);
        assert_ended("1:10-20! 1:20-30");
}
END_TEST

START_TEST(test_depth_and_threads_are_bounded) {
        begin_calls();
        for (unsigned depth = 0; depth < CALL_DEPTH_MAX; depth++)
                ck_assert(enter(1, depth, depth));
        ck_assert(!enter(1, CALL_DEPTH_MAX, 100));
        *ended = '\0';
        for (pid_t tid = 1; tid < 100000; tid++)
                call_stacks_enter(
                        &stacks, tid, &(Call){ .site = 1, .stack = STACK, .begin_ns = 200 });
        call_stacks_end(&stacks, 300);
        for (size_t i = 0; i < CALL_THREADS_MAX; i++)
                ck_assert_uint_eq(stacks.stacks[i].depth, 0);
        call_stacks_deinit(&stacks);
}
END_TEST

TEST_MAIN("points-place",
          test_a_probe_goes_where_it_costs_least,
          test_code_that_is_cut_off_is_expensive,
          test_arguments_are_registers_of_the_machine,
          test_a_field_can_be_where_a_function_finds_it,
          test_the_field_is_read_out_of_the_code,
          test_a_return_belongs_to_the_entry_with_its_stack,
          test_a_return_without_an_entry_is_none,
          test_what_was_left_by_longjmp_ends_when_the_stack_tells,
          test_one_function_may_end_in_another,
          test_a_lost_return_does_not_last_for_ever,
          test_depth_and_threads_are_bounded)
