/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "probes/ftrace/bundle.h"

enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST = 3, BUNDLE_COMPACT = 4, BUNDLE_ERROR = 8 };
enum { BUNDLE_PREVIOUS_END = 10, BUNDLE_DESCRIPTORS = 11 };

static const PageLayout layout = PAGE_LAYOUT_64BIT;

/* A bundle writer for a set of events, one receiver of it, and what that got. */
typedef struct World {
        PacketList list;
        EventSet events;
        IdSet ids;
        BundleReceiver receiver;
        BundleWriter bundles;
        BundleCpu cpu;
} World;

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        ck_assert_ptr_nonnull(world);
        world->list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(bundle_writer_init(&world->bundles, &layout), 0);
        ck_assert_int_eq(bundle_receiver_init(&world->receiver, &world->list.sink, 1), 0);
        bundle_writer_add(&world->bundles, &world->receiver);
        world->bundles.notes_pids = true;
        world->cpu.cpu = 3;
        return world;
}

static void world_free(World *world) {
        bundle_receiver_deinit(&world->receiver);
        bundle_writer_deinit(&world->bundles);
        event_set_deinit(&world->events);
        packet_list_deinit(&world->list);
        free(world);
}

static void world_use_events(World *world) {
        for (size_t id = 0; id < world->events.n_ids; id++)
                if (world->events.by_id[id])
                        id_set_add(&world->ids, (uint16_t)id);
        ck_assert_int_eq(bundle_writer_use(&world->bundles, &world->events, &world->ids, NULL), 0);
}

static void world_add_pages(World *world, const char *file) {
        size_t n;
        char *pages;

        if (!world->bundles.encoders)
                world_use_events(world);
        pages = fixture_read(file, &n);
        for (size_t at = 0; at < n; at += 4096)
                bundle_add_page(&world->bundles, &world->cpu, pages + at, 4096);
        free(pages);
}

static void world_add_capture(World *world, const char *file) {
        world_add_pages(world, file);
        bundle_end_turn(&world->bundles, &world->cpu);
}

static bool world_met(const World *world, pid_t pid) {
        return pid_set_has(&world->bundles.pids, pid);
}

static bool message_has_loss(const PacketList *list) {
        WireReader bundle;

        for (size_t i = 0; packet_list_find(list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                if (message_count(bundle, BUNDLE_LOST) > 0)
                        return true;
        return false;
}

/* The first event of a number in all bundles. */
static bool
world_find_event(World *world, uint32_t number, WireReader *ret_event, WireReader *ret_body) {
        WireReader bundle;

        for (size_t i = 0; packet_list_find(&world->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; message_submessage(bundle, BUNDLE_EVENT, k, ret_event); k++)
                        if (message_submessage(*ret_event, number, 0, ret_body))
                                return true;
        return false;
}

START_TEST(test_switches_become_columns_that_say_the_same) {
        World *world = world_new();
        char *text = fixture_read("tracefs/sched.txt", NULL);
        const char *at = text;
        uint64_t times[2048], pids[2048], time = 0;
        WireReader bundle, compact;
        FixtureRow row;
        size_t n, i = 0;

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        fixture_add_event(&world->events, "sched", "sched_waking", true);
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert_uint_eq(world->list.n, 1);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_CPU), 3);
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_PREVIOUS_END), 0);
        ck_assert_uint_eq(message_count(bundle, BUNDLE_EVENT), 0);
        ck_assert_uint_eq(message_count(bundle, BUNDLE_LOST), 0);
        ck_assert(message_submessage(bundle, BUNDLE_COMPACT, 0, &compact));
        n = message_packed(compact, 1, times, 2048);
        ck_assert_uint_eq(message_packed(compact, 3, pids, 2048), n);
        ck_assert_uint_eq(message_packed(compact, 7, NULL, 0), message_packed(compact, 8, NULL, 0));
        ck_assert(message_has_text(compact, 5, "python3"));

        while ((at = fixture_row(at, &row))) {
                if (strcmp(row.event, "sched_switch") != 0)
                        continue;
                ck_assert_uint_lt(i, n);
                time += times[i];
                ck_assert_uint_eq((time + 500) / 1000, row.time_us);
                ck_assert_int_eq((int)pids[i], row.pid);
                ck_assert(row.pid == 0 || world_met(world, row.pid));
                i++;
        }
        ck_assert_uint_eq(i, n);
        ck_assert_uint_eq(world->receiver.cpus[0].end_timestamp, world->cpu.read_timestamp);
        free(text);
        world_free(world);
}
END_TEST

