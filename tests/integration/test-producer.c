/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A producer for the tests: offers data sources, writes packets with a text that can be found again, and can be
 * made to misbehave.
 *
 * Usage: test-producer NAME SOURCE [BEHAVIOUR]
 *   writes 100 packets "NAME-1" … at the start and one every 10 ms after it, and sends the trigger "NAME" on SIGUSR1
 *   BEHAVIOUR  silent: never answers a flush or a stop; refuse: refuses each instance; lack: so, too, and says so
 *              when it registers; note: records, but not all; brief: ends in the middle of its start; flood: writes
 *              as fast as it can; steady: 500 every millisecond, with shared memory for half a second; busy: 100 every
 *              millisecond, with what memory there is by itself; counting: one every millisecond, and goes on counting
 *              when it is started again
 */

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <desktrace/source.h>
#include <desktrace/trigger.h>

#include "shared/macro.h"
#include "wire/wire-writer.h"

#define PACKET_TIMESTAMP  8
#define PACKET_TEST_EVENT 900
#define TEST_EVENT_STR    1
#define PACKETS_AT_START  100

#define STEADY_PACKETS_PER_MS 500
#define BUSY_PACKETS_PER_MS   100
#define STEADY_MEMORY_BYTES   (16u << 20)

typedef struct Run {
        dt_instance *instance;
        pthread_t thread;
        atomic_bool is_stopping;
} Run;

static const char *producer, *behaviour = "";

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_packet(dt_writer *writer, unsigned number) {
        uint8_t packet[256];
        char text[96];
        WireWriter wire;
        size_t event;

        snprintf(text, sizeof(text), "%s-%u.", producer, number);
        wire_writer_init(&wire, packet, sizeof(packet));
        wire_put_uint(&wire, PACKET_TIMESTAMP, now_ns());
        event = wire_begin(&wire, PACKET_TEST_EVENT);
        wire_put_string(&wire, TEST_EVENT_STR, text);
        wire_end(&wire, event);
        assert(!wire_writer_failed(&wire));
        dt_writer_write(writer, packet, wire_writer_size(&wire));
}

/* However late it wakes up, the rate is that. */
static void
write_steadily(Run *self, dt_writer *writer, unsigned number, unsigned n_packets_per_ms) {
        const uint64_t began_ns = now_ns();
        uint64_t n_written = 0;

        while (!self->is_stopping) {
                const uint64_t n_due = (now_ns() - began_ns) / 1000000 * n_packets_per_ms;

                for (; n_written < n_due; n_written++)
                        write_packet(writer, ++number);
                usleep(1000);
        }
}

/* All instances together, so that each has growing numbers, also when it is another one after a while. */
static void count(const Run *self, dt_writer *writer) {
        static atomic_uint last;

        while (!self->is_stopping) {
                write_packet(writer, ++last);
                usleep(1000);
        }
}

static void *run(void *userdata) {
        const bool is_flood = streq(behaviour, "flood");
        Run *self = userdata;
        unsigned number = 0;
        dt_writer *writer;

        if (dt_writer_new(&writer, self->instance, DT_FULL_DROP) < 0)
                return NULL;
        if (streq(behaviour, "counting"))
                count(self, writer);
        while (number < PACKETS_AT_START && !streq(behaviour, "counting"))
                write_packet(writer, ++number);
        dt_writer_flush(writer);
        if (streq(behaviour, "steady"))
                write_steadily(self, writer, number, STEADY_PACKETS_PER_MS);
        if (streq(behaviour, "busy"))
                write_steadily(self, writer, number, BUSY_PACKETS_PER_MS);
        while (!self->is_stopping) {
                write_packet(writer, ++number);
                if (!is_flood)
                        usleep(10000);
        }
        dt_writer_free(writer);
        return NULL;
}

static void add_notes(dt_instance *instance) {
        assert(dt_instance_add_note(instance, "the left channel is\x1b[2J missing; plug it in") ==
               0);
        for (unsigned i = 1; i < 32; i++)
                assert(dt_instance_add_note(instance, "and \xff more") == 0);
        assert(dt_instance_add_note(instance, "one too many") < 0);
}

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        static char complaint[1000];

        if (streq(behaviour, "note"))
                add_notes(instance);
        if (!streq(behaviour, "complain"))
                return streq(behaviour, "refuse") || streq(behaviour, "lack")
                               ? "the test wants it so"
                               : NULL;
        for (size_t i = 0; i + 2 < sizeof(complaint); i += 2)
                memcpy(complaint + i, "\u00e9", 2);
        return complaint;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        Run *self = calloc(1, sizeof(*self));

        if (streq(behaviour, "brief"))
                _exit(0);
        assert(self);
        self->instance = instance;
        dt_instance_set_userdata(instance, self);
        assert(pthread_create(&self->thread, NULL, run, self) == 0);
        dt_reply_done(reply, NULL);
}

static void run_end(dt_instance *instance) {
        Run *self = dt_instance_get_userdata(instance);

        if (!self)
                return;
        self->is_stopping = true;
        pthread_join(self->thread, NULL);
        dt_instance_set_userdata(instance, NULL);
        free(self);
}

static void on_flush(dt_instance *instance, dt_reply *reply, void *userdata) {
        if (!streq(behaviour, "silent"))
                dt_reply_done(reply, NULL);
}

static void on_stop(dt_instance *instance, dt_reply *reply, void *userdata) {
        run_end(instance);
        if (!streq(behaviour, "silent"))
                dt_reply_done(reply, NULL);
}

static void on_gone(dt_instance *instance, void *userdata) {
        run_end(instance);
}

int main(int argc, char *argv[]) {
        static const dt_source_ops ops = {
                .setup = on_setup,
                .start = on_start,
                .flush = on_flush,
                .stop = on_stop,
                .gone = on_gone,
        };
        dt_source_options options = { 0 };
        size_t memory_bytes = 0;
        dt_source *source;
        sigset_t signals;
        int signal;

        if (argc < 3)
                return 2;
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR1);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        producer = argv[1];
        if (argc > 3)
                behaviour = argv[3];
        if (streq(behaviour, "steady"))
                memory_bytes = STEADY_MEMORY_BYTES;
        if (streq(behaviour, "lack"))
                options.unavailable = "no\ndevice here; plug one in";
        if (dt_set_producer(producer, memory_bytes, 0) < 0 ||
            dt_source_register(&source, argv[2], &options, &ops, NULL) < 0)
                return 1;
        while (sigwait(&signals, &signal) == 0)
                dt_trigger(producer);
}
