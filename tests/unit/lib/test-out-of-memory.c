/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn: what the program calls says so and leaves its errno alone, what the service asks
 * for is refused with that reason, and afterwards everything works.
 *
 * The library's objects are in this program, so that the linker can put the failing allocator in.
 */

#include <pthread.h>

#include "desktrace/recording.h"
#include "desktrace/source.h"
#include "desktrace/trigger.h"
#include "failing-allocator.h"
#include "shared/fd.h"
#include "track-world.h"

/* Of the library's own allocator, for what events need: how many are in use. Some linkers let pool_new() call the
 * pool_take() in here, others do not. */
static _Atomic int n_pieces;
static _Thread_local bool is_inside;

#define COUNTING(name)                                   \
        void *__real_##name(size_t n_bytes);             \
        void *__wrap_##name(size_t n_bytes);             \
        void *__wrap_##name(size_t n_bytes) {            \
                const bool is_outer = !is_inside;        \
                void *memory = NULL;                     \
                                                         \
                is_inside = true;                        \
                if (!is_outer || !fails_now())           \
                        memory = __real_##name(n_bytes); \
                is_inside = !is_outer;                   \
                n_pieces += is_outer && memory;          \
                return memory;                           \
        }

COUNTING(pool_take)
COUNTING(pool_new)

void *__real_pool_free(void *memory);
void *__wrap_pool_free(void *memory);
void *__wrap_pool_free(void *memory) {
        n_pieces -= memory != NULL;
        return __real_pool_free(memory);
}

#define PACKET   "\x40\x01" /* TracePacket.timestamp 1 */
#define N_PACKET 2

static dt_source *source;
static dt_instance *instance;
static const char *start_error;
static unsigned n_gone;

static const char *
on_setup(dt_instance *made, const void *config, size_t n_config, void *userdata) {
        instance = made;
        return NULL;
}

static void on_start(dt_instance *started, dt_reply *reply, void *userdata) {
        dt_reply_done(reply, start_error);
}

static void on_gone(dt_instance *gone, void *userdata) {
        n_gone++;
        instance = NULL;
}

static const dt_source_ops ops = { .setup = on_setup, .start = on_start, .gone = on_gone };

static Fake fake;

static void serve(void) {
        fake_listen(&fake);
        fake_accept(&fake);
}

static void world_init(void) {
        fake_init(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        serve();
}

static void world_deinit(void) {
        dt_source_unregister(source);
        fake_deinit(&fake);
}

/*
 * What the program calls
 */

static int set_producer(void) {
        return dt_set_producer("a program", 1 << 20, 4096);
}

static int register_source(void) {
        static const uint32_t fields[] = { 11 };
        static const char *const categories[] = { "one", "two", NULL };
        static const dt_source_options options = {
                .descriptor = "\x0a\x05other",
                .n_descriptor = 7,
                .categories = categories,
                .packet_fields = fields,
                .n_packet_fields = 1,
                .unavailable = "It is off.",
        };
        dt_source *other = NULL;
        int r = dt_source_register(&other, "other", &options, &ops, NULL);

        if (r == 0)
                dt_source_unregister(other);
        else
                ck_assert_ptr_null(other);
        return r;
}

static int update_source(void) {
        static const char *const categories[] = { "later", NULL };
        static const dt_source_options options = { .categories = categories };

        return dt_source_update(source, &options);
}

static int add_note(void) {
        return dt_instance_add_note(instance, "a note");
}

static int new_writer(void) {
        dt_writer *writer = NULL;
        int r = dt_writer_new(&writer, instance, DT_FULL_DROP);

        dt_writer_free(writer);
        return r;
}

static int trigger(void) {
        return dt_trigger("trigger");
}

static void observe(dt_recording what, unsigned n_sessions, void *userdata) {
}

static int add_observer(void) {
        dt_observer *observer = NULL;
        int r = dt_observer_add(&observer, observe, NULL);

        dt_observer_remove(observer);
        return r;
}

static int describe_track(void) {
        static const dt_track track = DT_TRACK("described", 1);
        static const dt_track_details details = { .size = sizeof(details),
                                                  .description = "What it shows." };

        return dt_track_describe(&track, &details);
}

/* What finds no memory is a category that is never on. */
static int find_category(void) {
        const dt_category *category = dt_category_find_or_add("found later", "What it is", "tag");

        ck_assert_ptr_nonnull(category);
        return category->name[0] ? 0 : -ENOMEM;
}

static int init(void) {
        return dt_init(NULL);
}

static int record_startup(void) {
        return dt_startup_record(&(dt_startup_options){ .categories = "render" });
}

/* No function of the library is a cancellation point, and each leaves its caller as it was. */
static void assert_can_be_cancelled(void) {
        int state;

        ck_assert_int_eq(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state), 0);
        ck_assert_int_eq(state, PTHREAD_CANCEL_ENABLE);
}