START_TEST(test_without_compact_sched_each_switch_is_an_event) {
        World *world = world_new();
        WireReader event, body;

        fixture_add_event(&world->events, "sched", "sched_switch", false);
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert(world_find_event(world, 4, &event, &body));
        ck_assert(message_has_text(body, 1, "python3"));
        ck_assert_uint_eq(message_uint(body, 3), 120);
        ck_assert_uint_ne(message_uint(event, 1), UINT64_MAX);
        ck_assert_uint_eq(message_uint(event, 2), message_uint(body, 2));
        world_free(world);
}
END_TEST

START_TEST(test_known_events_have_their_fields_under_the_known_numbers) {
        World *world = world_new();
        WireReader event, body;
        WireField field;

        fixture_add_event(&world->events, "sched", "sched_process_exec", true);
        fixture_add_event(&world->events, "task", "task_newtask", true);
        fixture_add_event(&world->events, "raw_syscalls", "sys_enter", true);
        fixture_add_event(&world->events, "ftrace", "print", true);
        fixture_add_event(&world->events, "block", "block_rq_issue", true);
        world_add_capture(world, "tracefs/mixed.raw");

        ck_assert(world_find_event(world, 237, &event, &body));
        ck_assert(message_has_text(body, 1, "/bin/true"));
        ck_assert_uint_eq(message_uint(body, 2), message_uint(event, 2));
        ck_assert(world_find_event(world, 329, &event, &body));
        ck_assert_uint_eq(message_uint(body, 1), 59);
        ck_assert_uint_eq(message_count(body, 2), 6);
        ck_assert(world_find_event(world, 3, &event, &body));
        ck_assert(message_field(body, 2, 0, &field));
        ck_assert_uint_eq(field.n_bytes, strlen("B|1|hello\n"));
        ck_assert_int_eq(memcmp(field.data, "B|1|hello", 9), 0);
        ck_assert(world_find_event(world, 45, &event, &body));
        ck_assert(message_field(body, 6, 0, &field)); /* comm, of the issuing thread */
        ck_assert_uint_gt(field.n_bytes, 0);

        /* A new task is a new thread, even under a number that was met before. */
        ck_assert(world_find_event(world, 235, &event, &body));
        ck_assert(pid_set_has(&world->bundles.born, (pid_t)message_uint(body, 1)));
        world_free(world);
}
END_TEST

START_TEST(test_unknown_events_bring_their_own_description) {
        World *world = world_new();
        EventFormat *format = fixture_format("csd", "csd_queue_cpu");
        WireReader bundle, event, body, descriptor, message, field;

        ck_assert_int_eq(event_set_add(&world->events, format, true), 0);
        world_add_capture(world, "tracefs/mixed.raw");
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert_uint_eq(message_count(bundle, BUNDLE_DESCRIPTORS), 1);
        ck_assert(message_submessage(bundle, BUNDLE_DESCRIPTORS, 0, &descriptor));
        ck_assert_uint_eq(message_uint(descriptor, 1), 65536u + format->id);
        ck_assert(message_has_text(descriptor, 3, "csd"));
        ck_assert(message_submessage(descriptor, 2, 0, &message));
        ck_assert(message_has_text(message, 1, "csd_queue_cpu"));
        ck_assert_uint_eq(message_count(message, 2), format->n_fields);
        ck_assert(message_submessage(message, 2, 0, &field));
        ck_assert(message_has_text(field, 1, format->fields[0].name));
        ck_assert_uint_eq(message_uint(field, 3), 1);
        ck_assert_uint_eq(message_uint(field, 5), 4); /* uint64 */
        ck_assert(world_find_event(world, 65536u + format->id, &event, &body));
        ck_assert_uint_eq(message_uint(body, 1), 1); /* queued for CPU 1 */
        event_format_free(format);
        world_free(world);
}
END_TEST

