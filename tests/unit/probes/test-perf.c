/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#include "host/packet-list.h"
#include "probes/perf/perf-cost.h"
#include "probes/perf/perf-processes.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/perf-sampler.h"
#include "probes/perf/perf-scope.h"
#include "probes/perf/perf-settings.h"
#include "probes/perf/stack-table.h"
#include "shared/macro.h"

/*
 * Records
 */

typedef struct Record {
        uint64_t words[128];
        size_t n;
} Record;

static void put(Record *record, uint64_t word) {
        record->words[record->n++] = word;
}

static void put_pair(Record *record, uint32_t first, uint32_t second) {
        const uint32_t pair[] = { first, second };
        uint64_t word;

        memcpy(&word, pair, sizeof(word));
        put(record, word);
}

static Record begin(uint32_t type, uint16_t misc) {
        const struct perf_event_header header = { .type = type, .misc = misc };
        Record record = {};
        uint64_t word;

        memcpy(&word, &header, sizeof(word));
        put(&record, word);
        return record;
}

/* A sample of pid 7, thread 8, with a chain of two and a stack of two words, of which one is used. */
static Record sample_record(void) {
        Record record = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

        put_pair(&record, 7, 8);
        put(&record, 1234);
        put_pair(&record, 3, 0);
        put(&record, 2);
        put(&record, (uint64_t)PERF_CONTEXT_KERNEL);
        put(&record, 0x1000);
        put(&record, PERF_SAMPLE_REGS_ABI_64);
        for (uint64_t i = 0; i < PERF_REGISTERS_N; i++)
                put(&record, i);
        put(&record, 16);
        put(&record, 0xaa);
        put(&record, 0xbb);
        put(&record, 8);
        return record;
}

static const PerfLayout everything = { .has_chain = true, .has_stack = true };

START_TEST(test_a_sample_is_read_field_by_field) {
        const Record record = sample_record();
        PerfSample sample;

        ck_assert_int_eq(perf_sample_parse(&sample, &everything, record.words, record.n * 8), 0);
        ck_assert_int_eq(sample.pid, 7);
        ck_assert_int_eq(sample.tid, 8);
        ck_assert_uint_eq(sample.time_ns, 1234);
        ck_assert_uint_eq(sample.cpu, 3);
        ck_assert_uint_eq(sample.mode, PERF_RECORD_MISC_USER);
        ck_assert_uint_eq(sample.n_chain, 2);
        ck_assert_uint_eq(perf_word(sample.chain, 1), 0x1000);
        ck_assert_uint_eq(perf_word(sample.registers, 8), 8);
        ck_assert_uint_eq(sample.n_stack, 8);
        ck_assert_uint_eq(perf_word(sample.stack, 0), 0xaa);
        ck_assert(!sample.is_stack_cut);
        ck_assert_uint_eq(perf_record_time_ns(record.words, record.n * 8), 1234);
}
END_TEST

START_TEST(test_a_record_that_is_cut_is_refused) {
        const Record record = sample_record();
        PerfSample sample;

        for (size_t n = 0; n < record.n * 8; n++)
                ck_assert_int_eq(perf_sample_parse(&sample, &everything, record.words, n),
                                 PERF_RECORD_E_BAD);
}
END_TEST

START_TEST(test_lengths_that_lie_are_refused) {
        static const size_t lengths[] = { 4,
                                          28,
                                          31 }; /* of the chain, of the stack's room, of its use */
        PerfSample sample;

        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                Record record = sample_record();

                record.words[lengths[i]] = UINT64_MAX / 8;
                ck_assert_int_eq(
                        perf_sample_parse(&sample, &everything, record.words, record.n * 8),
                        PERF_RECORD_E_BAD);
        }
}
END_TEST

