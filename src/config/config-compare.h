/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config compare: the first difference between two configs
 *
 * The meaning is compared: a missing field equals one with its default value, as everywhere in protobuf. Unknown fields
 * are compared byte by byte.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#define CONFIG_PATH_BYTES 160

/* Whether the field may differ; if so, it is skipped. */
typedef bool (*ConfigMayDiffer)(const ProtobufCMessageDescriptor *message,
                                const ProtobufCFieldDescriptor *field);

/* Finds the first difference between two messages of one type, and its path, such as "data_sources[1].config.name".
 * Longer paths are cut. */
bool config_find_difference(const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            ConfigMayDiffer may_differ,
                            char ret_path[static CONFIG_PATH_BYTES]);
