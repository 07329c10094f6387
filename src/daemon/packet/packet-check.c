/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Nearly every packet lies in one slice and has a handful of fields with one-byte tags, so the walk
 * is over one contiguous piece. A packet in several slices is walked slice by slice: whole fields
 * in place, and the few bytes of a tag or number that a cut goes through with a cursor that steps
 * from slice to slice.
 */

#include "packet/packet-check.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

enum {
        FIELD_TRUSTED_UID = 3,
        FIELD_CLOCK_SNAPSHOT = 6,
        FIELD_TIMESTAMP = 8,
        FIELD_TRUSTED_PACKET_SEQUENCE_ID = 10,
        FIELD_INTERNED_DATA = 12,
        FIELD_SEQUENCE_FLAGS = 13,
        FIELD_TRACE_CONFIG = 33,
        FIELD_TRACE_STATS = 35,
        FIELD_SYNCHRONIZATION_MARKER = 36,
        FIELD_INCREMENTAL_STATE_CLEARED = 41,
        FIELD_PREVIOUS_PACKET_DROPPED = 42,
        FIELD_SYSTEM_INFO = 45,
        FIELD_TRIGGER = 46,
        FIELD_COMPRESSED_PACKETS = 50,
        FIELD_TIMESTAMP_CLOCK_ID = 58,
        FIELD_TRACE_PACKET_DEFAULTS = 59,
        FIELD_SERVICE_EVENT = 69,
        FIELD_TRUSTED_PID = 79,
        FIELD_FIRST_PACKET_ON_SEQUENCE = 87,
        FIELD_TRACE_UUID = 89,
        FIELD_MACHINE_ID = 98,
        FIELD_REMOTE_CLOCK_SYNC = 107,
        FIELD_CLONE_SNAPSHOT_TRIGGER = 113,
        FIELD_TRACE_PROVENANCE = 124,
        FIELD_PROTOVMS = 125,
        FIELD_TRACE_ATTRIBUTES = 126,
        FIELD_ZSTD_COMPRESSED_PACKETS = 133,
        FIELD_CONCURRENT_SESSION_EVENT = 134,
        _FIELD_CLASSES = 136,
};

typedef enum FieldClass {
        FIELD_IS_DATA,   /* what the packet is about: all fields that are not listed */
        FIELD_IS_ABOUT,  /* about the packet or its sequence */
        FIELD_IS_FACT,   /* likewise, and reported */
        FIELD_IS_CLOCKS, /* data, and looked into */
        FIELD_IS_RESERVED,
} FieldClass;

static const uint8_t field_classes[_FIELD_CLASSES] = {
        [FIELD_TRUSTED_UID] = FIELD_IS_RESERVED,
        [FIELD_CLOCK_SNAPSHOT] = FIELD_IS_CLOCKS,
        [FIELD_TIMESTAMP] = FIELD_IS_FACT,
        [FIELD_TRUSTED_PACKET_SEQUENCE_ID] = FIELD_IS_RESERVED,
        [FIELD_INTERNED_DATA] = FIELD_IS_ABOUT,
        [FIELD_SEQUENCE_FLAGS] = FIELD_IS_FACT,
        [FIELD_TRACE_CONFIG] = FIELD_IS_RESERVED,
        [FIELD_TRACE_STATS] = FIELD_IS_RESERVED,
        [FIELD_SYNCHRONIZATION_MARKER] = FIELD_IS_RESERVED,
        [FIELD_INCREMENTAL_STATE_CLEARED] = FIELD_IS_ABOUT,
        [FIELD_PREVIOUS_PACKET_DROPPED] = FIELD_IS_FACT,
        [FIELD_SYSTEM_INFO] = FIELD_IS_RESERVED,
        [FIELD_TRIGGER] = FIELD_IS_RESERVED,
        [FIELD_COMPRESSED_PACKETS] = FIELD_IS_RESERVED,
        [FIELD_TIMESTAMP_CLOCK_ID] = FIELD_IS_ABOUT,
        [FIELD_TRACE_PACKET_DEFAULTS] = FIELD_IS_ABOUT,
        [FIELD_SERVICE_EVENT] = FIELD_IS_RESERVED,
        [FIELD_TRUSTED_PID] = FIELD_IS_RESERVED,
        [FIELD_FIRST_PACKET_ON_SEQUENCE] = FIELD_IS_FACT,
        [FIELD_TRACE_UUID] = FIELD_IS_RESERVED,
        [FIELD_MACHINE_ID] = FIELD_IS_RESERVED,
        [FIELD_REMOTE_CLOCK_SYNC] = FIELD_IS_RESERVED,
        [FIELD_CLONE_SNAPSHOT_TRIGGER] = FIELD_IS_RESERVED,
        [FIELD_TRACE_PROVENANCE] = FIELD_IS_RESERVED,
        [FIELD_PROTOVMS] = FIELD_IS_RESERVED,
        [FIELD_TRACE_ATTRIBUTES] = FIELD_IS_RESERVED,
        [FIELD_ZSTD_COMPRESSED_PACKETS] = FIELD_IS_RESERVED,
        [FIELD_CONCURRENT_SESSION_EVENT] = FIELD_IS_RESERVED,
};

