/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program from the time of version 0.1: it is compiled with the headers of then, uses everything in them, and runs
 * with the library of now. Never changed to suit the library; what 0.1 did not have does not belong here.
 *
 * Exits with 0 when all its calls did what the headers promise. What it records, abi.sh looks at.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/source.h>
#include <desktrace/track-event.h>
#include <desktrace/trigger.h>

#define DEADLINE_S 20 /* of everything that a service answers */

DT_CATEGORY_DECLARE(old);
DT_CATEGORY(old, "old", "Events of an old program");
DT_CATEGORY_TAGGED(tagged, "old.tagged", "Off unless it is named", "debug,slow");

static dt_category by_hand = { "old.by-hand", "Registered by hand", NULL, 0, 0, NULL };

static const dt_track parent = { "old parent", NULL, 7, NULL };
static const dt_track child = { "old child", NULL, 8, &parent };
static const dt_track row = DT_TRACK("old row", 1);
static const dt_track machine = DT_TRACK("old machine", 0);
static const dt_track bytes = DT_COUNTER_TRACK("old memory", "bytes");
static const dt_track load = DT_COUNTER_TRACK("old load", "%");

static int n_broken;

static void need(int holds, const char *what) {
        if (!holds) {
                fprintf(stderr, "use-0.1: %s\n", what);
                n_broken++;
        }
}

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * A data source, with all of its callbacks
 */

static struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        int n_setup, n_start, n_flush, n_clear, n_gone;
        dt_writer *writer;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void count(int *counter) {
        pthread_mutex_lock(&seen.lock);
        ++*counter;
        pthread_cond_broadcast(&seen.changed);
        pthread_mutex_unlock(&seen.lock);
}

static void wait_for(const int *counter, const char *what) {
        struct timespec deadline;
        int r = 0;

        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += DEADLINE_S;
        pthread_mutex_lock(&seen.lock);
        while (*counter == 0 && r == 0)
                r = pthread_cond_timedwait(&seen.changed, &seen.lock, &deadline);
        need(*counter > 0, what);
        pthread_mutex_unlock(&seen.lock);
}

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        need(userdata == &seen && config && n_config > 0, "setup has a config and its userdata");
        dt_instance_set_userdata(instance, &seen);
        need(dt_instance_add_note(instance, "an old note") == 0, "a note is taken");
        count(&seen.n_setup);
        return NULL;
}

/* TracePacket.timestamp (8), and .for_testing (900) with .str (1). */
static void write_packet(const char *text) {
        const char n_text = (char)strlen(text);
        const char event[] = { (char)0xa2, 0x38, (char)(n_text + 2), 0x0a, n_text };
        char packet[64] = { 0x40 };
        size_t n = 1;

        for (uint64_t ns = now_ns(); n <= 9; ns >>= 7, n++)
                packet[n] = (char)((ns & 0x7f) | (n < 9 ? 0x80 : 0));
        memcpy(packet + n, event, sizeof(event));
        memcpy(packet + n + sizeof(event), text, strlen(text));
        n += sizeof(event) + strlen(text);
        need(dt_writer_write(seen.writer, packet, n) == 0, "a packet is written");
        need(!dt_writer_lost(seen.writer), "nothing is lost");
        dt_writer_flush(seen.writer);
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        need(dt_instance_get_userdata(instance) == &seen, "an instance keeps its userdata");
        need(dt_writer_new(&seen.writer, instance, DT_FULL_DROP) == 0, "a writer is made");
        write_packet("an old packet");
        dt_reply_done(reply, NULL);
        count(&seen.n_start);
}

static void on_flush(dt_instance *instance, dt_reply *reply, void *userdata) {
        dt_reply_done(reply, NULL);
        count(&seen.n_flush);
}

static void on_stop(dt_instance *instance, dt_reply *reply, void *userdata) {
        dt_reply_done(reply, NULL);
}

static void on_clear(dt_instance *instance, void *userdata) {
        count(&seen.n_clear);
}

static void on_gone(dt_instance *instance, void *userdata) {
        count(&seen.n_gone);
}

static const dt_source_ops ops = { on_setup, on_start, on_flush, on_stop, on_clear, on_gone };

static dt_source *offer(void) {
        static const char *const categories[] = { "one", "two", NULL };
        static const uint32_t packet_fields[] = { 900 };
        dt_source_options options = { .categories = categories,
                                      .packet_fields = packet_fields,
                                      .n_packet_fields = 1,
                                      .no_flush = false,
                                      .descriptor = NULL,
                                      .n_descriptor = 0,
                                      .unavailable = "not yet" };
        dt_source *source, *again;

        need(dt_source_register(&source, "org.example.old", &options, &ops, &seen) == 0,
             "a source is registered");
        need(dt_source_register(&again, "org.example.old", &options, &ops, &seen) == -EEXIST,
             "once");
        options.unavailable = NULL;
        need(dt_source_update(source, &options) == 0, "a source is updated");
        return source;
}

