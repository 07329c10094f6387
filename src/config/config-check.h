/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config check: looks through serialized messages before protobuf-c may unpack them
 *
 * Unpacking allocates for what the bytes claim and says nothing about what was wrong. So the bytes
 * are walked first, by the same descriptors, without allocating: framing, wire types, nesting, the
 * number of fields, and text that is text (UTF-8 without NUL, as it travels in D-Bus strings).
 *
 * A submessage that is not repeated may be there only once. Protobuf would merge the two, but then
 * no one slice of the bytes were the submessage.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "config/config-error.h"

#define CONFIG_DEPTH_MAX  32         /* nested messages, in bytes and in text */
#define CONFIG_FIELDS_MAX (1u << 16) /* fields of all messages: each costs memory when unpacked */

typedef struct ConfigField {
        uint32_t number;
        uint8_t wire_type;
        const uint8_t *data; /* the value; of length-delimited fields what is behind the length */
        size_t n_bytes;
} ConfigField;

/* Takes the field at *at and steps over it. 1, 0 at the end, -EBADMSG. */
int config_field_next(const uint8_t **at, const uint8_t *end, ConfigField *ret);

/* Returns 0 or CONFIG_E_INVALID. */
int config_check_bytes(const ProtobufCMessageDescriptor *message,
                       const void *bytes,
                       size_t n_bytes,
                       ConfigError *error);