/* Invariant: at == end only when nothing is left at all. */
typedef struct Cursor {
        const uint8_t *at;
        const uint8_t *end;
        const struct iovec *next;
        const struct iovec *last;
} Cursor;

static inline void cursor_settle(Cursor *cursor) {
        while (UNLIKELY(cursor->at == cursor->end) && cursor->next < cursor->last) {
                cursor->at = cursor->next->iov_base;
                cursor->end = cursor->at + cursor->next->iov_len;
                cursor->next++;
        }
}

static bool cursor_read_varint_slowly(Cursor *cursor, uint64_t *ret) {
        uint64_t value = 0;

        for (unsigned shift = 0; shift < 7 * WIRE_VARINT_MAX; shift += 7) {
                uint8_t byte;

                if (cursor->at == cursor->end)
                        return false;
                byte = *cursor->at++;
                cursor_settle(cursor);
                value |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80)) {
                        *ret = value;
                        return true;
                }
        }
        return false;
}

static inline bool cursor_read_varint(Cursor *cursor, uint64_t *ret) {
        if (LIKELY(cursor->end - cursor->at > 1) && !(*cursor->at & 0x80)) {
                *ret = *cursor->at++;
                return true;
        }
        return cursor_read_varint_slowly(cursor, ret);
}

static bool cursor_skip(Cursor *cursor, uint64_t n_bytes) {
        while (n_bytes > (uint64_t)(cursor->end - cursor->at)) {
                n_bytes -= (uint64_t)(cursor->end - cursor->at);
                cursor->at = cursor->end;
                if (cursor->next == cursor->last)
                        return false;
                cursor_settle(cursor);
        }
        cursor->at += n_bytes;
        cursor_settle(cursor);
        return true;
}

/* Steps over a field's value; *ret_value is that of a varint. */
static inline bool cursor_skip_value(Cursor *cursor, unsigned type, uint64_t *ret_value) {
        uint64_t n_bytes;

        switch (type) {
        case WIRE_VARINT:
                return cursor_read_varint(cursor, ret_value);
        case WIRE_BYTES:
                return cursor_read_varint(cursor, &n_bytes) && cursor_skip(cursor, n_bytes);
        case WIRE_FIXED64:
                return cursor_skip(cursor, 8);
        case WIRE_FIXED32:
                return cursor_skip(cursor, 4);
        default:
                return false;
        }
}

static void facts_add(PacketFacts *facts, uint64_t number, uint64_t value) {
        switch (number) {
        case FIELD_TIMESTAMP:
                facts->timestamp = value;
                break;
        case FIELD_SEQUENCE_FLAGS:
                facts->sequence_flags = (uint32_t)value;
                break;
        case FIELD_PREVIOUS_PACKET_DROPPED:
                facts->dropped = (uint32_t)value;
                break;
        case FIELD_FIRST_PACKET_ON_SEQUENCE:
                facts->is_first_on_sequence = value != 0;
                break;
        }
}

/*
 * Clock snapshots
 */

enum {
        SNAPSHOT_CLOCKS = 1, /* of perfetto.protos.ClockSnapshot */
        CLOCK_ID = 1,        /* of ClockSnapshot.Clock */
};

static int clock_read_id(const WireField *clock, uint64_t *ret) {
        WireReader reader;
        WireField field;
        int r;

        *ret = 0;
        wire_reader_init_field(&reader, clock);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == CLOCK_ID && field.type == WIRE_VARINT)
                        *ret = field.value;
        return r;
}

/* Trace readers convert every timestamp by snapshots that relate the machine's clocks to each other. A producer
 * that could write such a snapshot would move the events of others. */
static int check_clocks(const uint8_t *snapshot, size_t n) {
        WireReader reader;
        WireField field;
        unsigned n_builtin = 0;
        int r;

        wire_reader_init(&reader, snapshot, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                uint64_t id;

                if (field.number != SNAPSHOT_CLOCKS || field.type != WIRE_BYTES)
                        continue;
                if (clock_read_id(&field, &id) < 0)
                        return PACKET_E_MALFORMED;
                n_builtin += id <= PACKET_CLOCKS_BUILTIN_MAX;
        }
        if (r < 0)
                return PACKET_E_MALFORMED;
        return n_builtin <= 1 ? 0 : PACKET_E_FORBIDDEN;
}

