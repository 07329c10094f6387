/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What waits when a recording starts: samples for the kernel's names, files for those that samples wait for. */

#include <check.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "probes/perf/perf-held.h"
#include "probes/perf/perf-kernel.h"
#include "probes/perf/perf-loader.h"
#include "probes/perf/perf-sampler.h"
#include "test.h"

static StackModule jit = { .id = 2, .path = "[jit]" };

static bool is_not_jit(const StackPart *part) {
        return part->module != &jit;
}

START_TEST(test_a_held_stack_is_what_it_was) {
        static const PerfMoment moment = { .time_ns = 17, .pid = 7 };
        StackTable stacks;
        PerfHeld held;
        HeldSample *sample;
        char name[] = "hot";

        ck_assert_int_eq(stack_table_init(&stacks), 0);
        perf_held_init(&held);
        stack_table_begin(&stacks);
        stack_table_add_named(&stacks, &jit, 1, name);
        stack_table_add(&stacks, &jit, 2);
        ck_assert(perf_held_add(&held, &moment, 3, &stacks, is_not_jit));
        memset(name, 'x', sizeof(name) - 1); /* its process has ended */
        stack_table_begin(&stacks);
        sample = perf_held_take(&held);
        ck_assert_ptr_nonnull(sample);
        ck_assert_ptr_null(perf_held_take(&held));
        ck_assert_uint_eq(held.n_bytes, 0);
        kept_stack_put(&sample->stack, &stacks);
        ck_assert_uint_eq(sample->moment.time_ns, 17);
        ck_assert_uint_eq(sample->weight, 3);
        ck_assert_uint_eq(stacks.n_parts, 2);
        ck_assert_str_eq(stacks.parts[0].name, "hot");
        ck_assert_uint_eq(stacks.parts[1].address, 2);
        held_sample_free(sample);
        perf_held_deinit(&held);
        stack_table_deinit(&stacks);
}
END_TEST

START_TEST(test_held_stacks_have_a_limit) {
        static const PerfMoment moment = {};
        StackTable stacks;
        PerfHeld held;
        size_t n = 0;

        ck_assert_int_eq(stack_table_init(&stacks), 0);
        perf_held_init(&held);
        stack_table_begin(&stacks);
        for (size_t i = 0; i < STACK_FRAMES_MAX; i++)
                stack_table_add(&stacks, &jit, i);
        while (perf_held_add(&held, &moment, 1, &stacks, is_not_jit))
                n++;
        ck_assert_uint_gt(n, 100);
        ck_assert_uint_lt(n * STACK_FRAMES_MAX * sizeof(StackPart), PERF_HELD_BYTES_MAX);
        perf_held_deinit(&held);
        stack_table_deinit(&stacks);
}
END_TEST

static char *kernel_text(void) {
        return strdup("ffffffff81000000 T first\n"
                      "ffffffff81000100 t do_exit.cold\n"
                      "ffffffff81000200 T last\n"
                      "ffffffff81000300 D data\n"
                      "ffffffff81000400 D end\n");
}

START_TEST(test_frames_of_the_kernel_get_names) {
        static StackModule program = { .id = 64, .path = "/bin/true" };
        PerfKernel kernel;
        StackTable stacks;

        ck_assert_int_eq(stack_table_init(&stacks), 0);
        perf_kernel_init(&kernel, (StackModule){ .id = 1, .path = "kernel" });
        ck_assert_int_eq(kernel_symbols_new(&kernel.symbols, kernel_text()), 0);
        ck_assert(!perf_kernel_is_reading(&kernel));
        for (unsigned i = 0; i < 2; i++) { /* known ones, too */
                stack_table_begin(&stacks);
                stack_table_add(&stacks, &kernel.module, UINT64_C(0xffffffff81000010));
                stack_table_add(&stacks, &kernel.module, UINT64_C(0xffffffff81000350));
                stack_table_add(&stacks, &program, 0x10);
                perf_kernel_name(&kernel, &stacks);
                ck_assert_str_eq(stacks.parts[0].name, "first");
                ck_assert_uint_eq(stacks.parts[0].address, UINT64_C(0xffffffff81000000));
                ck_assert_str_eq(stacks.parts[1].name, "[unknown]");
                ck_assert_uint_eq(stacks.parts[1].address, 0);
                ck_assert_ptr_null(stacks.parts[2].name);
                ck_assert(!perf_kernel_has_given_up(&kernel, &stacks));
        }
        stack_table_begin(&stacks);
        stack_table_add(&stacks, &kernel.module, UINT64_C(0xffffffff81000110));
        stack_table_add(&stacks, &program, 0x10);
        perf_kernel_name(&kernel, &stacks);
        ck_assert(perf_kernel_has_given_up(&kernel, &stacks));
        perf_kernel_leave_alone(&kernel, &stacks);
        ck_assert_uint_eq(stacks.n_parts, 1);
        perf_kernel_deinit(&kernel);
        stack_table_deinit(&stacks);
}
END_TEST

