/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Categories: the categories of a program, as the descriptor of its track_event source lists them
 *
 * perfetto.protos.TrackEventDescriptor, within a DataSourceDescriptor. Programs write it, so invalid parts are skipped:
 * fields that cannot be decoded, and names that no D-Bus string could hold.
 */

#include <stddef.h>
#include <stdint.h>

#define CATEGORY_DESCRIPTION_MAX 512 /* bytes; the rest is cut off */
#define CATEGORY_TAGS_MAX        16
#define CATEGORY_TAG_MAX         128 /* bytes */

/* All within the descriptor. */
typedef struct Category {
        const char *name; /* UTF-8, without a NUL in it or after it */
        size_t n_name;
        const uint8_t *message; /* the whole category */
        size_t n_message;
} Category;

/* Calls `found` for each, in order. Returns 0, or the first value other than 0 that `found` returned. */
int categories_read(const void *descriptor,
                    size_t n_descriptor,
                    int (*found)(void *userdata, const Category *category),
                    void *userdata);

/* For people, on one line. NULL in *ret: it says nothing. Returns 0 or -ENOMEM. */
int category_description(char **ret, const Category *category);
/* Calls `found` for each tag, as such a line, which is freed afterwards. Returns 0, -ENOMEM, or the first negative
 * value that `found` returned. */
int category_tags(const Category *category,
                  int (*found)(void *userdata, const char *tag),
                  void *userdata);
