/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Text value: one scalar of protobuf text format, read and serialized
 */

#include <protobuf-c/protobuf-c.h>

#include "config/text-lexer.h"

int text_value_put_varint(Bytes *out, uint64_t value);
int text_value_put_tag(Bytes *out, uint32_t number, ProtobufCWireType type);

/* Reads the value of a known field, of any type but a message, and appends the field. Steps over what it read.
 * Returns 0, CONFIG_E_INVALID or -ENOMEM. */
int text_value_parse(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out);

/* Reads the value of a field that is only known by number; the type follows from the notation (text-format.h). */
int text_value_parse_unknown(TextLexer *lexer, uint32_t number, Bytes *out);