/* A sample with one frame of the kernel. */
static void take_sample(PerfSampler *sampler) {
        const uint64_t numbers = (uint64_t)getpid() | (uint64_t)7 << 32;
        struct perf_event_header header = { .type = PERF_RECORD_SAMPLE,
                                            .misc = PERF_RECORD_MISC_KERNEL,
                                            .size = 56 };
        uint64_t words[] = {
                0, numbers, 1234, 0, 2, (uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010)
        };

        memcpy(words, &header, sizeof(header));
        perf_sampler_take(sampler, words, sizeof(words), 0, 1234);
}

START_TEST(test_a_sample_is_written_when_names_are_there) {
        PacketList packets = PACKET_LIST_INIT;
        PerfSettings settings = { .is_frequency = true,
                                  .interval = 997,
                                  .wants_kernel_frames = true };
        PerfSampler sampler;
        WireReader sample;

        ck_assert_int_eq(perf_sampler_init(&sampler, &settings, &packets.sink), 0);
        if (perf_kernel_read(&sampler.kernel) < 0)
                ck_assert_int_eq(kernel_symbols_new(&sampler.kernel.symbols, kernel_text()), 0);
        take_sample(&sampler);
        if (sampler.held.n_bytes >
            0) /* as nearly always: the names were read before only if we were kept waiting */
                ck_assert(!packet_list_find(&packets, PACKET_PERF_SAMPLE, 0, &sample));
        perf_sampler_settle(&sampler);
        ck_assert(packet_list_find(&packets, PACKET_PERF_SAMPLE, 0, &sample));
        ck_assert(!packet_list_find(&packets, PACKET_PERF_SAMPLE, 1, &sample));
        take_sample(&sampler); /* at once */
        ck_assert(packet_list_find(&packets, PACKET_PERF_SAMPLE, 1, &sample));
        ck_assert_uint_eq(sampler.held.n_bytes, 0);
        perf_sampler_deinit(&sampler);
        packet_list_deinit(&packets);
}
END_TEST

#define LOADS 300u

static void submit(Loader *loader, pid_t pid, bool is_urgent) {
        Load *load = load_new(LOAD_PROCESS, pid);

        ck_assert_ptr_nonnull(load);
        load->is_urgent = is_urgent;
        ck_assert(loader_submit(loader, load));
}

/* How many were done when the one of this process was. */
static unsigned place_of(Loader *loader, pid_t pid) {
        unsigned place = 0, n = 0;
        Load *load;

        while (n < LOADS + 1) {
                loader_wait(loader, loader_now_ns() + UINT64_C(1000000000));
                while ((load = loader_take(loader))) {
                        n++;
                        place = load->pid == pid ? n : place;
                        load_free(load);
                }
        }
        return place;
}

/* The thread may be through with all of them before the last one comes, but not again and again. */
static bool overtakes(bool is_hurried) {
        const pid_t wanted = 1;
        unsigned place = LOADS + 1;
        Loader *loader;

        for (unsigned i = 0; i < 50 && place == LOADS + 1; i++) {
                ck_assert_int_eq(loader_new(&loader, NULL), 0);
                for (unsigned j = 0; j < LOADS; j++)
                        submit(loader, getpid(), false);
                submit(loader, wanted, !is_hurried);
                if (is_hurried)
                        loader_hurry(loader, wanted);
                place = place_of(loader, wanted);
                loader_free(loader);
        }
        return place < LOADS + 1;
}

START_TEST(test_what_a_sample_waits_for_is_read_first) {
        ck_assert(overtakes(false));
}
END_TEST

START_TEST(test_what_a_sample_waits_for_later_is_read_first_from_then_on) {
        ck_assert(overtakes(true));
}
END_TEST

TEST_MAIN("perf-held",
          test_a_held_stack_is_what_it_was,
          test_held_stacks_have_a_limit,
          test_frames_of_the_kernel_get_names,
          test_a_sample_is_written_when_names_are_there,
          test_what_a_sample_waits_for_is_read_first,
          test_what_a_sample_waits_for_later_is_read_first_from_then_on)