START_TEST(test_addresses_of_functions_become_names) {
        char *text = strdup("0000000000000010 A percpu\n"
                            "ffffffff81000100 t second\n"
                            "ffffffff81000000 T first\n"
                            "ffffffff81000000 T alias\n"
                            "ffffffff81000200 D data\n"
                            "ffffffffa0000000 t of_module\t[module]\n"
                            "ffffffffa0000100 b end\t[module]\n");
        KernelSymbols *symbols;
        uint8_t memory[256];
        WireReader packet, interned, symbol;
        WireWriter wire;

        ck_assert_int_eq(kernel_symbols_new(&symbols, text), 0);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffff81000150), 1);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffff81000001), 2);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffff81000100), 1);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffffa0000042), 3);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffff81000150), 1); /* remembered */
        /* Data, nothing, and behind the last symbol: addresses they stay. */
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffff81000250), 0xffffffff81000250);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffff888100000000), 0xffff888100000000);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffffa0000100), 0xffffffffa0000100);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0), 0);

        wire_writer_init(&wire, memory, sizeof(memory));
        kernel_symbols_encode(symbols, &wire);
        wire_reader_init(&packet, memory, wire_writer_size(&wire));
        ck_assert_uint_eq(message_uint(packet, PACKET_SEQUENCE_FLAGS), PACKET_STATE_CLEARED);
        ck_assert(message_submessage(packet, PACKET_INTERNED_DATA, 0, &interned));
        ck_assert_uint_eq(message_count(interned, 26), 3);
        ck_assert(message_submessage(interned, 26, 1, &symbol));
        ck_assert_uint_eq(message_uint(symbol, 1), 2);
        ck_assert(message_has_text(symbol, 2, "first"));
        ck_assert(message_submessage(interned, 26, 2, &symbol));
        ck_assert(message_has_text(symbol, 2, "of_module"));

        /* The next packet starts over. */
        wire_writer_init(&wire, memory, sizeof(memory));
        kernel_symbols_encode(symbols, &wire);
        ck_assert_uint_eq(wire_writer_size(&wire), 0);
        ck_assert_uint_eq(kernel_symbols_use(symbols, 0xffffffffa0000042), 1);
        kernel_symbols_free(symbols);

        ck_assert_int_eq(kernel_symbols_new(&symbols, strdup("0000000000000000 T first\n")),
                         -ENODATA);
        ck_assert_int_eq(kernel_symbols_new(&symbols, strdup("")), -ENODATA);
}
END_TEST

START_TEST(test_a_loss_in_the_kernel_starts_a_bundle_that_says_so) {
        World *world = world_new();
        size_t n_lost = 0;
        WireReader bundle;

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        world_add_capture(world, "tracefs/sched.raw");
        world_add_capture(world, "tracefs/lost.raw");
        ck_assert_uint_eq(world->list.n, 2);
        for (size_t i = 0; packet_list_find(&world->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                n_lost += message_count(bundle, BUNDLE_LOST);
        ck_assert_uint_eq(n_lost, 1);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 1, &bundle));
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_LOST), 1);
        ck_assert_uint_ne(message_uint(bundle, BUNDLE_PREVIOUS_END), 0);
        world_free(world);
}
END_TEST

START_TEST(test_a_bundle_that_the_sink_drops_is_a_loss_in_the_next) {
        World *world = world_new();
        uint64_t end;
        WireReader bundle;

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        world_add_capture(world, "tracefs/sched.raw");
        end = world->receiver.cpus[0].end_timestamp;
        world->list.refuses = true;
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert_uint_eq(world->list.n, 1);
        world->list.refuses = false;
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert_uint_eq(world->list.n, 2);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 1, &bundle));
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_LOST), 1);
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_PREVIOUS_END), end);
        world_free(world);
}
END_TEST

