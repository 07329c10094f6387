/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Arguments come as a flat list: a DT_ARG_DICT or DT_ARG_ARRAY opens a message that the matching DT_ARG_CLOSE closes.
 * So nothing of an event lives longer than the call, in C and in C++ alike.
 */

#include "lib/track-args.h"
#include "shared/macro.h"
#include "shared/text.h"
#include "smb/smb-writer.h"

enum {
        ANNOTATION_NAME_IID = 1,
        ANNOTATION_BOOL = 2,
        ANNOTATION_UINT = 3,
        ANNOTATION_INT = 4,
        ANNOTATION_DOUBLE = 5,
        ANNOTATION_STRING = 6,
        ANNOTATION_POINTER = 7,
        ANNOTATION_NAME = 10,
        ANNOTATION_DICT_ENTRIES = 11,
        ANNOTATION_ARRAY_VALUES = 12,
        ANNOTATION_STRING_IID = 17,

        EVENT_CATEGORY_IIDS = 3,
        EVENT_DEBUG_ANNOTATIONS = 4,
        EVENT_EXTRA_COUNTER_VALUES = 12,
        EVENT_LOG_MESSAGE = 21,
        EVENT_CATEGORIES = 22,
        EVENT_NAME = 23,
        EVENT_EXTRA_COUNTER_TRACKS = 31,
        EVENT_SOURCE_LOCATION = 33,
        EVENT_SOURCE_LOCATION_IID = 34,
        EVENT_EXTRA_DOUBLE_COUNTER_TRACKS = 45,
        EVENT_EXTRA_DOUBLE_COUNTER_VALUES = 46,
        EVENT_FLOW_IDS = 47,
        EVENT_TERMINATING_FLOW_IDS = 48,
        EVENT_CORRELATION_ID = 52,
        EVENT_CORRELATION_TEXT = 53,

        INTERNED_SOURCE_LOCATIONS = 4,
        ENTRY_IID = 1,
        ENTRY_TEXT = 2,

        LOCATION_IID = 1,
        LOCATION_FILE = 2,
        LOCATION_FUNCTION = 3,
        LOCATION_LINE = 4,

        LOG_BODY_IID = 2,
        LOG_PRIORITY = 3,
};

/* An argument's name by number, and a value or the size of a text. */
#define ARG_BYTES_MAX (2 * (2 + WIRE_VARINT_MAX))

#define NO_TEXT "(null)"

static void put_text(WireWriter *wire, uint32_t field, const char *text) {
        wire_put_bytes(wire, field, text, track_text_bytes(text));
}

void track_put_interned(WireWriter *interned, uint32_t kind, uint32_t iid, const char *text) {
        size_t entry = wire_begin(interned, kind);

        wire_put_uint(interned, ENTRY_IID, iid);
        put_text(interned, ENTRY_TEXT, text);
        wire_end(interned, entry);
}

/*
 * Arguments
 */

/* For a size that is known to be small, the compiler would emit a string instruction, which takes longer to start
 * than this loop takes altogether. So words are copied, and the last one may overlap the one before. */
static inline uint8_t *copy_text(uint8_t *at, const char *text, size_t n) {
        if (n > SMB_WRITER_SMALL_MAX)
                return (uint8_t *)mempcpy(at, text, n);
        if (n >= sizeof(uint64_t)) {
                for (size_t i = 0; i < n - sizeof(uint64_t); i += sizeof(uint64_t))
                        memcpy(at + i, text + i, sizeof(uint64_t));
                memcpy(at + n - sizeof(uint64_t), text + n - sizeof(uint64_t), sizeof(uint64_t));
        } else
                for (size_t i = 0; i < n; i++)
                        at[i] = (uint8_t)text[i];
        return at + n;
}

static inline uint8_t *put_value(uint8_t *at, const dt_arg *arg, size_t n_text) {
        switch (arg->type) {
        case DT_ARG_INT:
                return track_put_uint(at, ANNOTATION_INT, arg->value.as_uint);
        case DT_ARG_UINT:
                return track_put_uint(at, ANNOTATION_UINT, arg->value.as_uint);
        case DT_ARG_DOUBLE:
                return track_put_fixed64(at, ANNOTATION_DOUBLE, arg->value.as_uint);
        case DT_ARG_BOOL:
                return track_put_uint(at, ANNOTATION_BOOL, arg->value.as_uint);
        case DT_ARG_POINTER:
                return track_put_uint(at, ANNOTATION_POINTER, arg->value.as_uint);
        default:
                at = wire_encode_varint(at, ANNOTATION_STRING << 3 | WIRE_BYTES);
                at = wire_encode_varint(at, n_text);
                return copy_text(at, arg->value.as_string ?: NO_TEXT, n_text);
        }
}