/* Copies from the slices, which may be cut anywhere. */
static void cursor_copy(Cursor cursor, uint8_t *to, size_t n) {
        while (n > 0) {
                size_t n_here = MIN(n, (size_t)(cursor.end - cursor.at));

                memcpy(to, cursor.at, n_here);
                to += n_here;
                n -= n_here;
                cursor.at += n_here;
                cursor_settle(&cursor);
        }
}

static bool cursor_has(Cursor cursor, uint64_t n_bytes) {
        return cursor_skip(&cursor, n_bytes);
}

/* The cursor is behind the tag, and stays there. */
static int cursor_check_clocks(Cursor cursor, unsigned type) {
        uint8_t snapshot[PACKET_CLOCKS_BYTES_MAX];
        uint64_t n_bytes;

        if (type != WIRE_BYTES || !cursor_read_varint(&cursor, &n_bytes) ||
            !cursor_has(cursor, n_bytes))
                return PACKET_E_MALFORMED;
        if (n_bytes > sizeof(snapshot))
                return PACKET_E_FORBIDDEN;
        cursor_copy(cursor, snapshot, n_bytes);
        return check_clocks(snapshot, n_bytes);
}

/* What the packet is about. */
static int check_data(const Cursor *cursor,
                      uint64_t tag,
                      FieldClass class,
                      const PacketRules *rules,
                      PacketFacts *facts) {
        if (UNLIKELY(!packet_rules_allow(rules, tag >> 3)))
                return PACKET_E_FORBIDDEN;
        if (facts->data_field == 0)
                facts->data_field = (uint32_t)(tag >> 3);
        if (LIKELY(class == FIELD_IS_DATA) || rules->is_system)
                return 0;
        return cursor_check_clocks(*cursor, tag & 7);
}

static int check_fields(Cursor *cursor, const PacketRules *rules, PacketFacts *facts) {
        while (cursor->at != cursor->end) {
                uint64_t tag, number, value = 0;
                FieldClass class;

                if (!cursor_read_varint(cursor, &tag))
                        return PACKET_E_MALFORMED;
                number = tag >> 3;
                if (number == 0 || number > 0x1fffffff)
                        return PACKET_E_MALFORMED;
                class = number < _FIELD_CLASSES ? field_classes[number] : FIELD_IS_DATA;
                if (UNLIKELY(class == FIELD_IS_RESERVED))
                        return PACKET_E_RESERVED;
                if (class == FIELD_IS_DATA || class == FIELD_IS_CLOCKS) {
                        int r = check_data(cursor, tag, class, rules, facts);

                        if (r)
                                return r;
                }
                if (!cursor_skip_value(cursor, tag & 7, &value))
                        return PACKET_E_MALFORMED;
                if (class == FIELD_IS_FACT)
                        facts_add(facts, number, value);
        }
        return 0;
}

int packet_check(const struct iovec *slices,
                 size_t n_slices,
                 const PacketRules *rules,
                 PacketFacts *ret) {
        Cursor cursor = { .next = slices, .last = slices + n_slices };
        PacketFacts facts = {};
        int r;

        for (size_t i = 0; i < n_slices; i++)
                facts.n_bytes += slices[i].iov_len;
        if (facts.n_bytes > PACKET_BYTES_MAX)
                return PACKET_E_MALFORMED;

        cursor_settle(&cursor);
        r = check_fields(&cursor, rules, &facts);
        if (r == 0)
                *ret = facts;
        return r;
}

static void put_uid_and_sequence(WireWriter *writer, const PacketTrust *trust) {
        /* int32 in the schema: (uid_t)-1 would become a ten-byte varint, which is what protobuf
         * wants. */
        wire_put_int(writer, FIELD_TRUSTED_UID, (int32_t)trust->uid);
        wire_put_uint(writer, FIELD_TRUSTED_PACKET_SEQUENCE_ID, trust->sequence_id);
}

size_t packet_put_trust_brief(uint8_t ret[static PACKET_TRUST_BYTES_MAX],
                              const PacketTrust *trust) {
        WireWriter writer;

        wire_writer_init(&writer, ret, PACKET_TRUST_BYTES_MAX);
        put_uid_and_sequence(&writer, trust);
        return wire_writer_size(&writer);
}

size_t packet_put_trust(uint8_t ret[static PACKET_TRUST_BYTES_MAX], const PacketTrust *trust) {
        WireWriter writer;

        wire_writer_init(&writer, ret, PACKET_TRUST_BYTES_MAX);
        put_uid_and_sequence(&writer, trust);
        if (trust->pid > 0)
                wire_put_int(&writer, FIELD_TRUSTED_PID, trust->pid);
        if (trust->loss != 0)
                wire_put_uint(&writer, FIELD_PREVIOUS_PACKET_DROPPED, trust->loss);
        return wire_writer_size(&writer);
}