START_TEST(test_bundles_stay_small_and_lose_nothing_when_split) {
        World *world = world_new();
        WireReader bundle, compact;
        size_t n_switches = 0, n_split = 0;

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        for (size_t i = 0; i < 40; i++)
                world_add_pages(world, "tracefs/sched.raw");
        bundle_end_turn(&world->bundles, &world->cpu);
        for (; packet_list_find(&world->list, PACKET_FTRACE_EVENTS, n_split, &bundle); n_split++) {
                ck_assert(message_submessage(bundle, BUNDLE_COMPACT, 0, &compact));
                ck_assert_uint_le(message_packed(compact, 1, NULL, 0), COMPACT_EVENTS_MAX);
                ck_assert_uint_eq(message_count(bundle, BUNDLE_LOST), 0);
                n_switches += message_packed(compact, 1, NULL, 0);
        }
        ck_assert_uint_gt(n_split, 2);
        ck_assert_uint_gt(n_switches, 40 * 250);
        ck_assert_uint_eq(n_switches % 40, 0);
        world_free(world);
}
END_TEST

START_TEST(test_broken_pages_are_noted_and_never_read_past_their_end) {
        size_t n_pages;
        char *pages = fixture_read("tracefs/mixed.raw", &n_pages);
        World *world = world_new();
        uint32_t random = 1;

        fixture_add_event(&world->events, "sched", "sched_process_exec", true);
        fixture_add_event(&world->events, "ftrace", "print", true);
        fixture_add_event(&world->events, "csd", "csd_queue_cpu", true);
        fixture_add_event(&world->events, "block", "block_rq_issue", true);
        fixture_add_event(&world->events, "sched", "sched_switch", true);
        world_add_capture(world, "tracefs/mixed.raw");
        /* Each page in memory of its own, so that a sanitizer sees a byte too far. */
        for (size_t i = 0; i < 3000; i++) {
                char *page = malloc(4096);

                ck_assert_ptr_nonnull(page);
                memcpy(page, pages + i % (n_pages / 4096) * 4096, 4096);
                for (size_t k = 0; k < 8; k++) {
                        random = random * 1664525 + 1013904223;
                        page[8 + (random >> 8) % 1000] = (char)(random >> 24);
                }
                bundle_add_page(&world->bundles, &world->cpu, page, 4096);
                free(page);
        }
        bundle_end_turn(&world->bundles, &world->cpu);
        ck_assert_uint_ne(world->receiver.statuses, 0);
        ck_assert(message_has_loss(&world->list));
        free(pages);
        world_free(world);
}
END_TEST

/* Another receiver of the same writer. */
typedef struct Other {
        PacketList list;
        BundleReceiver receiver;
} Other;

static Other *other_new(World *world, uint64_t from_ns) {
        Other *other = calloc(1, sizeof(*other));

        ck_assert_ptr_nonnull(other);
        other->list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(bundle_receiver_init(&other->receiver, &other->list.sink, 1), 0);
        other->receiver.from_ns = from_ns;
        bundle_writer_add(&world->bundles, &other->receiver);
        return other;
}

static void other_free(Other *other) {
        bundle_receiver_deinit(&other->receiver);
        packet_list_deinit(&other->list);
        free(other);
}

static bool lists_equal(const PacketList *a, const PacketList *b) {
        if (a->n != b->n)
                return false;
        for (size_t i = 0; i < a->n; i++)
                if (a->packets[i].n != b->packets[i].n ||
                    memcmp(a->packets[i].data, b->packets[i].data, a->packets[i].n) != 0)
                        return false;
        return true;
}

/* Of all switches in a list of bundles; the first one's time, too. */
static size_t count_switches(const PacketList *list, uint64_t *ret_first) {
        uint64_t times[2048];
        WireReader bundle, compact;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(list, PACKET_FTRACE_EVENTS, i, &bundle); i++) {
                if (!message_submessage(bundle, BUNDLE_COMPACT, 0, &compact))
                        continue;
                if (n == 0 && message_packed(compact, 1, times, 2048) > 0)
                        *ret_first = times[0];
                n += message_packed(compact, 1, NULL, 0);
        }
        return n;
}