/* Until nothing fails. Returns how many times it has. */
static unsigned try_call(int (*call)(void)) {
        for (unsigned i = 0;; i++) {
                bool is_short;
                int r;

                arm(i);
                r = call();
                is_short = disarm();
                assert_can_be_cancelled();
                ck_assert_int_eq(r, is_short ? -ENOMEM : 0);
                if (!is_short)
                        return i;
        }
}

/* Likewise, for calls that can do without some of it, and succeed only once. Returns how many times they have not. */
static unsigned try_first_call(int (*call)(void)) {
        unsigned n_failures = 0;

        for (unsigned i = 0;; i++) {
                int r;

                arm(i);
                r = call();
                disarm();
                assert_can_be_cancelled();
                if (r == 0)
                        return n_failures;
                ck_assert_int_eq(r, -ENOMEM);
                n_failures++;
        }
}

/* First of all: afterwards the library has started. */
START_TEST(test_the_first_calls_of_a_program_say_that_there_is_no_memory) {
        fake_init(&fake);
        ck_assert_uint_ge(try_call(set_producer), 1);
        ck_assert_uint_ge(try_first_call(record_startup), 1);
        ck_assert_uint_ge(try_first_call(init), 4);
        serve();
        ck_assert_str_eq(fake.producer, "a program");
        ck_assert_uint_eq(fake.n_sources, 1);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_later_calls_say_that_there_is_no_memory_and_work_when_there_is) {
        world_init();
        ck_assert_uint_eq(try_call(trigger), 1);
        ck_assert_uint_eq(try_call(add_observer), 1);
        ck_assert_uint_ge(try_call(register_source), 8);
        ck_assert_uint_ge(try_call(update_source), 2);
        ck_assert_uint_ge(try_call(describe_track), 1);
        ck_assert_uint_ge(try_first_call(find_category), 2);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_uint_eq(try_call(add_note), 2);
        ck_assert_uint_ge(try_call(new_writer), 1);
        fake_run_triggers(&fake, 1);
        fake_run_notes(&fake, 1);
        fake_run_offered(&fake, "test.source", "later");
        ck_assert_str_eq(fake.triggers, "trigger");
        ck_assert_str_eq(fake.note, "a note");
        world_deinit();
}
END_TEST

/*
 * What the service asks for
 */

static int ask_setup(void) {
        return fake_setup_buffer(&fake, 1, "test.source", 1);
}

static int ask_start(void) {
        return fake_start(&fake, 1);
}

static int ask_flush(void) {
        return fake_flush(&fake, 1);
}

static int ask_stop(void) {
        return fake_stop(&fake, 1);
}

static int ask_clear(void) {
        return fake_clear(&fake, 1);
}

static int ask_setup_and_start(void) {
        fake.starts = true;
        return ask_setup();
}

typedef struct Ask {
        int (*make)(void);
        int (*before[2])(void);
        unsigned n_failures;
} Ask;

