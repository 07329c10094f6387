/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/kernel-events.h"

#include "shared/macro.h"
#include "test.h"

#define TRACEPOINTS                                           \
        "0000000000000000 t __pfx___traceiter_sched_switch\n" \
        "0000000000000000 T __traceiter_sched_switch\n"       \
        "0000000000000000 T __traceiter_sched_stat_wait\n"    \
        "ffffffff81234560 T __traceiter_clk_enable\n"         \
        "0000000000000000 T __x64_sys_openat\n"               \
        "0000000000000000 t __do_sys_openat\n"                \
        "0000000000000000 T __traceiter_kvm_exit\t[kvm]\n"    \
        "0000000000000000 t sched_something\n"                \
        "short\n"
#define GROUPS                                                    \
        "0000000000000000 r str__sched__trace_system_name\n"      \
        "0000000000000000 r str__clk__trace_system_name\n"        \
        "0000000000000000 r str__kvm__trace_system_name\t[kvm]\n" \
        "0000000000000000 r str__intel_sst__trace_system_name\n"

/* What is known when neither tracefs nor the service tells, and the presets have these. */
static KernelEvents events_of(const char *symbols) {
        static const char *const presets[] = { "power/cpu_frequency", "sched/sched_switch" };
        KernelEvents events = { .names = g_ptr_array_new_with_free_func(g_free) };
        FILE *file = fmemopen((char *)symbols, strlen(symbols), "r");

        for (size_t i = 0; i < ARRAY_SIZE(presets); i++)
                g_ptr_array_add(events.names, g_strdup(presets[i]));
        ck_assert(kernel_names_read_file(&events.symbols, file));
        fclose(file);
        return events;
}

static void check(const char *symbols, const char *event, ExitStatus wanted) {
        KernelEvents events = events_of(symbols);

        ck_assert_msg(kernel_events_check(&events, event) == wanted, "%s", event);
        kernel_events_deinit(&events);
}

START_TEST(test_symbols_tell_the_names_of_events) {
        KernelEvents events = events_of(TRACEPOINTS GROUPS);

        ck_assert(kernel_names_has_event(&events.symbols, "sched_stat_wait"));
        ck_assert(kernel_names_has_event(&events.symbols, "kvm_exit"));
        ck_assert(kernel_names_has_event(&events.symbols, "sys_enter_openat"));
        ck_assert(kernel_names_has_event(&events.symbols, "sys_exit_openat"));
        ck_assert(!kernel_names_has_event(&events.symbols, "something"));
        ck_assert(kernel_names_has_group(&events.symbols, "kvm"));
        ck_assert(kernel_names_has_group(&events.symbols, "intel-sst"));
        ck_assert(kernel_names_has_group(&events.symbols, "syscalls"));
        ck_assert_uint_eq(events.symbols.events->len, 6);
        kernel_events_deinit(&events);
}
END_TEST

START_TEST(test_a_kernel_without_symbols_tells_nothing) {
        KernelNames names;
        FILE *file = fmemopen((char *)"0000000000000000 t start\n", 25, "r");

        ck_assert(!kernel_names_read_file(&names, file));
        ck_assert_ptr_null(names.events);
        fclose(file);
}
END_TEST

START_TEST(test_events_that_are_there_are_not_refused) {
        static const char *const good[] = {
                "sched/sched_switch",
                "sched/sched_stat_wait",
                "sched/*",
                "power/cpu_frequency",
                "power/*",
        };

        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                check(TRACEPOINTS, good[i], STATUS_OK);
                check(TRACEPOINTS GROUPS, good[i], STATUS_OK);
        }
        check(TRACEPOINTS, "clk/clk_enable", STATUS_OK);
        check(TRACEPOINTS GROUPS, "syscalls/sys_enter_openat", STATUS_OK);
        check(TRACEPOINTS GROUPS, "kvm/*", STATUS_OK);
}
END_TEST

START_TEST(test_slips_are_refused) {
        check(TRACEPOINTS, "sched/sched_swich", STATUS_USAGE);
        check(TRACEPOINTS, "shed/sched_switch", STATUS_USAGE);
        check(TRACEPOINTS, "power/sched_switch", STATUS_USAGE);
        check(TRACEPOINTS GROUPS, "syscalls/sys_enter_opena", STATUS_USAGE);
        check(TRACEPOINTS GROUPS, "clx/clk_enable", STATUS_USAGE);
        check(TRACEPOINTS GROUPS, "clx/clk_enabel", STATUS_USAGE);
        check(TRACEPOINTS GROUPS, "kvn/*", STATUS_USAGE);
}
END_TEST

/* kprobes and their like have groups and names of their own. */
START_TEST(test_events_of_this_machine_are_left_open) {
        static const char *const own[] = {
                "kprobes/sched_switch",
                "probe_libc/openat",
                "kprobes/*",
                "sched/zzzzzzzzzzz",
        };

        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
                check(TRACEPOINTS, own[i], STATUS_OK);
                check(TRACEPOINTS GROUPS, own[i], STATUS_OK);
        }
        check(TRACEPOINTS, "clx/clk_enable", STATUS_OK);
}
END_TEST

TEST_MAIN("kernel-names",
          test_symbols_tell_the_names_of_events,
          test_a_kernel_without_symbols_tells_nothing,
          test_events_that_are_there_are_not_refused,
          test_slips_are_refused,
          test_events_of_this_machine_are_left_open)