START_TEST(test_a_mapping_has_a_name_that_ends) {
        Record record = begin(PERF_RECORD_MMAP2, 0);
        PerfMap map;

        put_pair(&record, 7, 7);
        put(&record, 0x1000);
        put(&record, 0x2000);
        put(&record, 0x3000);
        put_pair(&record, 8, 1);
        put(&record, 99);
        put(&record, 5);
        put(&record, 0);
        memcpy(&record.words[record.n], "/lib/a.so", 10);
        ck_assert_int_eq(perf_map_parse(&map, record.words, record.n * 8 + 16), 0);
        ck_assert_str_eq(map.path, "/lib/a.so");
        ck_assert_uint_eq(map.start, 0x1000);
        ck_assert_uint_eq(map.n_bytes, 0x2000);
        ck_assert_uint_eq(map.offset, 0x3000);
        ck_assert_uint_eq(map.major, 8);
        ck_assert_uint_eq(map.minor, 1);
        ck_assert_uint_eq(map.inode, 99);
        ck_assert_int_eq(perf_map_parse(&map, record.words, record.n * 8 + 9), PERF_RECORD_E_BAD);
}
END_TEST

/*
 * Scope
 */

typedef Perfetto__Protos__PerfEventConfig__Scope Scope;

static bool scope_has(const Scope *config, pid_t pid, const char *command) {
        PerfScope scope;
        char *error = NULL;
        bool has;

        ck_assert_msg(perf_scope_init(&scope, config, &error) == 0, "%s", error);
        has = perf_scope_has(&scope, pid, command, "0::/system.slice/cron.service\n");
        perf_scope_deinit(&scope);
        return has;
}

START_TEST(test_a_pattern_is_held_against_the_name_or_the_path) {
        Scope config = PERFETTO__PROTOS__PERF_EVENT_CONFIG__SCOPE__INIT;
        char *names[] = { (char *)"gnome-*", (char *)"/opt/*/run", (char *)"sh" };

        config.target_cmdline = names;
        config.n_target_cmdline = ARRAY_SIZE(names);
        ck_assert(scope_has(&config, 1, "/usr/bin/gnome-shell"));
        ck_assert(scope_has(&config, 1, "gnome-"));
        ck_assert(!scope_has(&config, 1, "/usr/bin/gnom"));
        ck_assert(scope_has(&config, 1, "/opt/x/run"));
        ck_assert(!scope_has(&config, 1, "/opt/run"));
        ck_assert(scope_has(&config, 1, "/bin/sh"));
        ck_assert(!scope_has(&config, 1, "/bin/shh"));
        ck_assert(!scope_has(&config, 1, ""));
}
END_TEST

START_TEST(test_a_unit_is_chosen_by_its_name) {
        Scope config = PERFETTO__PROTOS__PERF_EVENT_CONFIG__SCOPE__INIT;
        char *units[] = { (char *)"ssh.service", (char *)"cron.*" }, *other[] = { (char *)"cron" };
        int32_t excluded[] = { 6 };

        config.target_unit = units;
        config.n_target_unit = ARRAY_SIZE(units);
        config.exclude_pid = excluded;
        config.n_exclude_pid = 1;
        ck_assert(scope_has(&config, 4, ""));
        ck_assert(!scope_has(&config, 6, ""));
        config.target_unit = other;
        config.n_target_unit = 1;
        ck_assert(!scope_has(&config, 4, "cron"));
}
END_TEST

START_TEST(test_what_is_excluded_is_out_whatever_else_is_said) {
        Scope config = PERFETTO__PROTOS__PERF_EVENT_CONFIG__SCOPE__INIT;
        char *excluded[] = { (char *)"bash" };
        int32_t pids[] = { 5, 6 }, excluded_pids[] = { 6 };

        ck_assert(scope_has(NULL, 4, "anything"));
        config.exclude_cmdline = excluded;
        config.n_exclude_cmdline = 1;
        ck_assert(scope_has(&config, 4, "anything"));
        ck_assert(!scope_has(&config, 4, "/bin/bash"));
        config.target_pid = pids;
        config.n_target_pid = 2;
        config.exclude_pid = excluded_pids;
        config.n_exclude_pid = 1;
        ck_assert(scope_has(&config, 5, "x"));
        ck_assert(!scope_has(&config, 5, "bash"));
        ck_assert(!scope_has(&config, 6, "x"));
        ck_assert(!scope_has(&config, 4, "x"));
}
END_TEST