/*
 * Track events, all of them
 */

static void slices(int n) {
        const dt_arg list[] = { dt_arg_none(),
                                dt_arg_int("int", -1),
                                dt_arg_uint(DT_ARG_UINT, "uint", 1),
                                dt_arg_double("double", 0.5),
                                dt_arg_string("string", "old text"),
                                dt_arg_text(DT_ARG_STRING_INTERNED, "interned", "old interned") };

        DT_SLICE(old, "old slice", DT_INT("n", n));
        {
                DT_SLICE(old, "old nested");
                DT_SLICE_BEGIN(old, "old begin", DT_UINT("u", 1), DT_BOOL("b", n > 0));
                DT_SLICE_END(old);
                DT_SLICE_BEGIN(old, "old begin", DT_DOUBLE("d", 1.5), DT_POINTER("p", &ops));
                DT_SLICE_END_WITH(old, DT_STRING("old at end", "x"));
        }
        dt_slice_begin(&old, NULL, "old called", list, sizeof(list) / sizeof(list[0]));
        dt_slice_end_args(&old, NULL, NULL, list, 1);
        dt_slice_begin(&old, &child, "old on a child", NULL, 0);
        dt_slice_end(&old, &child);
        DT_SLICE_BEGIN_ON(old, &row, "old row begin", DT_FLOW(dt_flow_id(1)));
        DT_SLICE_END_ON(old, &row);
        DT_SLICE_BEGIN_ON(old, &row, "old row begin", DT_FLOW_END(dt_flow_id(1)));
        DT_SLICE_END_ON_WITH(old, &row, DT_STRING_INTERNED("state", "old state text"));
        DT_SLICE_BEGIN(tagged, "old tagged");
        DT_SLICE_END(tagged);
}

static void instants(void) {
        DT_INSTANT(old, "old instant");
        DT_INSTANT_ON(old, &row, "old instant on a row", DT_AT(now_ns()), DT_HERE);
        DT_INSTANT(
                old,
                "old nest",
                DT_DICT("dict", DT_INT("one", 1), DT_ARRAY("list", DT_INT("", 1), DT_INT("", 2))),
                DT_CORRELATION(7),
                DT_ALSO_CATEGORY(tagged),
                DT_ALSO_COUNT(&bytes, 1000),
                DT_ALSO_COUNT_DOUBLE(&load, 12.5));
        DT_INSTANT(old, "old correlated", DT_CORRELATION_TEXT("old request"), DT_RAW("", 0));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_VERBOSE, "old verbose line"));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_DEBUG, "old debug line"));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_INFO, "old info line"));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_WARNING, "old warning line"));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_ERROR, "old error line"));
        DT_INSTANT(old, "old log", DT_LOG(DT_LOG_FATAL, "old fatal line"));
        if (dt_category_enabled(&by_hand))
                dt_instant(&by_hand, NULL, "old by hand", NULL, 0);
}

static void values(void) {
        DT_STATE(old, &machine, "old busy");
        dt_state(&old, &machine, "", NULL, 0);
        DT_COUNTER(old, "old counter", 41);
        DT_COUNTER_DOUBLE(old, "old share", 0.25);
        DT_COUNTER_ON(old, &bytes, 2000);
        DT_COUNTER_DOUBLE_ON(old, &load, 25.0);
        dt_counter_int(&old, &bytes, 3000);
        dt_counter_double(&old, &load, 50.0);
}

static void *run(void *userdata) {
        dt_thread_set_name("old thread");
        slices(1);
        instants();
        values();
        return NULL;
}

int main(void) {
        const dt_options options = { "use-0.1", 1 << 20, 8192 };
        dt_source *source;
        pthread_t thread;

        need(dt_set_producer("use-0.1", 1 << 20, 8192) == 0, "a producer has a name");
        source = offer();
        dt_category_register(&by_hand);
        need(dt_init(&options) == 0, "the library starts");
        wait_for(&seen.n_start, "the source is started");
        need(dt_source_enabled(source), "a source that records is enabled");
        if (pthread_create(&thread, NULL, run, NULL) != 0)
                return EXIT_FAILURE;
        pthread_join(thread, NULL);
        need(dt_trigger("old-trigger") == 0, "a trigger is sent");
        need(dt_trigger("") == -EINVAL, "one without a name is not");

        wait_for(&seen.n_flush, "the source is asked to flush");
        wait_for(&seen.n_clear, "the source is asked to clear its state");
        dt_source_unregister(source);
        wait_for(&seen.n_gone, "the instance is gone");
        seen.writer = dt_writer_free(seen.writer);
        need(!seen.writer, "a writer that is freed is gone");
        dt_category_unregister(&by_hand);
        return n_broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
