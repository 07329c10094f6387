/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Pages of the kernel's ring with any bytes in them, against a fixed set of events. A program of steps: a page, the end
 * of a CPU's turn, a sink that drops, a receiver that begins late. Whatever the bytes are, nothing outside of a page is
 * read, what comes out is well-formed, all of a bundle's columns have the same number of values, bundles stay small,
 * and two receivers that want the same get the same.
 */

#include "fuzz.h"
#include "probes/ftrace/bundle.h"
#include "wire/wire-reader.h"

#define PAGE_BYTES_MAX 4096
#define STEPS_MAX      64
#define N_CPUS         2
#define PACKET_MAX     (BUNDLE_BYTES_MAX + 64 * PAGE_BYTES_MAX)

enum {
        PACKET_BUNDLE = 1,
        BUNDLE_COMPACT = 4,
        COMPACT_FIELDS = 13,
        COMPACT_INTERN_TABLE = 5,
        COMPACT_SWITCH_COMM = 6,
        COMPACT_WAKING_TIMESTAMP = 7,
        COMPACT_WAKING_COMM = 11,
};

/* As a kernel of 64 bits and one of 32 say it; the ids are those that an input has. */
static const char *const formats[] = {
        "name: sched_switch\nID: 1\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
        "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
        "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
        "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
        "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
        "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
        "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
        "name: sched_waking\nID: 2\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
        "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
        "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
        "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
        "name: fuzzed\nID: 3\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"
        "\tfield:__rel_loc u8[] data;\toffset:16;\tsize:4;\tsigned:0;\n"
        "\tfield:u16 words[2];\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n",
        "name: print\nID: 5\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n",
};
static const char *const groups[] = { "sched", "sched", "fuzz", "ftrace" };

/* What a receiver gets; the digest is of all its packets. */
typedef struct Sink {
        PacketSink sink;
        uint64_t digest;
        bool drops;
} Sink;

typedef struct World {
        FuzzInput input;
        EventSet events;
        IdSet ids;
        BundleWriter writer;
        BundleReceiver receivers[3];
        Sink sinks[3];
        BundleCpu cpus[N_CPUS];
        size_t cpu;
} World;

static uint64_t count_varints(const WireField *field) {
        uint64_t n = 0;

        for (size_t i = 0; i < field->n_bytes; i++)
                n += !(field->data[i] & 0x80);
        FUZZ_CHECK(field->n_bytes == 0 || !(field->data[field->n_bytes - 1] & 0x80));
        return n;
}

static void check_compact(const WireField *compact) {
        uint64_t counts[COMPACT_FIELDS] = {};
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, compact);
        while ((r = wire_read(&reader, &field)) > 0) {
                FUZZ_CHECK(field.number < COMPACT_FIELDS);
                if (field.number == COMPACT_INTERN_TABLE) {
                        counts[COMPACT_INTERN_TABLE]++;
                        continue;
                }
                counts[field.number] = count_varints(&field);
                /* An index of a name that is there: the table comes first. */
                if (field.number == COMPACT_SWITCH_COMM || field.number == COMPACT_WAKING_COMM)
                        for (size_t i = 0; i < field.n_bytes; i++)
                                FUZZ_CHECK(field.data[i] < counts[COMPACT_INTERN_TABLE]);
        }
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(counts[COMPACT_INTERN_TABLE] <= COMPACT_COMMS_MAX);
        for (size_t i = 1; i <= COMPACT_SWITCH_COMM; i++)
                FUZZ_CHECK(i == COMPACT_INTERN_TABLE || counts[i] == counts[1]);
        for (size_t i = COMPACT_WAKING_TIMESTAMP; i < COMPACT_FIELDS; i++)
                FUZZ_CHECK(counts[i] == counts[COMPACT_WAKING_TIMESTAMP]);
        FUZZ_CHECK(counts[1] <= COMPACT_EVENTS_MAX);
        FUZZ_CHECK(counts[COMPACT_WAKING_TIMESTAMP] <= COMPACT_EVENTS_MAX);
}