/*
 * Settings
 */

typedef Perfetto__Protos__PerfEventConfig PerfEventConfig;
typedef Perfetto__Protos__PerfEvents__Timebase Timebase;

static int settings_of(PerfSettings *ret, PerfEventConfig *perf, const char *said) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        char *error = NULL;
        int r;

        config.perf_event_config = perf;
        r = perf_settings_init(ret, &config, &error);
        if (said)
                ck_assert_msg(error && strstr(error, said), "%s", error ?: "no error");
        free(error);
        return r;
}

START_TEST(test_without_a_config_time_is_sampled_as_perfetto_does) {
        PerfSettings settings;

        ck_assert_int_eq(settings_of(&settings, NULL, NULL), 0);
        ck_assert_uint_eq(settings.type, PERF_TYPE_SOFTWARE);
        ck_assert_uint_eq(settings.config, PERF_COUNT_SW_CPU_CLOCK);
        ck_assert(settings.is_frequency);
        ck_assert_uint_eq(settings.interval, 10);
        ck_assert_uint_eq(settings.clock_id, PERF_CLOCK_ID_BOOTTIME);
        ck_assert(!settings.wants_user_frames);
        perf_settings_deinit(&settings);
}
END_TEST

/* Of a ring that is always read in time nobody wants to be told. */
START_TEST(test_only_a_clock_fills_rings_as_fast_as_it_says) {
        static const size_t n_bytes = 2 * (PERF_LONG_PERIOD_MS + 1) * PERF_RECORD_BYTES_MAX;
        PerfEventConfig perf = PERFETTO__PROTOS__PERF_EVENT_CONFIG__INIT;
        Timebase timebase = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
        PerfSettings settings;

        perf.timebase = &timebase;
        timebase.interval_case = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY;
        timebase.frequency = 1000;
        ck_assert_int_eq(settings_of(&settings, &perf, NULL), 0);
        ck_assert_uint_eq(settings.period_ns, PERF_LONG_PERIOD_MS * PROBE_NS_PER_MS);
        ck_assert(perf_settings_read_in_time(&settings, n_bytes));
        ck_assert(!perf_settings_read_in_time(&settings, n_bytes - 1));
        settings.config = PERF_COUNT_SW_PAGE_FAULTS;
        ck_assert(!perf_settings_read_in_time(&settings, n_bytes));
        settings.config = PERF_COUNT_SW_CPU_CLOCK;
        settings.is_frequency = false;
        ck_assert(!perf_settings_read_in_time(&settings, n_bytes));
        perf_settings_deinit(&settings);
}
END_TEST

START_TEST(test_a_counter_of_the_processor_has_a_clock_that_it_can_read) {
        PerfEventConfig perf = PERFETTO__PROTOS__PERF_EVENT_CONFIG__INIT;
        Timebase timebase = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
        PerfSettings settings;

        perf.timebase = &timebase;
        timebase.event_case = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
        timebase.counter = PERFETTO__PROTOS__PERF_EVENTS__COUNTER__HW_CPU_CYCLES;
        timebase.interval_case = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INTERVAL_PERIOD;
        timebase.period = 1000000;
        ck_assert_int_eq(settings_of(&settings, &perf, NULL), 0);
        ck_assert_uint_eq(settings.type, PERF_TYPE_HARDWARE);
        ck_assert_uint_eq(settings.clock_id, PERF_CLOCK_ID_MONOTONIC);
        ck_assert(!settings.is_frequency);
        perf_settings_use_clock(&settings);
        ck_assert_uint_eq(settings.type, PERF_TYPE_SOFTWARE);
        ck_assert(settings.is_frequency);
        perf_settings_deinit(&settings);
}
END_TEST

