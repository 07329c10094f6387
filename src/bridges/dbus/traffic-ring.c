/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Traffic ring: what was seen on a bus, from the thread that reads to the loop that writes */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/dbus/traffic-ring.h"
#include "shared/macro.h"

#define TEXTS 6

/* In the ring, 8-aligned and in one piece; texts follow, each with its NUL. */
typedef struct Record {
        uint32_t n_bytes; /* with texts and padding */
        uint8_t kind;     /* TrafficKind; RECORD_GAP: nothing up to the end of the memory */
        uint8_t type, flags;
        uint8_t unused;
        uint32_t serial, reply_serial;
        uint64_t at_ns, n_message;
        uint16_t n_texts[TEXTS]; /* with the NUL */
} Record;

#define RECORD_GAP 255

int traffic_ring_init(TrafficRing *ring) {
        *ring = (TrafficRing){ .memory = malloc(TRAFFIC_RING_BYTES) };
        return ring->memory ? 0 : -ENOMEM;
}

void traffic_ring_deinit(TrafficRing *ring) {
        free(ring->memory);
        *ring = (TrafficRing){};
}

static Record *record_at(const TrafficRing *ring, size_t at) {
        return (Record *)(ring->memory + at % TRAFFIC_RING_BYTES);
}

/* Finds room for `n` bytes in one piece, and fills the gap at the end of the memory. Returns NULL when the ring is
 * full. */
static Record *ring_reserve(TrafficRing *ring, size_t n, size_t *ret_tail) {
        const size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        const size_t n_to_end = TRAFFIC_RING_BYTES - tail % TRAFFIC_RING_BYTES;
        const size_t n_gap = n_to_end < n ? n_to_end : 0;

        if (TRAFFIC_RING_BYTES - (tail - head) < n_gap + n)
                return NULL;
        if (n_gap > 0) {
                Record *gap = record_at(ring, tail);

                gap->n_bytes = (uint32_t)n_gap;
                gap->kind = RECORD_GAP;
                tail += n_gap;
        }
        *ret_tail = tail + n;
        return record_at(ring, tail);
}

#define EACH_BYTE UINT64_C(0x0101010101010101)

/* Whether each of 8 bytes is from ' ' to '~' or NUL. Sums of 7 bits and less than 129 do not carry into the next byte,
 * and say by their highest bit that the byte is not below ' ', not NUL, and 127. */
static bool is_plain(uint64_t bytes) {
        const uint64_t high = EACH_BYTE * 0x80, low = bytes & ~high;
        const uint64_t is_control = ~(low + EACH_BYTE * (0x80 - ' ')) & (low + EACH_BYTE * 0x7f);

        return ((bytes | is_control | (low + EACH_BYTE)) & high) == 0;
}

/* The bus makes sure that names are ASCII. If it did not, viewers could not show them. `n` is a multiple of 8. */
static void make_plain(char *texts, size_t n) {
        uint64_t bytes;

        for (size_t i = 0; i < n; i += sizeof(bytes)) {
                memcpy(&bytes, texts + i, sizeof(bytes));
                if (is_plain(bytes))
                        continue;
                for (char *c = texts + i; c < texts + i + sizeof(bytes); c++)
                        if (*c != '\0' && (*c < ' ' || *c > '~'))
                                *c = '?';
        }
}

bool traffic_ring_put(TrafficRing *ring, const Traffic *traffic) {
        const FrameFields *fields = &traffic->fields;
        const char *const texts[TEXTS] = {
                fields->path,  fields->interface,   fields->member,
                fields->error, fields->destination, fields->sender,
        };
        size_t n_texts[TEXTS], n = sizeof(Record), tail;
        Record *record;
        char *at;

        for (size_t i = 0; i < TEXTS; i++) {
                n_texts[i] = strnlen(texts[i],
                                     i == 0 ? TRAFFIC_PATH_BYTES_MAX - 1 : FRAME_NAME_BYTES - 1);
                n += n_texts[i] + 1;
        }
        n = ALIGN_UP(n, 8);
        record = ring_reserve(ring, n, &tail);
        if (!record) {
                atomic_fetch_add_explicit(&ring->n_dropped, 1, memory_order_relaxed);
                return false;
        }
        *record = (Record){
                .n_bytes = (uint32_t)n,
                .kind = (uint8_t)traffic->kind,
                .type = fields->type,
                .flags = fields->flags,
                .serial = fields->serial,
                .reply_serial = fields->reply_serial,
                .at_ns = traffic->at_ns,
                .n_message = traffic->n_bytes,
        };
        at = (char *)(record + 1);
        for (size_t i = 0; i < TEXTS; i++) {
                memcpy(at, texts[i], n_texts[i]);
                at[n_texts[i]] = '\0';
                at += n_texts[i] + 1;
                record->n_texts[i] = (uint16_t)(n_texts[i] + 1);
        }
        memset(at, 0, (size_t)((char *)record + n - at));
        make_plain((char *)(record + 1), n - sizeof(Record));
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
        return true;
}

static void record_read(const Record *record, Traffic *ret) {
        const char *texts[TEXTS], *at = (const char *)(record + 1);

        for (size_t i = 0; i < TEXTS; i++) {
                texts[i] = at;
                at += record->n_texts[i];
        }
        *ret = (Traffic){
                .kind = (TrafficKind)record->kind,
                .at_ns = record->at_ns,
                .n_bytes = record->n_message,
                .fields = {
                        .type = record->type,
                        .flags = record->flags,
                        .serial = record->serial,
                        .reply_serial = record->reply_serial,
                        .path = texts[0],
                        .interface = texts[1],
                        .member = texts[2],
                        .error = texts[3],
                        .destination = texts[4],
                        .sender = texts[5],
                },
        };
}

/* Returns the record at *at, skipping a gap there; NULL at the end. */
static const Record *record_find(const TrafficRing *ring, size_t *at) {
        const Record *record;

        if (*at == atomic_load_explicit(&ring->tail, memory_order_acquire))
                return NULL;
        record = record_at(ring, *at);
        if (record->kind == RECORD_GAP) {
                *at += record->n_bytes;
                record = record_at(ring, *at);
        }
        return record;
}

bool traffic_ring_look(TrafficRing *ring, Traffic *ret) {
        const Record *record = record_find(ring, &ring->looked);

        if (!record)
                return false;
        record_read(record, ret);
        ring->looked += record->n_bytes;
        return true;
}

bool traffic_ring_first(TrafficRing *ring, Traffic *ret) {
        size_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
        const Record *record = record_find(ring, &at);

        if (!record)
                return false;
        record_read(record, ret);
        return true;
}

void traffic_ring_release(TrafficRing *ring) {
        size_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
        const Record *record = record_find(ring, &at);

        if (!record)
                return;
        at += record->n_bytes;
        if (at - ring->looked <=
            TRAFFIC_RING_BYTES) /* it was released without having been looked at */
                ring->looked = at;
        atomic_store_explicit(&ring->head, at, memory_order_release);
}