START_TEST(test_all_receivers_get_what_one_alone_would_get) {
        static const char *const events[][2] = { { "sched", "sched_switch" },
                                                 { "ftrace", "print" },
                                                 { "csd", "csd_queue_cpu" } };
        World *alone = world_new(), *world = world_new();
        Other *other = other_new(world, 0);

        for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
                fixture_add_event(&alone->events, events[i][0], events[i][1], true);
                fixture_add_event(&world->events, events[i][0], events[i][1], true);
        }
        for (size_t i = 0; i < 3; i++) {
                world_add_capture(alone, i == 1 ? "tracefs/lost.raw" : "tracefs/mixed.raw");
                world_add_capture(world, i == 1 ? "tracefs/lost.raw" : "tracefs/mixed.raw");
        }
        ck_assert_uint_ge(alone->list.n, 3);
        ck_assert(lists_equal(&alone->list, &world->list));
        ck_assert(lists_equal(&alone->list, &other->list));
        other_free(other);
        world_free(world);
        world_free(alone);
}
END_TEST

START_TEST(test_what_one_sink_drops_is_missing_there_alone) {
        World *world = world_new();
        Other *other = other_new(world, 0);
        uint64_t first_end;
        WireReader bundle;

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        fixture_add_event(&world->events, "ftrace", "print", true);
        world_add_capture(world, "tracefs/sched.raw");
        first_end = world->receiver.cpus[0].end_timestamp;
        other->list.refuses = true;
        world_add_capture(world, "tracefs/mixed.raw");
        other->list.refuses = false;
        world_add_capture(world, "tracefs/lost.raw");

        ck_assert_uint_eq(world->list.n, 3);
        ck_assert_uint_eq(other->list.n, 2);
        ck_assert(packet_list_find(&other->list, PACKET_FTRACE_EVENTS, 1, &bundle));
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_LOST), 1);
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_PREVIOUS_END), first_end);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 1, &bundle));
        ck_assert_uint_eq(message_count(bundle, BUNDLE_LOST), 0);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 2, &bundle));
        ck_assert_uint_ne(message_uint(bundle, BUNDLE_PREVIOUS_END), first_end);
        other_free(other);
        world_free(world);
}
END_TEST

START_TEST(test_a_receiver_sees_nothing_from_before_its_beginning) {
        World *alone = world_new(), *world = world_new();
        uint64_t first, from_ns, other_first = 0;
        size_t n_all, n_other;
        Other *other;

        fixture_add_event(&alone->events, "sched", "sched_switch", true);
        fixture_add_event(&world->events, "sched", "sched_switch", true);
        world_add_capture(alone, "tracefs/sched.raw");
        n_all = count_switches(&alone->list, &first);
        from_ns = first + (alone->cpu.read_timestamp - first) / 2;

        other = other_new(world, from_ns);
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert_uint_eq(count_switches(&world->list, &first), n_all);
        n_other = count_switches(&other->list, &other_first);
        ck_assert_uint_gt(n_other, 0);
        ck_assert_uint_lt(n_other, n_all);
        ck_assert_uint_ge(other_first, from_ns);
        ck_assert(!message_has_loss(&other->list));
        ck_assert(!message_has_loss(&world->list));
        other_free(other);
        world_free(world);
        world_free(alone);
}
END_TEST

START_TEST(test_two_writers_of_one_page_take_each_its_own) {
        World *switches = world_new(), *prints = world_new();
        WireReader event, body, bundle;

        fixture_add_event(&switches->events, "sched", "sched_switch", true);
        fixture_add_event(&prints->events, "ftrace", "print", true);
        world_add_capture(switches, "tracefs/mixed.raw");
        world_add_capture(prints, "tracefs/mixed.raw");
        ck_assert(!world_find_event(switches, 3, &event, &body));
        ck_assert(world_find_event(prints, 3, &event, &body));
        ck_assert(packet_list_find(&prints->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert_uint_eq(message_count(bundle, BUNDLE_COMPACT), 0);
        /* Nothing of what one wants: no bundle, and no loss. */
        packet_list_deinit(&prints->list);
        world_add_capture(prints, "tracefs/sched.raw");
        ck_assert_uint_eq(prints->list.n, 0);
        world_free(prints);
        world_free(switches);
}
END_TEST

START_TEST(test_a_loss_is_told_even_if_nothing_wanted_comes_behind_it) {
        World *world = world_new();
        WireReader bundle;

        fixture_add_event(&world->events, "ftrace", "print", true);
        world_add_capture(world, "tracefs/lost.raw");
        ck_assert_uint_eq(world->list.n, 1);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_LOST), 1);
        ck_assert_uint_eq(message_uint(bundle, BUNDLE_CPU), 3);
        ck_assert_uint_eq(message_count(bundle, BUNDLE_EVENT), 0);
        /* Once. */
        world_add_capture(world, "tracefs/sched.raw");
        ck_assert_uint_eq(world->list.n, 1);
        world_free(world);
}
END_TEST