/* Whether there is room for an argument with a text of `n_bytes`, and its size is one byte. */
static inline bool has_room(const uint8_t *at, const uint8_t *end, size_t n_text) {
        return at + ARG_BYTES_MAX + n_text <= end;
}

static inline uint8_t *
put_short_arg(uint8_t *at, const uint8_t *end, TrackStream *stream, const dt_arg *arg) {
        uint8_t *body = at + 2;
        size_t n_text = 0;
        uint32_t iid;

        if (UNLIKELY(!arg->name || !has_room(at, end, 0)))
                return NULL;
        iid = intern_known(&stream->arg_names, arg->name);
        if (UNLIKELY(!iid))
                return NULL;
        if (arg->type == DT_ARG_STRING) {
                /* A text that does not fit is cut off, and the argument is left out as well. */
                n_text = strnlen(arg->value.as_string ?: NO_TEXT, SMB_WRITER_SMALL_MAX);
                if (UNLIKELY(!has_room(at, end, n_text)))
                        return NULL;
        }
        at[0] = EVENT_DEBUG_ANNOTATIONS << 3 | WIRE_BYTES;
        at = track_put_uint(body, ANNOTATION_NAME_IID, iid);
        at = put_value(at, arg, n_text);
        body[-1] = (uint8_t)(at - body);
        return at;
}

uint8_t *track_put_short_args(uint8_t *at,
                              const uint8_t *end,
                              TrackStream *stream,
                              const dt_arg *args,
                              size_t n_args) {
        for (const dt_arg *arg = args; arg < args + n_args; arg++) {
                switch (arg->type) {
                case DT_ARG_INT:
                case DT_ARG_UINT:
                case DT_ARG_DOUBLE:
                case DT_ARG_BOOL:
                case DT_ARG_STRING:
                case DT_ARG_POINTER:
                        at = put_short_arg(at, end, stream, arg);
                        break;
                case DT_ARG_FLOW:
                        at = has_room(at, end, 0)
                                     ? track_put_fixed64(at, EVENT_FLOW_IDS, arg->value.as_uint)
                                     : NULL;
                        break;
                default:
                        return NULL;
                }
                if (UNLIKELY(!at))
                        return NULL;
        }
        return at;
}

/* The open dictionaries and arrays. */
typedef struct Nest {
        size_t begin[DT_ARGS_DEPTH_MAX];
        dt_arg_type types[DT_ARGS_DEPTH_MAX];
        unsigned depth;
        unsigned n_too_deep; /* open ones that are left out, with everything inside them */
} Nest;

/* Opens the next annotation, with its name unless it is in an array. Returns the message to close. */
static inline size_t annotation_begin(WireWriter *packet,
                                      WireWriter *interned,
                                      TrackStream *stream,
                                      const Nest *nest,
                                      const char *name) {
        dt_arg_type parent = nest->depth > 0 ? nest->types[nest->depth - 1] : DT_ARG_NONE;
        uint32_t field = EVENT_DEBUG_ANNOTATIONS, iid;
        size_t annotation;

        if (parent == DT_ARG_ARRAY)
                return wire_begin(packet, ANNOTATION_ARRAY_VALUES);
        if (parent == DT_ARG_DICT)
                field = ANNOTATION_DICT_ENTRIES;
        name = name ?: "";
        iid = track_number(interned, &stream->arg_names, TRACK_INTERNED_ARG_NAMES, name);
        annotation = wire_begin(packet, field);
        if (!iid)
                put_text(packet, ANNOTATION_NAME, name);
        else if (wire_reserve(packet, ARG_BYTES_MAX))
                packet->at = track_put_uint(packet->at, ANNOTATION_NAME_IID, iid);
        return annotation;
}

static void put_arg(WireWriter *packet,
                    WireWriter *interned,
                    TrackStream *stream,
                    const Nest *nest,
                    const dt_arg *arg) {
        size_t annotation = annotation_begin(packet, interned, stream, nest, arg->name);
        size_t n_text = 0;

        if (arg->type == DT_ARG_STRING)
                n_text = track_text_bytes(arg->value.as_string ?: NO_TEXT);
        if (!wire_reserve(packet, ARG_BYTES_MAX + n_text))
                return;
        packet->at = put_value(packet->at, arg, n_text);
        wire_end(packet, annotation);
}

