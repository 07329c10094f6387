/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Makes a large trace, the same one every time: what 8 CPUs switched between 360 threads, or what 8 threads did in
 * slices
 *
 *      make-trace sched|slices BYTES > FILE
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"
#include "wire/wire-writer.h"

#define N_CPUS       8
#define N_THREADS    360
#define N_WRITERS    8
#define BUNDLE       512 /* switches */
#define START_NS     UINT64_C(1000000000000)
#define BUFFER_BYTES (1u << 20)

static uint8_t memory[BUFFER_BYTES];
static uint8_t column_memory[16][64u << 10];

static uint64_t random_next(void) {
        static uint64_t state = 88172645463325252u;

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
}

static size_t flush(WireWriter *writer) {
        size_t n = (size_t)(writer->at - memory);

        if (fwrite(memory, 1, n, stdout) != n)
                exit(1);
        wire_writer_init(writer, memory, sizeof(memory));
        return n;
}

static void packet_end(WireWriter *writer, size_t packet, uint32_t sequence) {
        wire_put_uint(writer, 10, sequence);
        wire_end(writer, packet);
}

static void put_system(WireWriter *writer) {
        size_t packet = wire_begin(writer, 1), info = wire_begin(writer, 45), name;

        name = wire_begin(writer, 1);
        wire_put_string(writer, 1, "Linux");
        wire_put_string(writer, 3, "6.1.0");
        wire_end(writer, name);
        wire_end(writer, info);
        packet_end(writer, packet, 1);
}

/* A packed field out of a writer of its own. */
static void
put_column(WireWriter *writer, uint32_t field, const WireWriter *column, const uint8_t *start) {
        wire_put_bytes(writer, field, start, (size_t)(column->at - start));
}

static void put_varint(WireWriter *column, uint64_t value) {
        uint8_t *at = column->at;

        for (; value >= 0x80; value >>= 7)
                *at++ = (uint8_t)(value | 0x80);
        *at++ = (uint8_t)value;
        column->at = at;
}

static void put_bundle(WireWriter *writer, unsigned cpu, uint64_t *now) {
        WireWriter columns[13];
        size_t packet = wire_begin(writer, 1), bundle = wire_begin(writer, 1), compact;
        uint64_t switched = 0, woken = 0;

        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                wire_writer_init(&columns[i], column_memory[i], sizeof(column_memory[i]));
        for (unsigned i = 0; i < BUNDLE; i++) {
                static const uint8_t states[] = { 0, 1, 1, 1, 1, 2 };
                unsigned tid = random_next() % 3 ? 1000 + random_next() % N_THREADS : 0;

                *now += 1000 + random_next() % 50000;
                put_varint(&columns[1], *now - switched);
                switched = *now;
                put_varint(&columns[2], states[random_next() % ARRAY_SIZE(states)]);
                put_varint(&columns[3], tid);
                put_varint(&columns[4], 120);
                put_varint(&columns[6], tid % 8);
                if (i % 2)
                        continue;
                *now += 500;
                put_varint(&columns[7], *now - woken);
                woken = *now;
                put_varint(&columns[8], 1000 + random_next() % N_THREADS);
                put_varint(&columns[9], cpu);
                put_varint(&columns[10], 120);
                put_varint(&columns[11], 1);
                put_varint(&columns[12], random_next() % 2 ? 16 : 0);
        }
        wire_put_uint(writer, 1, cpu);
        compact = wire_begin(writer, 4);
        for (unsigned i = 0; i < 8; i++) {
                char name[16];

                snprintf(name, sizeof(name), "worker-%u", i);
                wire_put_string(writer, 5, name);
        }
        for (uint32_t i = 1; i < ARRAY_SIZE(columns); i++)
                if (i != 5)
                        put_column(writer, i, &columns[i], column_memory[i]);
        wire_end(writer, compact);
        wire_end(writer, bundle);
        packet_end(writer, packet, 2);
}

static void put_writer(WireWriter *writer, unsigned i) {
        size_t packet = wire_begin(writer, 1), outer, inner;

        outer = wire_begin(writer, 60);
        wire_put_uint(writer, 1, 100 + i);
        inner = wire_begin(writer, 4);
        wire_put_uint(writer, 1, 4000);
        wire_put_uint(writer, 2, 4000 + i);
        wire_put_string(writer, 5, "writer");
        wire_end(writer, inner);
        wire_end(writer, outer);
        wire_put_uint(writer, 13, 1);
        outer = wire_begin(writer, 59);
        inner = wire_begin(writer, 11);
        wire_put_uint(writer, 11, 100 + i);
        wire_end(writer, inner);
        wire_end(writer, outer);
        outer = wire_begin(writer, 12);
        for (uint64_t iid = 1; iid <= 40; iid++) {
                char name[16];

                snprintf(name, sizeof(name), "work-%u", (unsigned)iid);
                inner = wire_begin(writer, 2);
                wire_put_uint(writer, 1, iid);
                wire_put_string(writer, 2, name);
                wire_end(writer, inner);
        }
        inner = wire_begin(writer, 3);
        wire_put_uint(writer, 1, 1);
        wire_put_string(writer, 2, "n");
        wire_end(writer, inner);
        wire_end(writer, outer);
        packet_end(writer, packet, 10 + i);
}

static void put_event(WireWriter *writer, unsigned i, uint64_t at_ns, bool is_begin) {
        size_t packet = wire_begin(writer, 1), event, annotation;

        wire_put_uint(writer, 8, at_ns);
        wire_put_uint(writer, 13, 2);
        event = wire_begin(writer, 11);
        wire_put_uint(writer, 9, is_begin ? 1 : 2);
        if (is_begin) {
                wire_put_uint(writer, 10, 1 + random_next() % 40);
                if (random_next() % 4 == 0) {
                        annotation = wire_begin(writer, 4);
                        wire_put_uint(writer, 1, 1);
                        wire_put_uint(writer, 4, random_next() % 10000);
                        wire_end(writer, annotation);
                }
        }
        wire_end(writer, event);
        packet_end(writer, packet, 10 + i);
}

static uint64_t now[N_WRITERS];
static unsigned depth[N_WRITERS];

/* A chunk of one writer's events. */
static void put_events(WireWriter *writer, unsigned i) {
        for (unsigned n = 0; n < 100; n++) {
                bool is_begin = depth[i] == 0 || (depth[i] < 6 && random_next() % 2);

                now[i] += 100 + random_next() % 10000;
                depth[i] += is_begin ? 1u : -1u;
                put_event(writer, i, now[i], is_begin);
        }
}

int main(int argc, char *argv[]) {
        uint64_t n_wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, n = 0;
        bool is_sched = argc > 1 && streq(argv[1], "sched");
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        put_system(&writer);
        for (unsigned i = 0; i < N_WRITERS; i++) {
                now[i] = START_NS + i;
                if (!is_sched)
                        put_writer(&writer, i);
        }
        while (n < n_wanted) {
                for (unsigned i = 0; i < N_WRITERS; i++)
                        if (is_sched)
                                put_bundle(&writer, i, &now[i]);
                        else
                                put_events(&writer, i);
                n += flush(&writer);
        }
        return fflush(stdout) ? 1 : 0;
}
