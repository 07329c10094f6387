/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What is counted of a heap: statistics are held against five standard deviations, which one run in a million misses
 */

#include <math.h>
#include <pthread.h>

#include "heap/chance.h"
#include "heap/profile.h"
#include "heap/settings.h"
#include "heap/stack-bounds.h"
#include "test.h"

#define N_DRAWS 200000

static void is_near(double got, double wanted, double deviation) {
        ck_assert_msg(fabs(got - wanted) <= 5 * deviation,
                      "got %f, wanted %f, a standard deviation is %f",
                      got,
                      wanted,
                      deviation);
}

START_TEST(test_draws_have_the_mean_and_the_deviation_of_their_distribution) {
        uint64_t state = 1;
        double sum = 0, squares = 0;

        for (int i = 0; i < N_DRAWS; i++) {
                const double draw = (double)chance_draw(&state, 32768);

                sum += draw;
                squares += draw * draw;
        }
        is_near(sum / N_DRAWS, 32767.5, 32768 / sqrt(N_DRAWS));
        /* The second moment is twice the square; its own deviation √20 times that. */
        is_near(squares / N_DRAWS, 2 * 32768. * 32768., sqrt(20. / N_DRAWS) * 32768. * 32768.);
}
END_TEST

START_TEST(test_chances_are_those_of_the_exponential_function) {
        static const uint64_t sizes[] = { 1, 16, 100, 4096, 16384, 16385, 32768, 100000, 1u << 20 };

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                const double wanted = -expm1(-(double)sizes[i] / 32768);

                ck_assert(fabs(chance_of(sizes[i], 32768) - wanted) <= wanted * 1e-9);
        }
        ck_assert(chance_of(UINT64_C(1) << 40, 32768) == 1);
}
END_TEST

/*
 * Addresses
 */

static AddressEntry entry_of(uint64_t address, uint8_t sessions) {
        return (AddressEntry){ .address = address, .n_bytes = address + 1, .sessions = sessions };
}