static void put_interned_arg(WireWriter *packet,
                             WireWriter *interned,
                             TrackStream *stream,
                             const Nest *nest,
                             const dt_arg *arg) {
        const char *text = arg->value.as_string ?: NO_TEXT;
        uint32_t iid = track_number(interned, &stream->values, TRACK_INTERNED_VALUES, text);
        size_t annotation = annotation_begin(packet, interned, stream, nest, arg->name);

        if (iid)
                wire_put_uint(packet, ANNOTATION_STRING_IID, iid);
        else
                put_text(packet, ANNOTATION_STRING, text);
        wire_end(packet, annotation);
}

static void nest_open(Nest *nest, dt_arg_type type, size_t begin) {
        nest->begin[nest->depth] = begin;
        nest->types[nest->depth++] = type;
}

static void nest_close(Nest *nest, WireWriter *packet) {
        if (nest->n_too_deep > 0)
                nest->n_too_deep--;
        else if (nest->depth > 0)
                wire_end(packet, nest->begin[--nest->depth]);
}

/*
 * Other parts of an event
 */

/* "file.c:12" and the function. */
static void put_location_fields(WireWriter *wire, const dt_arg *arg) {
        const char *colon = strrchr(arg->name, ':');
        size_t n_file = colon ? (size_t)(colon - arg->name) : strlen(arg->name);

        wire_put_bytes(wire, LOCATION_FILE, arg->name, MIN(n_file, (size_t)DT_TEXT_BYTES_MAX));
        if (arg->value.as_string)
                put_text(wire, LOCATION_FUNCTION, arg->value.as_string);
        if (colon)
                wire_put_uint(wire, LOCATION_LINE, text_read_uint(colon + 1, 10, NULL));
}

static void
put_location(WireWriter *packet, WireWriter *interned, TrackStream *stream, const dt_arg *arg) {
        uint32_t iid;
        size_t entry;
        int r;

        if (!arg->name)
                return;
        r = intern_text(&stream->locations, arg->name, DT_TEXT_BYTES_MAX, &iid);
        if (r == INTERN_E_FULL) {
                entry = wire_begin(packet, EVENT_SOURCE_LOCATION);
                put_location_fields(packet, arg);
                wire_end(packet, entry);
                return;
        }
        if (r == INTERN_E_NEW) {
                entry = wire_begin(interned, INTERNED_SOURCE_LOCATIONS);
                wire_put_uint(interned, LOCATION_IID, iid);
                put_location_fields(interned, arg);
                wire_end(interned, entry);
        }
        wire_put_uint(packet, EVENT_SOURCE_LOCATION_IID, iid);
}

/* A body can only be given by number. Log lines hardly ever repeat, so each gets a number of its own. */
static void
put_log(WireWriter *packet, WireWriter *interned, TrackStream *stream, const dt_arg *arg) {
        size_t message = wire_begin(packet, EVENT_LOG_MESSAGE);
        uint32_t iid = ++stream->n_log_bodies;

        track_put_interned(
                interned, TRACK_INTERNED_LOG_BODIES, iid, arg->value.as_string ?: NO_TEXT);
        wire_put_uint(packet, LOG_BODY_IID, iid);
        if (arg->name)
                wire_put_uint(packet, LOG_PRIORITY, (uint8_t)arg->name[0]);
        wire_end(packet, message);
}

static void
put_category(WireWriter *packet, WireWriter *interned, TrackStream *stream, const dt_arg *arg) {
        const dt_category *category = (const dt_category *)arg->name;

        /* Only the event's own category is certain to be registered. */
        if (category->number >= DT_CATEGORIES_MAX) {
                if (category->name[0])
                        put_text(packet, EVENT_CATEGORIES, category->name);
                return;
        }
        wire_put_uint(
                packet, EVENT_CATEGORY_IIDS, track_category_number(interned, stream, category));
}

static void put_counter(WireWriter *packet, TrackStream *stream, const dt_arg *arg) {
        uint64_t uuid = track_uuid((const dt_track *)arg->name, stream->thread_uuid);
        TrackValue value = { .is_double = arg->type == DT_ARG_COUNTER_DOUBLE };

        if (value.is_double)
                value.as_double = arg->value.as_double;
        else
                value.as_int = arg->value.as_int;
        track_counts_make_relative(stream, uuid, &value);
        if (value.is_double) {
                wire_put_uint(packet, EVENT_EXTRA_DOUBLE_COUNTER_TRACKS, uuid);
                wire_put_double(packet, EVENT_EXTRA_DOUBLE_COUNTER_VALUES, value.as_double);
        } else {
                wire_put_uint(packet, EVENT_EXTRA_COUNTER_TRACKS, uuid);
                wire_put_int(packet, EVENT_EXTRA_COUNTER_VALUES, value.as_int);
        }
}