static int sink_write(PacketSink *packet_sink, const void *packet, size_t n_bytes) {
        Sink *sink = (Sink *)packet_sink;
        const uint8_t *bytes = packet;
        WireReader reader, bundle;
        WireField field;
        int r;

        if (sink->drops)
                return -1;
        FUZZ_CHECK(n_bytes <= PACKET_MAX);
        for (size_t i = 0; i < n_bytes; i++)
                sink->digest = (sink->digest ^ bytes[i]) * UINT64_C(0x100000001b3);
        wire_reader_init(&reader, packet, n_bytes);
        FUZZ_CHECK(wire_read(&reader, &field) > 0 && field.number == PACKET_BUNDLE);
        wire_reader_init_field(&bundle, &field);
        FUZZ_CHECK(wire_read(&reader, &field) == 0);
        while ((r = wire_read(&bundle, &field)) > 0)
                if (field.number == BUNDLE_COMPACT)
                        check_compact(&field);
        FUZZ_CHECK(r == 0);
        return 0;
}

static void step_page(World *world) {
        size_t n = fuzz_take_16(&world->input) % (PAGE_BYTES_MAX + 1);
        const uint8_t *bytes;
        uint8_t *page;

        n = fuzz_take_bytes(&world->input, n, &bytes);
        page = malloc(n ? n : 1); /* of just this size, for a sanitizer */
        FUZZ_CHECK(page);
        memcpy(page, bytes, n);
        bundle_add_page(&world->writer, &world->cpus[world->cpu], page, n);
        free(page);
}

static void step_turn(World *world) {
        bundle_end_turn(&world->writer, &world->cpus[world->cpu]);
        world->cpu = (world->cpu + 1) % N_CPUS;
        if (fuzz_take(&world->input) & 1)
                bundle_forget_pids(&world->writer);
}

static void play(World *world) {
        for (unsigned i = 0; i < STEPS_MAX && world->input.n_left > 0; i++) {
                uint8_t step = fuzz_take(&world->input);

                if (step % 4 == 3)
                        world->sinks[2].drops = step & 4;
                else if (step % 4 == 2)
                        step_turn(world);
                else
                        step_page(world);
        }
        bundle_end_turn(&world->writer, &world->cpus[world->cpu]);
}

static void world_init(World *world, const PageLayout *layout, bool compact) {
        for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
                EventFormat *format;

                FUZZ_CHECK(event_format_parse(&format, groups[i], formats[i], strlen(formats[i])) ==
                           0);
                FUZZ_CHECK(event_set_add(&world->events, format, compact) == 0);
                id_set_add(&world->ids, format->id);
                event_format_free(format);
        }
        FUZZ_CHECK(bundle_writer_init(&world->writer, layout) == 0);
        FUZZ_CHECK(bundle_writer_use(&world->writer, &world->events, &world->ids, NULL) == 0);
        world->writer.notes_pids = true;
        for (size_t i = 0; i < N_CPUS; i++)
                world->cpus[i] = (BundleCpu){ .cpu = (uint32_t)i, .index = i };
        for (size_t i = 0; i < 3; i++) {
                world->sinks[i].sink.write = sink_write;
                FUZZ_CHECK(bundle_receiver_init(
                                   &world->receivers[i], &world->sinks[i].sink, N_CPUS) == 0);
                if (i == 2)
                        world->receivers[i].from_ns = fuzz_take_16(&world->input);
                bundle_writer_add(&world->writer, &world->receivers[i]);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static const PageLayout layouts[] = {
                PAGE_LAYOUT_64BIT,
                { .commit_offset = 8, .commit_size = 4, .data_offset = 12 },
                { .commit_offset = 8, .commit_size = 8, .data_offset = 24 },
        };
        World *world = calloc(1, sizeof(*world));
        uint8_t shape;

        FUZZ_CHECK(world);
        world->input = (FuzzInput){ data, n_bytes };
        shape = fuzz_take(&world->input);
        world_init(world, &layouts[shape % 3], !(shape & 0x80));
        play(world);
        FUZZ_CHECK(world->sinks[0].digest == world->sinks[1].digest);
        FUZZ_CHECK(world->receivers[0].statuses == world->receivers[1].statuses);
        for (size_t i = 0; i < 3; i++)
                bundle_receiver_deinit(&world->receivers[i]);
        bundle_writer_deinit(&world->writer);
        event_set_deinit(&world->events);
        free(world);
        return 0;
}