START_TEST(test_a_writer_goes_on_with_the_encoders_of_those_left) {
        World *alone = world_new(), *world = world_new();
        EventSet others = {};

        fixture_add_event(&alone->events, "ftrace", "print", true);
        fixture_add_event(&alone->events, "csd", "csd_queue_cpu", true);
        fixture_add_event(&world->events, "ftrace", "print", true);
        fixture_add_event(&world->events, "csd", "csd_queue_cpu", true);
        fixture_add_event(&others, "csd", "csd_queue_cpu", true);
        fixture_add_event(&others, "ftrace", "print", true);
        world_add_capture(world, "tracefs/mixed.raw");
        bundle_writer_borrow(&world->bundles, &others, NULL);
        event_set_deinit(&world->events);
        world_add_capture(world, "tracefs/mixed.raw");
        world_add_capture(alone, "tracefs/mixed.raw");
        world_add_capture(alone, "tracefs/mixed.raw");
        ck_assert(lists_equal(&alone->list, &world->list));
        event_set_deinit(&others);
        world_free(world);
        world_free(alone);
}
END_TEST

START_TEST(test_forgotten_pids_are_met_again) {
        World *world = world_new();

        fixture_add_event(&world->events, "task", "task_newtask", true);
        world_add_capture(world, "tracefs/mixed.raw");
        ck_assert_uint_gt(world->bundles.born.n_fresh, 0);
        bundle_forget_pids(&world->bundles);
        ck_assert_uint_eq(world->bundles.born.n_fresh, 0);
        ck_assert_uint_eq(world->bundles.pids.n_fresh, 0);
        world_add_capture(world, "tracefs/mixed.raw");
        ck_assert_uint_gt(world->bundles.born.n_fresh, 0);
        ck_assert_uint_gt(world->bundles.pids.n_fresh, 0);
        world_free(world);
}
END_TEST

#define N_ODD_SWITCHES 400

/* What a switch says. */
typedef struct Switch {
        uint64_t delta;
        int64_t prev_state;
        char comm[COMM_BYTES];
        int32_t pid, prio;
} Switch;

static uint32_t draw(uint32_t *random, uint32_t n) {
        *random = *random * 1664525 + 1013904223;
        return (*random >> 8) % n;
}

static Switch draw_switch(uint32_t *random) {
        static const int32_t pids[] = { 0, 5, 133, 127, 128, 16384, 4194303, INT32_MAX, -1 };
        static const int32_t prios[] = { 120, 120, 120, 0, 127, 139, -1 };
        static const int64_t states[] = { 0, 0, 1, 2, 256, INT64_C(1) << 40, -1 };
        static const uint64_t deltas[] = { 0, 90, 1000, 16383, 16384, (1u << 27) - 1 };
        Switch drawn = {
                .delta = deltas[draw(random, ARRAY_SIZE(deltas))],
                .prev_state = states[draw(random, ARRAY_SIZE(states))],
                .pid = pids[draw(random, ARRAY_SIZE(pids))],
                .prio = prios[draw(random, ARRAY_SIZE(prios))],
        };

        snprintf(drawn.comm, sizeof(drawn.comm), "name%u", draw(random, 3));
        return drawn;
}