static const Ask asks[] = {
        { ask_setup, { NULL }, 1 },
        { ask_start, { ask_setup }, 2 },
        { ask_flush, { ask_setup, ask_start }, 1 },
        { ask_stop, { ask_setup, ask_start }, 2 },
        { ask_clear, { ask_setup, ask_start }, 0 },
        { ask_setup_and_start, { NULL }, 3 },
};

/* Records a packet, from the beginning. */
static void assert_goes_on(void) {
        dt_writer *writer;

        fake_disconnect(&fake);
        fake_accept(&fake);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 2, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 2), 0);
        ck_assert(dt_source_enabled(source));
        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        ck_assert_int_eq(fake_stop(&fake, 2), 0);
        ck_assert(!dt_source_enabled(source));
        fake_drain(&fake);
        ck_assert_uint_eq(fake_n_packets(&fake), 1);
        dt_writer_free(writer);
}

static unsigned try_ask(const Ask *ask) {
        for (unsigned i = 0;; i++) {
                bool is_short;
                int r;

                fake.starts = false;
                for (size_t k = 0; k < 2 && ask->before[k]; k++)
                        ck_assert_int_eq(ask->before[k](), 0);
                arm(i);
                r = ask->make();
                is_short = disarm();
                if (is_short) {
                        ck_assert_int_lt(r, 0);
                        ck_assert_ptr_nonnull(strstr(fake.error, "Cannot allocate memory"));
                } else
                        ck_assert_int_eq(r, 0);
                assert_goes_on();
                if (!is_short)
                        return i;
        }
}

START_TEST(test_the_service_is_told_that_there_is_no_memory) {
        world_init();
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        for (size_t k = 0; k < ARRAY_SIZE(asks); k++)
                ck_assert_uint_ge(try_ask(&asks[k]), asks[k].n_failures);
        world_deinit();
}
END_TEST

/* The first packet of a sequence gets a mark, and so is put together in the library's memory. */
START_TEST(test_a_large_first_packet_without_memory_is_lost_and_the_program_told) {
        static const uint8_t packet[2000] = { 0x52, 0xcd, 0x0f }; /* a field of 1997 bytes */
        dt_writer *writer;
        int r;

        world_init();
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 1), 0);
        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_DROP), 0);
        arm(0);
        r = dt_writer_write(writer, packet, sizeof(packet));
        ck_assert(disarm());
        ck_assert_int_eq(r, -ENOBUFS);
        ck_assert(dt_writer_lost(writer));
        ck_assert_int_eq(dt_writer_write(writer, packet, sizeof(packet)), 0);
        ck_assert_int_eq(fake_stop(&fake, 1), 0);
        fake_drain(&fake);
        ck_assert_uint_eq(fake_n_packets(&fake), 1);
        dt_writer_free(writer);
        world_deinit();
}
END_TEST

START_TEST(test_memory_that_cannot_be_mapped_is_refused) {
        bool is_short = true;

        world_init();
        for (unsigned i = 0; is_short; i++) {
                _cleanup_(fd_closep) int fd = -1;
                int r;

                fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
                ck_assert_int_eq(fd_new_sealed_memfd(&fd, "test", fake.n_memory), 0);
                ck_assert_int_eq(pwrite(fd, fake.memory, fake.n_memory, 0), (ssize_t)fake.n_memory);
                arm(i);
                r = fake_pass_memory(&fake, fd);
                is_short = disarm();
                ck_assert_int_eq(r, is_short ? -ENOMEM : 0);
                assert_goes_on();
        }
        world_deinit();
}
END_TEST