START_TEST(test_what_cannot_be_is_refused_with_its_name) {
        PerfEventConfig perf = PERFETTO__PROTOS__PERF_EVENT_CONFIG__INIT;
        Perfetto__Protos__PerfEvents__Tracepoint tracepoint =
                PERFETTO__PROTOS__PERF_EVENTS__TRACEPOINT__INIT;
        Timebase timebase = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
        PerfSettings settings;

        perf.timebase = &timebase;
        timebase.interval_case = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY;
        timebase.frequency = PERF_FREQUENCY_MAX + 1;
        ck_assert_int_eq(settings_of(&settings, &perf, "at most 10000"), PROBE_E_REFUSED);
        timebase.frequency = 0;
        ck_assert_int_eq(settings_of(&settings, &perf, "no samples"), PROBE_E_REFUSED);
        timebase.frequency = 100;
        perf.ring_buffer_pages = 3;
        ck_assert_int_eq(settings_of(&settings, &perf, "power of two"), PROBE_E_REFUSED);
        perf.ring_buffer_pages = 0;
        timebase.event_case = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_TRACEPOINT;
        timebase.tracepoint = &tracepoint;
        tracepoint.name = (char *)"../../../etc/passwd";
        ck_assert_int_eq(settings_of(&settings, &perf, "names no tracepoint"), PROBE_E_REFUSED);
        tracepoint.name = (char *)"sched";
        ck_assert_int_eq(settings_of(&settings, &perf, "names no tracepoint"), PROBE_E_REFUSED);
        tracepoint.name = (char *)"nobody:nothing";
        ck_assert_int_eq(settings_of(&settings, &perf, "no tracepoint nobody/nothing"),
                         PROBE_E_REFUSED);
}
END_TEST

/*
 * Stacks
 */

static uint32_t intern(StackTable *table, StackModule *module, uint64_t first, size_t n) {
        stack_table_begin(table);
        for (size_t i = 0; i < n; i++)
                stack_table_add(table, module, first + i);
        return stack_table_end(table);
}

static size_t interned_bytes(const StackTable *table) {
        size_t n;

        stack_table_interned(table, &n);
        return n;
}

START_TEST(test_a_stack_is_told_once) {
        StackModule module = { .id = 70, .path = "/lib/a.so" };
        StackTable table;
        uint32_t number;

        ck_assert_int_eq(stack_table_init(&table), 0);
        number = intern(&table, &module, 100, 5);
        ck_assert_uint_ne(number, 0);
        ck_assert_uint_gt(interned_bytes(&table), 0);
        ck_assert_uint_eq(intern(&table, &module, 100, 5), number);
        ck_assert_uint_eq(interned_bytes(&table), 0);
        ck_assert_uint_ne(intern(&table, &module, 100, 4), number);
        ck_assert_uint_ne(intern(&table, &module, 101, 5), number);
        ck_assert_uint_eq(intern(&table, &module, 100, 0), 0);
        stack_table_clear(&table);
        ck_assert_uint_eq(intern(&table, &module, 100, 5), 1);
        ck_assert_uint_gt(interned_bytes(&table), 0);
        stack_table_deinit(&table);
}
END_TEST

START_TEST(test_a_table_that_is_full_says_so) {
        StackModule module = { .id = 70, .path = "/lib/a.so" };
        StackTable table;
        uint64_t i;

        ck_assert_int_eq(stack_table_init(&table), 0);
        for (i = 0; stack_table_has_room(&table); i++)
                intern(&table, &module, i * 2, 2);
        ck_assert_uint_gt(i, 10000);
        stack_table_clear(&table);
        ck_assert(stack_table_has_room(&table));
        stack_table_deinit(&table);
}
END_TEST

START_TEST(test_a_name_that_does_not_end_is_refused) {
        Record record = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
        const char *name;
        pid_t pid;

        put_pair(&record, 7, 7);
        put(&record, UINT64_MAX);
        ck_assert_int_eq(perf_comm_parse(&pid, &name, record.words, record.n * 8),
                         PERF_RECORD_E_BAD);
        ck_assert_int_eq(perf_comm_parse(&pid, &name, record.words, 8), PERF_RECORD_E_BAD);
        record.words[record.n - 1] = 'x';
        ck_assert_int_eq(perf_comm_parse(&pid, &name, record.words, record.n * 8), 0);
        ck_assert_str_eq(name, "x");
}
END_TEST