/* Appends a record to a page, as the kernel of the fixtures does. */
static uint8_t *put_switch(uint8_t *at, const EventFormat *format, const Switch *one) {
        uint32_t header = 16 | (uint32_t)one->delta << 5;

        memset(at, 0, 4 + 64);
        memcpy(at, &header, sizeof(header));
        at += 4;
        memcpy(at + RECORD_ID_OFFSET, &format->id, sizeof(format->id));
        memcpy(at + event_format_find(format, "prev_state")->offset, &one->prev_state, 8);
        memcpy(at + event_format_find(format, "next_comm")->offset, one->comm, COMM_BYTES);
        memcpy(at + event_format_find(format, "next_pid")->offset, &one->pid, 4);
        memcpy(at + event_format_find(format, "next_prio")->offset, &one->prio, 4);
        return at + 64;
}

static void check_switches(WireReader compact, const Switch *switches, uint64_t time) {
        uint64_t columns[7][N_ODD_SWITCHES], last = 0;
        WireField comm;

        for (uint32_t field = 1; field <= 6; field++)
                if (field != 5)
                        ck_assert_uint_eq(
                                message_packed(compact, field, columns[field], N_ODD_SWITCHES),
                                N_ODD_SWITCHES);
        for (size_t i = 0; i < N_ODD_SWITCHES; i++) {
                time += switches[i].delta;
                last += columns[1][i];
                ck_assert_uint_eq(last, time);
                ck_assert_int_eq((int64_t)columns[2][i], switches[i].prev_state);
                ck_assert_int_eq((int64_t)columns[3][i], switches[i].pid);
                ck_assert_int_eq((int64_t)columns[4][i], switches[i].prio);
                ck_assert(message_field(compact, 5, columns[6][i], &comm));
                ck_assert_uint_eq(comm.n_bytes, strlen(switches[i].comm));
                ck_assert_int_eq(memcmp(comm.data, switches[i].comm, comm.n_bytes), 0);
        }
}

START_TEST(test_columns_hold_whatever_the_kernel_says) {
        static uint8_t page[16 + N_ODD_SWITCHES * 68];
        EventFormat *format = fixture_format("sched", "sched_switch");
        Switch switches[N_ODD_SWITCHES];
        World *world = world_new();
        uint64_t header[2] = { UINT64_C(1) << 45, sizeof(page) - 16 };
        uint8_t *at = page + sizeof(header);
        WireReader bundle, compact;
        uint32_t random = 7;

        memcpy(page, header, sizeof(header));
        for (size_t i = 0; i < N_ODD_SWITCHES; i++) {
                switches[i] = draw_switch(&random);
                at = put_switch(at, format, &switches[i]);
        }
        fixture_add_event(&world->events, "sched", "sched_switch", true);
        world_use_events(world);
        bundle_add_page(&world->bundles, &world->cpu, page, sizeof(page));
        bundle_end_turn(&world->bundles, &world->cpu);
        ck_assert_uint_eq(world->list.n, 1);
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert(message_submessage(bundle, BUNDLE_COMPACT, 0, &compact));
        check_switches(compact, switches, header[0]);
        ck_assert(world_met(world, 4194303) && world_met(world, 5));
        event_format_free(format);
        world_free(world);
}
END_TEST

TEST_MAIN("bundle",
          test_switches_become_columns_that_say_the_same,
          test_without_compact_sched_each_switch_is_an_event,
          test_known_events_have_their_fields_under_the_known_numbers,
          test_unknown_events_bring_their_own_description,
          test_addresses_of_functions_become_names,
          test_a_loss_in_the_kernel_starts_a_bundle_that_says_so,
          test_a_bundle_that_the_sink_drops_is_a_loss_in_the_next,
          test_bundles_stay_small_and_lose_nothing_when_split,
          test_broken_pages_are_noted_and_never_read_past_their_end,
          test_all_receivers_get_what_one_alone_would_get,
          test_what_one_sink_drops_is_missing_there_alone,
          test_a_receiver_sees_nothing_from_before_its_beginning,
          test_two_writers_of_one_page_take_each_its_own,
          test_a_loss_is_told_even_if_nothing_wanted_comes_behind_it,
          test_a_writer_goes_on_with_the_encoders_of_those_left,
          test_forgotten_pids_are_met_again,
          test_columns_hold_whatever_the_kernel_says)
