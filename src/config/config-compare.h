/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * In what two configs differ
 *
 * Compared is what they say: a field that is not there is as one with its default value, as in all of protobuf.
 * Fields that are not known are compared as they are.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#define CONFIG_PATH_BYTES 160

/* Whether the field may differ: then it is not looked at. */
typedef bool (*ConfigMayDiffer)(const ProtobufCMessageDescriptor *message,
                                const ProtobufCFieldDescriptor *field);

/* Finds the first difference of two messages of one type, and says where it is: "data_sources[1].config.name". Longer
 * paths are cut. */
bool config_find_difference(const ProtobufCMessage *a,
                            const ProtobufCMessage *b,
                            ConfigMayDiffer may_differ,
                            char ret_path[static CONFIG_PATH_BYTES]);