START_TEST(test_what_was_added_is_found_again) {
        static Addresses addresses;
        size_t n_wrong = 0; /* an assertion takes longer than all that it checks here */
        AddressEntry entry, old;
        bool has_old;

        for (uint64_t i = 1; i <= 50000; i++) {
                entry = entry_of(i * 48, 1);
                n_wrong += addresses_add(&addresses, &entry, &old, &has_old) != 0 || has_old;
        }
        ck_assert_uint_eq(n_wrong, 0);
        for (uint64_t i = 50000; i > 0; i--) {
                n_wrong += !addresses_may_have(&addresses, i * 48);
                n_wrong += !addresses_take(&addresses, i * 48, &entry);
                n_wrong += entry.n_bytes != i * 48 + 1;
                n_wrong += addresses_take(&addresses, i * 48, &entry);
        }
        ck_assert_uint_eq(addresses.n_used, 0);
        for (size_t i = 0; i < sizeof(addresses.filter); i++)
                n_wrong += addresses.filter[i] != 0;
        ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

START_TEST(test_an_address_that_comes_again_has_been_freed) {
        static Addresses addresses;
        const AddressEntry first = entry_of(64, 1), second = entry_of(64, 2);
        AddressEntry old;
        bool has_old;

        ck_assert_int_eq(addresses_add(&addresses, &first, &old, &has_old), 0);
        ck_assert_int_eq(addresses_add(&addresses, &second, &old, &has_old), 0);
        ck_assert(has_old);
        ck_assert_uint_eq(old.sessions, 1);
        ck_assert_uint_eq(addresses.n_missed, 1);
        ck_assert_uint_eq(addresses.n_used, 1);
}
END_TEST

START_TEST(test_a_session_takes_only_its_own_addresses_along) {
        static Addresses addresses;
        size_t n_wrong = 0;
        AddressEntry entry, old;
        bool has_old;

        for (uint64_t i = 1; i <= 3000; i++) {
                entry = entry_of(i * 16, (uint8_t)(1 + i % 3)); /* the first, the second, both */
                n_wrong += addresses_add(&addresses, &entry, &old, &has_old) != 0;
        }
        addresses_forget_session(&addresses, 0);
        ck_assert_uint_eq(addresses.n_used, 2000);
        for (uint64_t i = 1; i <= 3000; i++) {
                const bool is_there = addresses_take(&addresses, i * 16, &entry);

                n_wrong += is_there != (i % 3 > 0) || (is_there && entry.sessions != 2);
        }
        ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

START_TEST(test_addresses_of_a_range_and_of_one_heap_are_taken) {
        static Addresses addresses;
        unsigned n_taken = 0;
        AddressEntry old, entry;
        bool has_old;

        for (uint64_t i = 1; i <= 100; i++)
                for (uint8_t heap = 0; heap < 2; heap++) {
                        entry = entry_of(addresses_key((void *)(uintptr_t)(i * 16), heap), 1);
                        ck_assert_int_eq(addresses_add(&addresses, &entry, &old, &has_old), 0);
                        ck_assert(!has_old);
                }
        while (addresses_take_range(
                &addresses, addresses_key((void *)160, 1), addresses_key((void *)320, 1), &entry))
                n_taken++;
        ck_assert_uint_eq(n_taken, 10);
        ck_assert_uint_eq(addresses.n_used, 190);
        ck_assert(addresses_take(&addresses, addresses_key((void *)160, 0), &entry));
        ck_assert(!addresses_take(&addresses, addresses_key((void *)160, 1), &entry));
}
END_TEST

/*
 * Maps
 */

static void add_map(Maps *maps, uint64_t start, uint64_t end, uint8_t sessions) {
        const MapRange range = { .start = start, .end = end, .sessions = sessions };

        ck_assert_int_eq(maps_add(maps, &range), 0);
}

/* What is taken, and how many ranges are gone by it. */
static uint64_t take_maps(Maps *maps, uint64_t start, uint64_t end, unsigned *ret_n) {
        uint64_t n_bytes = 0;
        MapRange range;
        bool is_whole;

        *ret_n = 0;
        while (maps_take(maps, start, end, &range, &is_whole)) {
                n_bytes += range.end - range.start;
                *ret_n += is_whole;
        }
        return n_bytes;
}

START_TEST(test_any_part_of_what_is_mapped_can_be_taken) {
        static Maps maps;
        unsigned n;

        add_map(&maps, 300, 400, 1);
        add_map(&maps, 100, 200, 1);
        ck_assert_uint_eq(take_maps(&maps, 200, 300, &n), 0);
        ck_assert_uint_eq(take_maps(&maps, 120, 130, &n), 10); /* its middle */
        ck_assert_uint_eq(n, 0);
        ck_assert_uint_eq(maps.n_ranges, 3);
        ck_assert_uint_eq(take_maps(&maps, 100, 110, &n), 10); /* a front */
        ck_assert_uint_eq(take_maps(&maps, 190, 310, &n), 20); /* a back, and a front */
        ck_assert_uint_eq(n, 0);
        ck_assert_uint_eq(take_maps(&maps, 0, 1000, &n), 160); /* all the rest */
        ck_assert_uint_eq(n, 3);
        ck_assert_uint_eq(maps.n_ranges, 0);
}
END_TEST

START_TEST(test_maps_beyond_the_limit_are_refused_and_halves_are_lost) {
        static Maps maps;
        const MapRange one_more = { .start = 1, .end = 2, .sessions = 1 };
        MapRange range;
        bool is_whole;

        for (uint64_t i = 1; i <= MAPS_MAX; i++)
                add_map(&maps, i * 100, i * 100 + 100, 1 + i % 2);
        ck_assert_int_lt(maps_add(&maps, &one_more), 0);
        ck_assert(maps_take(&maps, 140, 150, &range, &is_whole));
        ck_assert_uint_eq(range.end - range.start, 60); /* with the half behind it */
        ck_assert_uint_eq(maps.n_refused, 2);
        maps_forget_session(&maps, 0);
        ck_assert_uint_eq(maps.n_ranges, MAPS_MAX / 2);
}
END_TEST

/*
 * Sites
 */

START_TEST(test_equal_stacks_are_one_site) {
        static Sites sites;
        const SiteFrame one[] = { { 16, 1 }, { 32, 1 } }, two[] = { { 16, 1 }, { 32, 2 } };
        uint32_t site;

        ck_assert_int_eq(sites_init(&sites, 7), 0);
        site = sites_find(&sites, 0, one, 2);
        ck_assert_uint_ne(site, SITE_OTHERS);
        ck_assert_uint_eq(sites_find(&sites, 0, one, 2), site);
        ck_assert_uint_ne(sites_find(&sites, 0, two, 2), site);
        ck_assert_uint_ne(sites_find(&sites, 0, one, 1), site);
        ck_assert_uint_eq(sites_find(&sites, 0, one, 0), SITE_OTHERS);
        ck_assert_uint_eq(sites.n_frames, 4); /* with that of the others */
}
END_TEST

START_TEST(test_stacks_beyond_the_limit_are_counted_as_others) {
        static Sites sites;
        size_t n_wrong = 0;

        ck_assert_int_eq(sites_init(&sites, 7), 0);
        for (uint64_t i = 0; i < SITES_MAX + 10; i++) {
                const SiteFrame frame = { i, 1 };

                n_wrong +=
                        (sites_find(&sites, 0, &frame, 1) == SITE_OTHERS) != (i >= SITES_MAX - 1);
        }
        ck_assert_uint_eq(n_wrong, 0);
        ck_assert_uint_eq(sites.n_refused, 11);
}
END_TEST

START_TEST(test_a_peak_has_what_each_site_had_then) {
        SiteTotals totals;
        uint64_t n;

        ck_assert_int_eq(site_totals_init(&totals), 0);
        site_totals_allocated(&totals, 0, 1, 100, 1);
        site_totals_allocated(&totals, 0, 2, 50, 2); /* the peak */
        site_totals_freed(&totals, 0, 1, 100, 1, true);
        site_totals_allocated(&totals, 0, 3, 90, 3);
        site_totals_freed(&totals, 0, 2, 50, 2, false);
        ck_assert_uint_eq(totals.heaps[0].live, 90);
        ck_assert_uint_eq(totals.heaps[0].live_most, 150);
        ck_assert_uint_eq(site_totals_at_peak(&totals, 0, 1, &n), 100);
        ck_assert_uint_eq(n, 1);
        ck_assert_uint_eq(site_totals_at_peak(&totals, 0, 2, &n), 50);
        ck_assert_uint_eq(n, 2);
        ck_assert_uint_eq(site_totals_at_peak(&totals, 0, 3, &n), 0);
        ck_assert_uint_eq(totals.counts[1].freed_soon, 100);
        site_totals_allocated(&totals, 0, 3, 100, 1); /* another */
        ck_assert_uint_eq(site_totals_at_peak(&totals, 0, 3, &n), 190);
        ck_assert_uint_eq(site_totals_at_peak(&totals, 0, 1, &n), 0);
        site_totals_deinit(&totals);
}
END_TEST

/*
 * Profiles
 */

#define N_BLOCKS    100000
#define BLOCK_BYTES 200

static void *block(size_t i) {
        return (void *)(uintptr_t)((i + 1) * 256);
}

/* As the hooks do. */
static void allocate(void *memory, size_t n_bytes) {
        if (profile_is_due(n_bytes)) {
                WalkStart start;

                walk_capture(&start);
                profile_allocated(0, memory, n_bytes, &start);
        }
}

static uint64_t sum_live(unsigned session) {
        ProfileCopy copy = {};
        uint64_t sum = 0;

        ck_assert_int_eq(profile_copy(&copy, session), 0);
        for (uint32_t i = 0; i < copy.n_sites; i++)
                sum += copy.counts[i].allocated - copy.counts[i].freed;
        ck_assert_uint_eq(sum, copy.heaps[0].live);
        profile_copy_deinit(&copy);
        return sum;
}

static double deviation_of(double interval) {
        return sqrt(interval * N_BLOCKS * BLOCK_BYTES);
}

START_TEST(test_sessions_with_their_own_intervals_see_the_same_heap) {
        static const uint64_t intervals[] = { 4096, 512, 16384 };
        unsigned sessions[3];

        ck_assert_int_eq(profile_init(), 0);
        for (size_t i = 0; i < 3; i++)
                ck_assert_int_eq(profile_start(&sessions[i], intervals[i]), 0);
        for (size_t i = 0; i < N_BLOCKS; i++)
                allocate(block(i), BLOCK_BYTES);
        for (size_t i = 0; i < 3; i++)
                is_near((double)sum_live(sessions[i]),
                        N_BLOCKS * BLOCK_BYTES,
                        deviation_of((double)intervals[i]));
        /* What remains counts as before when the one with the smallest interval has gone. */
        profile_stop(sessions[1]);
        for (size_t i = 0; i < N_BLOCKS; i++)
                if (profile_may_have(0, block(i)))
                        profile_freed(0, block(i));
        ck_assert_uint_eq(sum_live(sessions[0]), 0);
        ck_assert_uint_eq(sum_live(sessions[2]), 0);
        profile_stop(sessions[0]);
        profile_stop(sessions[2]);
}
END_TEST

START_TEST(test_there_are_eight_sessions_at_most) {
        unsigned sessions[PROFILE_SESSIONS_MAX], one_more;

        ck_assert_int_eq(profile_init(), 0);
        for (size_t i = 0; i < PROFILE_SESSIONS_MAX; i++)
                ck_assert_int_eq(profile_start(&sessions[i], 4096), 0);
        ck_assert_int_lt(profile_start(&one_more, 4096), 0);
        for (size_t i = 0; i < PROFILE_SESSIONS_MAX; i++)
                profile_stop(sessions[i]);
        ck_assert_int_eq(profile_start(&one_more, 4096), 0);
        profile_stop(one_more);
}
END_TEST

static void *use_many(void *userdata) {
        const size_t first = (size_t)(uintptr_t)userdata;

        for (size_t i = 0; i < 20000; i++) {
                allocate(block(first + i), BLOCK_BYTES);
                if (i % 2 && profile_may_have(0, block(first + i)))
                        profile_freed(0, block(first + i));
        }
        return NULL;
}

START_TEST(test_threads_count_together) {
        ProfileCopy copy = {};
        pthread_t threads[4];
        unsigned session;

        ck_assert_int_eq(profile_init(), 0);
        ck_assert_int_eq(profile_start(&session, 256), 0);
        for (size_t i = 0; i < 4; i++)
                ck_assert_int_eq(
                        pthread_create(&threads[i], NULL, use_many, (void *)(uintptr_t)(i * 20000)),
                        0);
        for (size_t i = 0; i < 20; i++)
                ck_assert_int_eq(profile_copy(&copy, session), 0);
        profile_copy_deinit(&copy);
        for (size_t i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        is_near((double)sum_live(session),
                4 * 10000 * BLOCK_BYTES,
                sqrt(256. * 40000 * BLOCK_BYTES));
        profile_stop(session);
}
END_TEST

/*
 * Settings
 */

#define parse(process, is_for_all, ...)                               \
        heap_settings_parse(&settings,                                \
                            (const uint8_t[]){ __VA_ARGS__ },         \
                            sizeof((const uint8_t[]){ __VA_ARGS__ }), \
                            process,                                  \
                            is_for_all)

START_TEST(test_configs_say_which_processes_are_meant) {
        const HeapProcess process = { .pid = 77, .name = "/usr/bin/cat" };
        HeapSettings settings;

        ck_assert_int_eq(heap_settings_parse(&settings, NULL, 0, &process, false), 0);
        ck_assert(!settings.is_meant && heap_settings_want(&settings, "libc.malloc"));
        ck_assert(!heap_settings_want(&settings, "mmap"));
        ck_assert_uint_eq(settings.interval, PROFILE_INTERVAL_DEFAULT);
        ck_assert_int_eq(heap_settings_parse(&settings, NULL, 0, &process, true), 0);
        ck_assert(settings.is_meant);
        /* heapprofd_config { pid: 77 }, { pid: 78 }, { process_cmdline: "c*t" }, { all: true sampling…: 100 } */
        ck_assert_int_eq(parse(&process, false, 0xca, 0x06, 2, 0x20, 77), 0);
        ck_assert(settings.is_meant);
        ck_assert_int_eq(parse(&process, true, 0xca, 0x06, 2, 0x20, 78), 0);
        ck_assert(!settings.is_meant);
        ck_assert_int_eq(parse(&process, false, 0xca, 0x06, 5, 0x12, 3, 'c', '*', 't'), 0);
        ck_assert(settings.is_meant);
        ck_assert_int_eq(parse(&process, false, 0xca, 0x06, 4, 0x28, 1, 0x08, 100), 0);
        ck_assert(settings.is_meant);
        ck_assert_uint_eq(settings.interval, 100);
        /* sampling_interval_bytes: 0, and no message at all */
        ck_assert_int_eq(parse(&process, true, 0xca, 0x06, 2, 0x08, 0), SETTINGS_E_INTERVAL);
        ck_assert_int_eq(parse(&process, true, 0xca, 0x06, 2, 0x08), SETTINGS_E_BAD);
        ck_assert_int_eq(parse(&process, true, 0xca, 0x06, 1, 0x0f), SETTINGS_E_BAD);
}
END_TEST

START_TEST(test_names_are_matched_as_perfetto_does) {
        static const struct {
                const char *name, *pattern;
                bool matches;
        } cases[] = {
                { "/usr/bin/cat", "cat", true },
                { "/usr/bin/cat", "c*", true },
                { "/usr/bin/cat", "*at", true },
                { "/usr/bin/cat", "/usr/bin/cat", true },
                { "/usr/bin/cat", "/bin/cat", false },
                { "cat", "*", true },
                { "cat", "cat*cat", false },
                { "cat", "", false },
                { "", "", true },
                { "cats", "cat", false },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                ck_assert(heap_settings_match(cases[i].name,
                                              cases[i].pattern,
                                              strlen(cases[i].pattern)) == cases[i].matches);
}
END_TEST

START_TEST(test_the_mapping_of_a_stack_is_found) {
        char buffer[128]; /* shorter than many lines */
        HeapThread thread = {};
        const uint64_t here = (uint64_t)(uintptr_t)&thread;

        ck_assert(!stack_bounds_parse(&thread, "1000-3000 rw-p 0 00:00 0", 0xfff));
        ck_assert(stack_bounds_parse(&thread, "1000-3000 rw-p 0 00:00 0", 0x1000));
        ck_assert_uint_eq(thread.stack_end, 0x3000);
        ck_assert(!stack_bounds_parse(&thread, "1000-3000 ---p 0 00:00 0", 0x1000));
        ck_assert(!stack_bounds_parse(&thread, "nonsense", 0));
        stack_bounds_find(&thread, here, buffer, sizeof(buffer));
        ck_assert(thread.stack_start <= here && thread.stack_end > here);
        ck_assert_uint_gt(thread.stack_end - here, 100);
}
END_TEST

TEST_MAIN("heap-counts",
          test_draws_have_the_mean_and_the_deviation_of_their_distribution,
          test_chances_are_those_of_the_exponential_function,
          test_what_was_added_is_found_again,
          test_an_address_that_comes_again_has_been_freed,
          test_a_session_takes_only_its_own_addresses_along,
          test_addresses_of_a_range_and_of_one_heap_are_taken,
          test_any_part_of_what_is_mapped_can_be_taken,
          test_maps_beyond_the_limit_are_refused_and_halves_are_lost,
          test_equal_stacks_are_one_site,
          test_stacks_beyond_the_limit_are_counted_as_others,
          test_a_peak_has_what_each_site_had_then,
          test_sessions_with_their_own_intervals_see_the_same_heap,
          test_there_are_eight_sessions_at_most,
          test_threads_count_together,
          test_configs_say_which_processes_are_meant,
          test_names_are_matched_as_perfetto_does,
          test_the_mapping_of_a_stack_is_found)