/*
 * Cost
 */

START_TEST(test_sampling_that_costs_too_much_is_done_half_as_often) {
        const uint64_t period_ns = PERF_COST_PERIOD_NS,
                       limit_ns = period_ns / 100 * PERF_COST_PERCENT;
        PerfCost cost = { .since_ns = 1000, .cost_ns = 2 * limit_ns };

        ck_assert_uint_eq(perf_cost_look(&cost, 997, 1000 + period_ns - 1), 997);
        ck_assert_uint_eq(perf_cost_look(&cost, 997, 1000 + period_ns), 498);
        ck_assert_uint_eq(cost.cost_ns, 0);
        cost.cost_ns = limit_ns;
        ck_assert_uint_eq(perf_cost_look(&cost, 498, 1000 + 2 * period_ns), 498);
        cost.cost_ns = limit_ns + 1;
        ck_assert_uint_eq(perf_cost_look(&cost, 498, 1000 + 3 * period_ns), 249);
}
END_TEST

START_TEST(test_sampling_never_comes_to_an_end_by_its_cost) {
        uint64_t frequency = 10000, now_ns = 0;
        PerfCost cost = {};

        for (unsigned i = 0; i < 20; i++) {
                cost.cost_ns = PERF_COST_PERIOD_NS;
                frequency = perf_cost_look(&cost, frequency, now_ns += PERF_COST_PERIOD_NS);
                ck_assert_uint_ge(frequency, PERF_COST_FREQUENCY_MIN);
        }
        ck_assert_uint_lt(frequency, 2 * PERF_COST_FREQUENCY_MIN);
}
END_TEST

/* What the trace has been told for the `skip`-th time. */
static uint64_t told_frequency(const PacketList *packets, size_t skip) {
        WireReader defaults, perf, timebase;

        ck_assert(packet_list_find(packets, PACKET_DEFAULTS, skip, &defaults));
        ck_assert(message_submessage(defaults, 12, 0, &perf));
        ck_assert(message_submessage(perf, 1, 0, &timebase));
        return message_uint(timebase, 2);
}

static void take_loss(PerfSampler *sampler) {
        Record record = begin(PERF_RECORD_LOST, 0);

        put(&record, 1);
        put(&record, 5);
        perf_sampler_take(sampler, record.words, record.n * 8, 0, 1234);
}

START_TEST(test_the_trace_is_told_of_another_frequency) {
        PacketList packets = PACKET_LIST_INIT;
        PerfSettings settings = { .is_frequency = true, .interval = 997 };
        PerfSampler sampler;
        WireReader defaults;

        ck_assert_int_eq(perf_sampler_init(&sampler, &settings, &packets.sink), 0);
        take_loss(&sampler);
        take_loss(&sampler);
        ck_assert_uint_eq(told_frequency(&packets, 0), 997);
        ck_assert(!packet_list_find(&packets, PACKET_DEFAULTS, 1, &defaults));
        sampler.writer.interval = 498;
        perf_sampler_clear(&sampler);
        take_loss(&sampler);
        ck_assert_uint_eq(told_frequency(&packets, 1), 498);
        perf_sampler_deinit(&sampler);
        packet_list_deinit(&packets);
}
END_TEST

/*
 * Sleep
 */

static const uint32_t callstack_field = 6, weight_field = 11;

typedef struct Sleepers {
        PacketList packets;
        PerfSettings settings;
        PerfSampler sampler;
} Sleepers;

static void sleepers_init(Sleepers *world) {
        *world = (Sleepers){
                .packets = PACKET_LIST_INIT,
                .settings = { .is_off_cpu = true,
                              .interval = 1,
                              .min_off_ns = 50,
                              .wants_kernel_frames = true,
                              .weight = { "linux.offcpu", "off-cpu-time", 1 } },
        };
        ck_assert_int_eq(perf_sampler_init(&world->sampler, &world->settings, &world->packets.sink),
                         0);
}