/* Behind the request and its reply, the texts are copied: from the source to the reply, and on to the request. */
START_TEST(test_a_failure_whose_text_finds_no_memory_is_still_one) {
        start_error = "It is broken.";
        for (unsigned i = 2; i <= 4; i++) {
                world_init();
                n_gone = 0;
                fake.starts = false;
                fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
                ck_assert_int_eq(ask_setup(), 0);
                arm(i);
                ck_assert_int_lt(ask_start(), 0);
                ck_assert_int_eq(disarm(), i < 4);
                ck_assert_str_eq(fake.error, i < 4 ? "Cannot allocate memory" : start_error);
                ck_assert_uint_eq(n_gone, 1);
                world_deinit();
        }
        start_error = NULL;
}
END_TEST

/*
 * Events
 */

static void *emit(void *userdata) {
        static const dt_track track = DT_TRACK("a track", 7),
                              counter = DT_COUNTER_TRACK("count", "B");
        const unsigned *i = userdata;

        arm(*i);
        errno = EDOM;
        dt_thread_set_name("worker");
        DT_SLICE_BEGIN(render, "short of memory", DT_STRING("text", "words"));
        DT_INSTANT_ON(render, &track, "there");
        DT_COUNTER_ON(render, &counter, 3);
        DT_SLICE_END(render);
        ck_assert_int_eq(errno, EDOM);
        return (void *)(uintptr_t)disarm();
}

START_TEST(test_threads_that_find_no_memory_lose_events_and_nothing_else) {
        World *world = world_new();
        unsigned n = 0;
        void *is_short;

        world_record(world, NULL, NULL);
        do {
                pthread_t thread;

                ck_assert_int_eq(pthread_create(&thread, NULL, emit, &n), 0);
                ck_assert_int_eq(pthread_join(thread, &is_short), 0);
                DT_INSTANT(render, "afterwards", DT_INT("n", n));
                n++;
        } while (is_short);
        ck_assert_uint_ge(n, 6);
        world_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "afterwards"), n);
        ck_assert_uint_ge(trace_n_events(world->trace, BEGIN, "short of memory"), 1);
        ck_assert_uint_eq(trace_n_events(world->trace, BEGIN, "short of memory"),
                          trace_n_events(world->trace, END, ""));
        world_free(world);
}
END_TEST

static void *emit_all_kinds(void *userdata) {
        static const dt_track track = DT_TRACK("a track", 7);
        static const dt_track_details details = { .size = sizeof(details), .is_incremental = true };
        static const dt_track counter = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "grows", NULL);

        dt_track_describe(&counter, &details);
        DT_SLICE_BEGIN(
                render, "kinds", DT_STRING("text", "words"), DT_STRING_INTERNED("again", "a"));
        DT_INSTANT_ON(net, &track, "there", DT_HERE);
        DT_COUNTER_ON(render, &counter, 3);
        DT_SLICE_END(render);
        return NULL;
}

START_TEST(test_threads_that_end_give_all_memory_back) {
        World *world = world_new();
        int n_before = 0;

        world_record(world, NULL, NULL);
        world_record(world, NULL, "net");
        for (unsigned i = 0; i < 3; i++) {
                pthread_t thread;

                ck_assert_int_eq(pthread_create(&thread, NULL, emit_all_kinds, NULL), 0);
                ck_assert_int_eq(pthread_join(thread, NULL), 0);
                if (i == 0) /* what is made once is there */
                        n_before = n_pieces;
                ck_assert_int_eq(n_pieces, n_before);
        }
        world_free(world);
}
END_TEST

TEST_MAIN_FORKED("lib-out-of-memory",
                 test_the_first_calls_of_a_program_say_that_there_is_no_memory,
                 test_later_calls_say_that_there_is_no_memory_and_work_when_there_is,
                 test_the_service_is_told_that_there_is_no_memory,
                 test_a_large_first_packet_without_memory_is_lost_and_the_program_told,
                 test_memory_that_cannot_be_mapped_is_refused,
                 test_a_failure_whose_text_finds_no_memory_is_still_one,
                 test_threads_that_find_no_memory_lose_events_and_nothing_else,
                 test_threads_that_end_give_all_memory_back)
