/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Config check: looks through serialized messages before protobuf-c may unpack them */

#include <errno.h>
#include <stdbool.h>

#include "config/config-check.h"
#include "shared/utf8.h"

/* Message types with more fields than this do not exist here. */
#define SEEN_MAX 128

#define SHORT_VARINT_BYTES_MAX 5

typedef struct Check {
        ConfigError *error;
        unsigned depth;
        unsigned n_fields;
} Check;

static int read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret) {
        uint64_t value = 0;

        for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
                uint8_t byte = *(*at)++;

                value |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80)) {
                        *ret = value;
                        return 0;
                }
        }
        return -EBADMSG;
}

/* Tags and lengths: protobuf-c, like protobuf, takes no more than five bytes for them, however
 * small their value. */
static int read_short_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret) {
        const uint8_t *start = *at;

        if (read_varint(at, end, ret) < 0 || *at - start > SHORT_VARINT_BYTES_MAX)
                return -EBADMSG;
        return 0;
}

int config_field_next(const uint8_t **at, const uint8_t *end, ConfigField *ret) {
        uint64_t tag, n_bytes;
        const uint8_t *start;

        if (*at == end)
                return 0;
        if (read_short_varint(at, end, &tag) < 0 || tag > UINT32_MAX || tag >> 3 == 0)
                return -EBADMSG;
        start = *at;
        switch (tag & 7) {
        case PROTOBUF_C_WIRE_TYPE_VARINT:
                if (read_varint(at, end, &n_bytes) < 0)
                        return -EBADMSG;
                n_bytes = (uint64_t)(*at - start);
                break;
        case PROTOBUF_C_WIRE_TYPE_64BIT:
                n_bytes = 8;
                break;
        case PROTOBUF_C_WIRE_TYPE_32BIT:
                n_bytes = 4;
                break;
        case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
                if (read_short_varint(at, end, &n_bytes) < 0)
                        return -EBADMSG;
                start = *at;
                break;
        default:
                return -EBADMSG; /* groups: no message of ours or Perfetto's has them */
        }
        if (n_bytes > (uint64_t)(end - start))
                return -EBADMSG;
        *at = start + n_bytes;
        *ret = (ConfigField){
                .number = (uint32_t)tag >> 3,
                .wire_type = tag & 7,
                .data = start,
                .n_bytes = (size_t)n_bytes,
        };
        return 1;
}

static uint8_t wire_type_of(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_SFIXED32:
        case PROTOBUF_C_TYPE_FIXED32:
        case PROTOBUF_C_TYPE_FLOAT:
                return PROTOBUF_C_WIRE_TYPE_32BIT;
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
                return PROTOBUF_C_WIRE_TYPE_64BIT;
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
        case PROTOBUF_C_TYPE_MESSAGE:
                return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
        default:
                return PROTOBUF_C_WIRE_TYPE_VARINT;
        }
}

/* The number of values in a packed array, which protobuf-c counts before it reads them. */
static bool is_packed_array(const ProtobufCFieldDescriptor *field, const ConfigField *value) {
        const uint8_t *at = value->data, *end = at + value->n_bytes;
        uint64_t ignored;

        switch (wire_type_of(field->type)) {
        case PROTOBUF_C_WIRE_TYPE_32BIT:
                return value->n_bytes % 4 == 0;
        case PROTOBUF_C_WIRE_TYPE_64BIT:
                return value->n_bytes % 8 == 0;
        case PROTOBUF_C_WIRE_TYPE_VARINT:
                while (at < end)
                        if (read_varint(&at, end, &ignored) < 0)
                                return false;
                return true;
        default:
                return false;
        }
}

static bool field_fits(const ProtobufCFieldDescriptor *field, const ConfigField *value) {
        if (value->wire_type == wire_type_of(field->type))
                return true;
        return field->label == PROTOBUF_C_LABEL_REPEATED &&
               value->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
               is_packed_array(field, value);
}

static int check_message(Check *check,
                         const ProtobufCMessageDescriptor *message,
                         const uint8_t *at,
                         const uint8_t *end);

static int check_submessage(Check *check,
                            const ProtobufCMessageDescriptor *message,
                            const ProtobufCFieldDescriptor *field,
                            const ConfigField *value,
                            bool *seen) {
        int r;

        if (field->label != PROTOBUF_C_LABEL_REPEATED && *seen)
                return config_error_set(check->error,
                                        0,
                                        0,
                                        "%s.%s is given more than once",
                                        message->short_name,
                                        field->name);
        *seen = true;
        if (check->depth == CONFIG_DEPTH_MAX)
                return config_error_set(check->error,
                                        0,
                                        0,
                                        "Messages are nested deeper than %d in %s.%s",
                                        CONFIG_DEPTH_MAX,
                                        message->short_name,
                                        field->name);
        check->depth++;
        r = check_message(check, field->descriptor, value->data, value->data + value->n_bytes);
        check->depth--;
        return r;
}

static int check_field(Check *check,
                       const ProtobufCMessageDescriptor *message,
                       const ConfigField *value,
                       bool seen[SEEN_MAX]) {
        const ProtobufCFieldDescriptor *field;

        if (++check->n_fields > CONFIG_FIELDS_MAX)
                return config_error_set(check->error,
                                        0,
                                        0,
                                        "The config has more than %u fields (CONFIG_FIELDS_MAX)",
                                        CONFIG_FIELDS_MAX);
        field = protobuf_c_message_descriptor_get_field(message, value->number);
        if (!field)
                return 0; /* a field of a newer version; kept as it is */
        if (!field_fits(field, value))
                return config_error_set(check->error,
                                        0,
                                        0,
                                        "%s.%s has a value of the wrong type",
                                        message->short_name,
                                        field->name);
        if (field->type == PROTOBUF_C_TYPE_STRING && !utf8_is_valid(value->data, value->n_bytes))
                return config_error_set(check->error,
                                        0,
                                        0,
                                        "%s.%s is not text (UTF-8 without NUL)",
                                        message->short_name,
                                        field->name);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
                return check_submessage(
                        check, message, field, value, &seen[(field - message->fields) % SEEN_MAX]);
        return 0;
}

static int check_message(Check *check,
                         const ProtobufCMessageDescriptor *message,
                         const uint8_t *at,
                         const uint8_t *end) {
        bool seen[SEEN_MAX] = {};
        ConfigField value;
        int r;

        while ((r = config_field_next(&at, end, &value)) > 0) {
                r = check_field(check, message, &value, seen);
                if (r)
                        return r;
        }
        if (r < 0)
                return config_error_set(
                        check->error, 0, 0, "Not a serialized %s: broken framing", message->name);
        return 0;
}

int config_check_bytes(const ProtobufCMessageDescriptor *message,
                       const void *bytes,
                       size_t n_bytes,
                       ConfigError *error) {
        Check check = { .error = error };

        return check_message(&check, message, bytes, (const uint8_t *)bytes + n_bytes);
}