static void sleepers_deinit(Sleepers *world) {
        perf_sampler_deinit(&world->sampler);
        packet_list_deinit(&world->packets);
}

static void take(Sleepers *world, const Record *record, uint64_t time_ns) {
        perf_sampler_take(&world->sampler, record->words, record->n * 8, 0, time_ns);
}

/* A thread leaves with one frame of the kernel. */
static void leave(Sleepers *world, uint32_t tid, uint64_t time_ns) {
        Record record = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

        put_pair(&record, (uint32_t)getpid(), tid);
        put(&record, time_ns);
        put_pair(&record, 0, 0);
        put(&record, 2);
        put(&record, (uint64_t)PERF_CONTEXT_KERNEL);
        put(&record, 0x1000);
        take(world, &record, time_ns);
}

static void arrive(Sleepers *world, uint32_t tid, uint64_t time_ns) {
        Record record = begin(PERF_RECORD_SWITCH_CPU_WIDE, 0);

        put_pair(&record, 0, 0);
        put_pair(&record, (uint32_t)getpid(), tid);
        put(&record, time_ns);
        put_pair(&record, 0, 0);
        take(world, &record, time_ns);
}

/* What the n-th sleep weighs; 0: there is none. */
static uint64_t weight_of(const Sleepers *world, size_t n) {
        WireReader sample;

        if (!packet_list_find(&world->packets, PACKET_STACK_SAMPLE, n, &sample))
                return 0;
        ck_assert_uint_gt(message_uint(sample, callstack_field), 0);
        return message_uint(sample, weight_field);
}

START_TEST(test_a_sleep_weighs_what_it_lasted) {
        Sleepers world;

        sleepers_init(&world);
        leave(&world, 7, 1000);
        leave(&world, 8, 1100);
        arrive(&world, 8, 1149);
        ck_assert_uint_eq(weight_of(&world, 0), 0); /* too short */
        arrive(&world, 7, 3000);
        arrive(&world, 7, 4000);
        ck_assert_uint_eq(weight_of(&world, 0), 2000);
        ck_assert_uint_eq(weight_of(&world, 1), 0);
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_a_sleep_is_found_whichever_processor_is_read_first) {
        Sleepers world;

        sleepers_init(&world);
        arrive(&world, 7, 3000);
        leave(&world, 7, 1000);
        ck_assert_uint_eq(weight_of(&world, 0), 2000);
        leave(&world, 7, 5000);
        ck_assert_uint_eq(weight_of(&world, 1), 0);
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_a_thread_that_sleeps_at_a_flush_is_reported_and_sleeps_on) {
        Sleepers world;

        sleepers_init(&world);
        leave(&world, 7, 1000);
        perf_sampler_cut(&world.sampler, 5000);
        ck_assert_uint_eq(weight_of(&world, 0), 4000);
        perf_sampler_clear(&world.sampler); /* the stack is told of again */
        arrive(&world, 7, 5500);
        ck_assert_uint_eq(weight_of(&world, 1), 500);
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_after_a_loss_nobody_has_slept) {
        Sleepers world;

        sleepers_init(&world);
        leave(&world, 7, 1000);
        take_loss(&world.sampler);
        arrive(&world, 7, 3000);
        perf_sampler_cut(&world.sampler, 5000);
        ck_assert_uint_eq(weight_of(&world, 0), 0);
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_too_many_sleepers_are_counted) {
        Sleepers world;
        WireReader skipped;

        sleepers_init(&world);
        for (uint32_t tid = 1; tid <= PERF_SLEEPERS_MAX; tid++)
                leave(&world, tid, 1000 + tid);
        ck_assert(!packet_list_find(&world.packets, PACKET_PERF_SAMPLE, 0, &skipped));
        leave(&world, PERF_SLEEPERS_MAX + 1, 90000);
        ck_assert(packet_list_find(&world.packets, PACKET_PERF_SAMPLE, 0, &skipped));
        ck_assert_uint_eq(message_uint(skipped, 18), 3);
        perf_sleepers_forget(&world.sampler.sleepers, 17);
        ck_assert_uint_eq(world.sampler.sleepers.n, PERF_SLEEPERS_MAX - 1);
        for (uint32_t tid = 1; tid <= PERF_SLEEPERS_MAX; tid++)
                arrive(&world, tid, 100000);
        ck_assert_uint_eq(world.sampler.sleepers.n_bytes, 0);
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_samples_of_processes_without_room_are_counted) {
        Sleepers world;
        WireReader skipped;

        sleepers_init(&world);
        world.sampler.processes.n = PERF_PROCESSES_MAX;
        world.settings.has_owner = true;
        leave(&world, 7, 1000); /* perhaps another user's */
        ck_assert(!packet_list_find(&world.packets, PACKET_PERF_SAMPLE, 0, &skipped));
        world.settings.has_owner = false;
        leave(&world, 7, 2000);
        ck_assert(packet_list_find(&world.packets, PACKET_PERF_SAMPLE, 0, &skipped));
        ck_assert_uint_eq(message_uint(skipped, 18), 3);
        ck_assert(!packet_list_find(&world.packets, PACKET_PERF_SAMPLE, 1, &skipped));
        sleepers_deinit(&world);
}
END_TEST

