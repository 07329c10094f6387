/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Protobuf text format, of any message that protobuf-c has descriptors of
 *
 * The reader turns text into serialized bytes and checks it on the way: names, types, ranges, enum
 * values, and that a field which is not repeated is given once. A field that the descriptors do not
 * have can be given by its number, and is printed so:
 *
 *      42: 7        varint         42: 0x00000007          fixed32 (8 hexadecimal digits)
 *      42: "bytes"  length         42: 0x0000000000000007  fixed64 (16 hexadecimal digits)
 *      42 { 1: 7 }  message
 *
 * Not supported: extensions and Any ("[name] { }").
 */

#include <protobuf-c/protobuf-c.h>

#include "config/config-error.h"
#include "shared/bytes.h"

/* Appends the serialized message. Returns 0, CONFIG_E_INVALID or -ENOMEM. */
int text_format_parse(Bytes *out,
                      const ProtobufCMessageDescriptor *message,
                      const char *text,
                      ConfigError *error);

/* Malloc'ed text with one field a line; what text_format_parse() reads back. Returns 0 or -ENOMEM. */
int text_format_print(char **ret, const ProtobufCMessage *message);
