/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a bridge does (docs/ARCHITECTURE.md): says for another process what that has told it in a protocol of its own,
 * with public headers alone. Marks come when they end, so inner ones before outer ones, and with the times of another
 * clock. Also a counter.
 *
 * Usage: bridge PID [TID], of the process that is spoken for; without a thread the marks have a track of their own in
 * the process
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <desktrace/proto.h>
#include <desktrace/source.h>

#define N_FRAMES 20

/* perfetto.protos: TracePacket, TrackEvent, TrackDescriptor, ThreadDescriptor, ProcessDescriptor, CounterDescriptor */
enum {
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_CLOCK_ID = 58,
        PACKET_TRACK_DESCRIPTOR = 60,
        CLOCK_OF_MONOTONIC = 3,
        EVENT_TYPE = 9,
        EVENT_TRACK = 11,
        EVENT_CATEGORY = 22,
        EVENT_NAME = 23,
        EVENT_COUNTER_VALUE = 30,
        EVENT_BEGIN = 1,
        EVENT_END = 2,
        EVENT_COUNTER = 4,
        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_THREAD = 4,
        TRACK_PARENT = 5,
        TRACK_COUNTER = 8,
        PROCESS_PID = 1,
        PROCESS_NAME = 6,
        THREAD_PID = 1,
        THREAD_TID = 2,
        THREAD_NAME = 5,
};

static int pid, tid;
static uint64_t process_uuid, marks_uuid, counter_uuid;

static uint64_t fnv(uint64_t hash, const void *data, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes; i++)
                hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
        return hash;
}

/* The number that the process gives itself, if it is traced as well: of its start time, which is the 22nd word (there
 * are no blanks in the names of these tests), and its pid. */
static uint64_t uuid_of_process(void) {
        char path[32], word[64] = "";
        uint64_t start;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        file = fopen(path, "re");
        for (unsigned i = 0; file && i < 22; i++)
                if (fscanf(file, "%63s", word) != 1)
                        exit(1);
        if (!file)
                exit(1);
        fclose(file);
        start = strtoull(word, NULL, 10);
        return fnv(fnv(UINT64_C(0xcbf29ce484222325), &start, sizeof(start)), &pid, sizeof(pid));
}

static uint64_t monotonic_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_packet(dt_writer *writer, const dt_proto *packet) {
        if (!dt_proto_failed(packet))
                dt_writer_write(writer, packet->start, dt_proto_size(packet));
}

static size_t begin_track(dt_proto *packet, uint64_t uuid, uint64_t parent) {
        size_t descriptor = dt_proto_begin(packet, PACKET_TRACK_DESCRIPTOR);

        dt_proto_uint(packet, TRACK_UUID, uuid);
        if (parent)
                dt_proto_uint(packet, TRACK_PARENT, parent);
        return descriptor;
}

static void describe(dt_writer *writer) {
        uint8_t memory[256];
        dt_proto packet;
        size_t track, inner;

        dt_proto_init(&packet, memory, sizeof(memory));
        track = begin_track(&packet, process_uuid, 0);
        inner = dt_proto_begin(&packet, TRACK_PROCESS);
        dt_proto_uint(&packet, PROCESS_PID, (uint64_t)pid);
        if (tid) /* else it says so itself */
                dt_proto_string(&packet, PROCESS_NAME, "spoken for");
        dt_proto_end(&packet, inner);
        dt_proto_end(&packet, track);
        write_packet(writer, &packet);

        dt_proto_init(&packet, memory, sizeof(memory));
        track = begin_track(&packet, marks_uuid, process_uuid);
        if (tid) {
                inner = dt_proto_begin(&packet, TRACK_THREAD);
                dt_proto_uint(&packet, THREAD_PID, (uint64_t)pid);
                dt_proto_uint(&packet, THREAD_TID, (uint64_t)tid);
                dt_proto_string(&packet, THREAD_NAME, "its thread");
                dt_proto_end(&packet, inner);
        } else
                dt_proto_string(&packet, TRACK_NAME, "marks");
        dt_proto_end(&packet, track);
        write_packet(writer, &packet);

        dt_proto_init(&packet, memory, sizeof(memory));
        track = begin_track(&packet, counter_uuid, process_uuid);
        dt_proto_string(&packet, TRACK_NAME, "its frames");
        inner = dt_proto_begin(&packet, TRACK_COUNTER);
        dt_proto_end(&packet, inner);
        dt_proto_end(&packet, track);
        write_packet(writer, &packet);
}

static void
write_event(dt_writer *writer, uint64_t ns, uint64_t track, int type, const char *name, int value) {
        uint8_t memory[256];
        dt_proto packet;
        size_t event;

        dt_proto_init(&packet, memory, sizeof(memory));
        dt_proto_uint(&packet, PACKET_TIMESTAMP, ns);
        dt_proto_uint(&packet, PACKET_CLOCK_ID, CLOCK_OF_MONOTONIC);
        event = dt_proto_begin(&packet, PACKET_TRACK_EVENT);
        dt_proto_uint(&packet, EVENT_TYPE, (uint64_t)type);
        dt_proto_uint(&packet, EVENT_TRACK, track);
        if (name) {
                dt_proto_string(&packet, EVENT_CATEGORY, "bridged");
                dt_proto_string(&packet, EVENT_NAME, name);
        }
        if (type == EVENT_COUNTER)
                dt_proto_uint(&packet, EVENT_COUNTER_VALUE, (uint64_t)value);
        dt_proto_end(&packet, event);
        write_packet(writer, &packet);
}

static void write_mark(dt_writer *writer, uint64_t begin_ns, uint64_t end_ns, const char *name) {
        write_event(writer, begin_ns, marks_uuid, EVENT_BEGIN, name, 0);
        write_event(writer, end_ns, marks_uuid, EVENT_END, NULL, 0);
}

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        return NULL;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        const uint64_t now_ns = monotonic_ns();
        dt_writer *writer;

        if (dt_writer_new(&writer, instance, DT_FULL_DEFAULT) == 0) {
                describe(writer);
                for (unsigned i = 0; i < N_FRAMES; i++) {
                        const uint64_t begin_ns = now_ns + i * 1000000;

                        write_mark(writer, begin_ns + 100000, begin_ns + 300000, "layout");
                        write_mark(writer, begin_ns + 400000, begin_ns + 700000, "paint");
                        write_mark(writer, begin_ns, begin_ns + 900000, "frame");
                        write_event(writer,
                                    begin_ns + 900000,
                                    counter_uuid,
                                    EVENT_COUNTER,
                                    NULL,
                                    (int)i + 1);
                }
                dt_writer_free(writer);
        }
        dt_reply_done(reply, NULL);
}

int main(int argc, char *argv[]) {
        static const uint32_t fields[] = { PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR };
        static const dt_source_ops ops = { .setup = on_setup, .start = on_start };
        const dt_source_options options = {
                .no_flush = true,
                .packet_fields = fields,
                .n_packet_fields = sizeof(fields) / sizeof(fields[0]),
        };
        dt_source *source;

        if (argc < 2)
                return 2;
        pid = atoi(argv[1]);
        tid = argc > 2 ? atoi(argv[2]) : 0;
        process_uuid = uuid_of_process();
        marks_uuid = fnv(process_uuid, "marks", strlen("marks"));
        counter_uuid = fnv(process_uuid, "frames", strlen("frames"));
        if (dt_set_producer("bridge", 0, 0) < 0 ||
            dt_source_register(&source, "org.example.marks", &options, &ops, NULL) < 0)
                return 1;
        for (;;)
                pause();
}