/* The rare arguments that are not annotations. */
static void
put_other(WireWriter *packet, WireWriter *interned, TrackStream *stream, const dt_arg *arg) {
        switch (arg->type) {
        case DT_ARG_CORRELATION:
                wire_put_uint(packet, EVENT_CORRELATION_ID, arg->value.as_uint);
                break;
        case DT_ARG_CORRELATION_TEXT:
                put_text(packet, EVENT_CORRELATION_TEXT, arg->value.as_string ?: NO_TEXT);
                break;
        case DT_ARG_LOCATION:
                put_location(packet, interned, stream, arg);
                break;
        case DT_ARG_LOG:
                put_log(packet, interned, stream, arg);
                break;
        case DT_ARG_CATEGORY:
                put_category(packet, interned, stream, arg);
                break;
        case DT_ARG_COUNTER:
        case DT_ARG_COUNTER_DOUBLE:
                put_counter(packet, stream, arg);
                break;
        case DT_ARG_RAW:
                wire_put_raw(packet, arg->name, arg->value.as_uint);
                break;
        case DT_ARG_CATEGORY_TEXT:
                put_text(packet, EVENT_CATEGORIES, arg->value.as_string ?: NO_TEXT);
                break;
        case DT_ARG_NAME:
                put_text(packet, EVENT_NAME, arg->value.as_string ?: NO_TEXT);
                break;
        default: /* DT_ARG_TIME is in the head; kinds that only newer headers know are skipped */
                break;
        }
}

/* Inside an argument: there is no room left, or the value says something about the event itself. */
static bool is_left_out(const Nest *nest, dt_arg_type type) {
        switch (type) {
        case DT_ARG_DICT:
        case DT_ARG_ARRAY:
        case DT_ARG_CLOSE:
                return false;
        case DT_ARG_INT:
        case DT_ARG_UINT:
        case DT_ARG_DOUBLE:
        case DT_ARG_BOOL:
        case DT_ARG_STRING:
        case DT_ARG_POINTER:
        case DT_ARG_STRING_INTERNED:
        case DT_ARG_RAW: /* there its fields are the argument's */
                return nest->n_too_deep > 0;
        default:
                return true;
        }
}

void track_put_args(WireWriter *packet,
                    WireWriter *interned,
                    TrackStream *stream,
                    const dt_arg *args,
                    size_t n_args) {
        Nest nest;

        nest.depth = nest.n_too_deep = 0;
        for (size_t i = 0; i < n_args; i++) {
                const dt_arg *arg = &args[i];

                if (UNLIKELY(nest.depth > 0) && is_left_out(&nest, arg->type))
                        continue;
                switch (arg->type) {
                case DT_ARG_NONE:
                        break;
                case DT_ARG_INT:
                case DT_ARG_UINT:
                case DT_ARG_DOUBLE:
                case DT_ARG_BOOL:
                case DT_ARG_STRING:
                case DT_ARG_POINTER:
                        put_arg(packet, interned, stream, &nest, arg);
                        break;
                case DT_ARG_STRING_INTERNED:
                        put_interned_arg(packet, interned, stream, &nest, arg);
                        break;
                case DT_ARG_FLOW:
                        wire_put_fixed64(packet, EVENT_FLOW_IDS, arg->value.as_uint);
                        break;
                case DT_ARG_FLOW_END:
                        wire_put_fixed64(packet, EVENT_TERMINATING_FLOW_IDS, arg->value.as_uint);
                        break;
                case DT_ARG_DICT:
                case DT_ARG_ARRAY:
                        if (nest.n_too_deep > 0 || nest.depth == DT_ARGS_DEPTH_MAX)
                                nest.n_too_deep++;
                        else
                                nest_open(&nest,
                                          arg->type,
                                          annotation_begin(
                                                  packet, interned, stream, &nest, arg->name));
                        break;
                case DT_ARG_CLOSE:
                        nest_close(&nest, packet);
                        break;
                default:
                        put_other(packet, interned, stream, arg);
                        break;
                }
        }
        while (nest.depth > 0)
                nest_close(&nest, packet);
}
