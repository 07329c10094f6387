/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace count: which events are in a trace, by the index that each event carries */

#include <errno.h>
#include <sys/mman.h>
#include <zstd.h>

#include "scale.h"
#include "wire/wire-reader.h"

/* Field numbers of perfetto.protos messages. */
enum {
        TRACE_PACKET = 1,
        PACKET_SEQUENCE_ID = 10,
        PACKET_TRACK_EVENT = 11,
        PACKET_ZSTD_COMPRESSED = 133,
        EVENT_DEBUG_ANNOTATIONS = 4,
        ANNOTATION_UINT = 3,
};

#define SEQUENCES_MAX (1u << 16)
#define NO_INDEX      UINT64_MAX

/* One thread of a producer in the session. */
typedef struct Sequence {
        uint64_t n;
        uint64_t first;
        uint64_t last;
} Sequence;

typedef struct Counter {
        TraceCount *count;
        Sequence *sequences;
} Counter;

/* The first field of the number, or false. */
static bool find_field(WireReader *reader, uint32_t number, WireField *ret) {
        while (wire_read(reader, ret) > 0)
                if (ret->number == number)
                        return true;
        return false;
}

/* The index of an event: its first argument. */
static uint64_t read_index(const WireField *event) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, event);
        if (!find_field(&reader, EVENT_DEBUG_ANNOTATIONS, &field))
                return NO_INDEX;
        wire_reader_init_field(&reader, &field);
        return find_field(&reader, ANNOTATION_UINT, &field) ? field.value : NO_INDEX;
}

static void count_index(Counter *counter, uint64_t sequence_id, uint64_t index) {
        Sequence *sequence;

        if (sequence_id >= SEQUENCES_MAX)
                die("the trace has more sequences than threads were there", 0);
        sequence = &counter->sequences[sequence_id];
        counter->count->n_events++;
        if (sequence->n > 0 && index <= sequence->last)
                counter->count->n_disorder++;
        if (sequence->n++ == 0)
                sequence->first = index;
        sequence->last = index;
}

static void count_packets(Counter *counter, const uint8_t *data, size_t n_bytes);

/* The payload of a packet that is a trace itself. */
static void count_compressed(Counter *counter, const WireField *payload) {
        unsigned long long n = ZSTD_getFrameContentSize(payload->data, payload->n_bytes);
        _cleanup_(freep) uint8_t *data = NULL;

        if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN)
                die("a compressed packet does not say its size", 0);
        data = malloc(n + 1);
        if (!data || ZSTD_decompress(data, n, payload->data, payload->n_bytes) != n)
                die("a compressed packet cannot be read", 0);
        count_packets(counter, data, n);
}

static void count_packet(Counter *counter, const WireField *packet) {
        uint64_t index = NO_INDEX, sequence_id = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, packet);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == PACKET_TRACK_EVENT)
                        index = read_index(&field);
                if (field.number == PACKET_ZSTD_COMPRESSED)
                        count_compressed(counter, &field);
                if (field.number == PACKET_SEQUENCE_ID)
                        sequence_id = field.value;
        }
        if (index != NO_INDEX)
                count_index(counter, sequence_id, index);
}

static void count_packets(Counter *counter, const uint8_t *data, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == TRACE_PACKET)
                        count_packet(counter, &field);
        counter->count->is_torn = counter->count->is_torn || r < 0;
}

static void count_missing(Counter *counter) {
        for (size_t i = 0; i < SEQUENCES_MAX; i++) {
                const Sequence *sequence = &counter->sequences[i];

                if (sequence->n == 0)
                        continue;
                counter->count->n_missing += sequence->last - sequence->first + 1 - sequence->n;
                counter->count->n_end += sequence->last + 1;
        }
}

void trace_count(TraceCount *ret, int fd) {
        size_t n_bytes = file_bytes(fd);
        Counter counter = { .count = ret };
        void *data;

        *ret = (TraceCount){};
        if (n_bytes == 0)
                return;
        data = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
                die("cannot map a trace", -errno);
        counter.sequences = calloc(SEQUENCES_MAX, sizeof(*counter.sequences));
        if (!counter.sequences)
                die("cannot count a trace", -ENOMEM);
        ret->n_bytes = n_bytes;
        count_packets(&counter, data, n_bytes);
        count_missing(&counter);
        free(counter.sequences);
        munmap(data, n_bytes);
}

uint64_t trace_count_lost(const TraceCount *count, uint64_t n_emitted) {
        return count->n_missing + (n_emitted - count->n_end);
}
