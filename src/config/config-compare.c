/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Walks both decoded messages along their descriptor. There are no oneofs in our configs.
 */

#include <stdio.h>
#include <string.h>

#include "config/config-compare.h"
#include "shared/macro.h"

typedef struct Comparison {
        ConfigMayDiffer may_differ;
        char *path; /* of CONFIG_PATH_BYTES */
} Comparison;

static size_t type_bytes(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
                return sizeof(uint64_t);
        case PROTOBUF_C_TYPE_DOUBLE:
                return sizeof(double);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        default:
                return sizeof(uint32_t); /* 32 bit numbers, float, enum */
        }
}

static bool binary_differs(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
        return a->len != b->len || (a->len > 0 && memcmp(a->data, b->data, a->len) != 0);
}

static bool message_differs(const Comparison *comparison,
                            const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            size_t n_path);

/* One value: the field itself, or an element of it. */
static bool value_differs(const Comparison *comparison,
                          const ProtobufCFieldDescriptor *field,
                          const void *a,
                          const void *b,
                          size_t n_path) {
        const ProtobufCMessage *message_a, *message_b;

        if (field->type == PROTOBUF_C_TYPE_STRING)
                return !streq(*(char *const *)a ?: "", *(char *const *)b ?: "");
        if (field->type == PROTOBUF_C_TYPE_BYTES)
                return binary_differs(a, b);
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
                return memcmp(a, b, type_bytes(field->type)) != 0;
        message_a = *(ProtobufCMessage *const *)a;
        message_b = *(ProtobufCMessage *const *)b;
        if (!message_a || !message_b)
                return message_a != message_b;
        return message_differs(comparison, message_a, message_b, n_path);
}

/* Appends to the path at n_path; returns where it ends. */
static size_t
path_put(const Comparison *comparison, size_t n_path, const char *dot, const char *name) {
        int n = snprintf(comparison->path + n_path, CONFIG_PATH_BYTES - n_path, "%s%s", dot, name);

        if (n > 0)
                n_path += (size_t)n;
        return MIN(n_path, (size_t)CONFIG_PATH_BYTES - 1);
}

static bool repeated_differs(const Comparison *comparison,
                             const ProtobufCFieldDescriptor *field,
                             const uint8_t *a,
                             const uint8_t *b,
                             size_t n_path) {
        const size_t n_a = *(const size_t *)(a + field->quantifier_offset);
        const size_t n_b = *(const size_t *)(b + field->quantifier_offset);
        const uint8_t *values_a = *(uint8_t *const *)(a + field->offset);
        const uint8_t *values_b = *(uint8_t *const *)(b + field->offset);
        const size_t n_bytes = type_bytes(field->type);

        for (size_t i = 0; i < MIN(n_a, n_b); i++) {
                char index[32];

                snprintf(index, sizeof(index), "[%zu]", i);
                if (value_differs(comparison,
                                  field,
                                  values_a + i * n_bytes,
                                  values_b + i * n_bytes,
                                  path_put(comparison, n_path, "", index)))
                        return true;
        }
        comparison->path[n_path] = 0;
        return n_a != n_b;
}

static bool unknown_differs(const Comparison *comparison,
                            const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            size_t n_path) {
        const unsigned n = MIN(a->n_unknown_fields, b->n_unknown_fields);
        unsigned i = 0;
        char name[32];

        while (i < n && a->unknown_fields[i].tag == b->unknown_fields[i].tag &&
               a->unknown_fields[i].wire_type == b->unknown_fields[i].wire_type &&
               a->unknown_fields[i].len == b->unknown_fields[i].len &&
               !memcmp(a->unknown_fields[i].data,
                       b->unknown_fields[i].data,
                       a->unknown_fields[i].len))
                i++;
        if (i == a->n_unknown_fields && i == b->n_unknown_fields)
                return false;
        snprintf(name,
                 sizeof(name),
                 "%u",
                 i < a->n_unknown_fields ? a->unknown_fields[i].tag : b->unknown_fields[i].tag);
        path_put(comparison, n_path, n_path > 0 ? "." : "", name);
        return true;
}

static bool message_differs(const Comparison *comparison,
                            const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            size_t n_path) {
        const ProtobufCMessageDescriptor *message = a->descriptor;

        for (unsigned i = 0; i < message->n_fields; i++) {
                const ProtobufCFieldDescriptor *field = &message->fields[i];
                const uint8_t *at_a = (const uint8_t *)a, *at_b = (const uint8_t *)b;
                size_t n;

                if (comparison->may_differ(message, field))
                        continue;
                n = path_put(comparison, n_path, n_path > 0 ? "." : "", field->name);
                if (field->label == PROTOBUF_C_LABEL_REPEATED
                            ? repeated_differs(comparison, field, at_a, at_b, n)
                            : value_differs(comparison,
                                            field,
                                            at_a + field->offset,
                                            at_b + field->offset,
                                            n))
                        return true;
        }
        return unknown_differs(comparison, a, b, n_path);
}

bool config_find_difference(const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            ConfigMayDiffer may_differ,
                            char ret_path[static CONFIG_PATH_BYTES]) {
        const Comparison comparison = { may_differ, ret_path };

        ret_path[0] = 0;
        return message_differs(&comparison, a, b, 0);
}