START_TEST(test_what_has_no_weight_is_refused) {
        PerfEventConfig perf = PERFETTO__PROTOS__PERF_EVENT_CONFIG__INIT;
        Perfetto__Protos__PerfEventConfig__OffCpu off_cpu =
                PERFETTO__PROTOS__PERF_EVENT_CONFIG__OFF_CPU__INIT;
        Timebase timebase = PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
        PerfSettings settings;

        perf.timebase = &timebase;
        perf.stack_samples = true;
        ck_assert_int_eq(settings_of(&settings, &perf, "needs a period"), PROBE_E_REFUSED);
        perf.off_cpu = &off_cpu;
        ck_assert_int_eq(settings_of(&settings, &perf, "off_cpu is the timebase"), PROBE_E_REFUSED);
}
END_TEST

START_TEST(test_events_that_cost_too_much_are_sampled_half_as_often) {
        uint64_t period = 1, now_ns = 0;
        PerfCost cost = {};

        ck_assert_uint_eq(perf_cost_look_at_period(&cost, 1, now_ns += PERF_COST_PERIOD_NS), 1);
        for (unsigned i = 0; i < 40; i++) {
                cost.cost_ns = PERF_COST_PERIOD_NS;
                period = perf_cost_look_at_period(&cost, period, now_ns += PERF_COST_PERIOD_NS);
        }
        ck_assert_uint_eq(period, PERF_COST_INTERVAL_MAX);
}
END_TEST

TEST_MAIN("perf",
          test_a_sample_is_read_field_by_field,
          test_a_record_that_is_cut_is_refused,
          test_lengths_that_lie_are_refused,
          test_a_mapping_has_a_name_that_ends,
          test_a_pattern_is_held_against_the_name_or_the_path,
          test_a_unit_is_chosen_by_its_name,
          test_what_is_excluded_is_out_whatever_else_is_said,
          test_without_a_config_time_is_sampled_as_perfetto_does,
          test_only_a_clock_fills_rings_as_fast_as_it_says,
          test_a_counter_of_the_processor_has_a_clock_that_it_can_read,
          test_what_cannot_be_is_refused_with_its_name,
          test_a_stack_is_told_once,
          test_a_table_that_is_full_says_so,
          test_a_name_that_does_not_end_is_refused,
          test_sampling_that_costs_too_much_is_done_half_as_often,
          test_sampling_never_comes_to_an_end_by_its_cost,
          test_the_trace_is_told_of_another_frequency,
          test_a_sleep_weighs_what_it_lasted,
          test_a_sleep_is_found_whichever_processor_is_read_first,
          test_a_thread_that_sleeps_at_a_flush_is_reported_and_sleeps_on,
          test_after_a_loss_nobody_has_slept,
          test_too_many_sleepers_are_counted,
          test_samples_of_processes_without_room_are_counted,
          test_what_has_no_weight_is_refused,
          test_events_that_cost_too_much_are_sampled_half_as_often)
