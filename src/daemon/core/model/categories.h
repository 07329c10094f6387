/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Categories: what the descriptor of a track_event source says of those that its program has
 *
 * perfetto.protos.TrackEventDescriptor, within a DataSourceDescriptor. Programs write it, so whatever is not as it
 * should be is passed over: what cannot be decoded, and names that no D-Bus string could hold.
 */

#include <stddef.h>
#include <stdint.h>

#define CATEGORY_DESCRIPTION_MAX 512 /* bytes; the rest is cut off */
#define CATEGORY_TAGS_MAX        16
#define CATEGORY_TAG_MAX         128 /* bytes */

/* All within the descriptor. */
typedef struct Category {
        const char *name; /* UTF-8 without a NUL, and none behind it */
        size_t n_name;
        const uint8_t *message; /* the whole category */
        size_t n_message;
} Category;

/* Each in its order. 0, or what `found` returned that is not 0. */
int categories_read(const void *descriptor,
                    size_t n_descriptor,
                    int (*found)(void *userdata, const Category *category),
                    void *userdata);

/* For people, on one line. NULL in *ret: it says nothing. 0 or -ENOMEM. */
int category_description(char **ret, const Category *category);
/* Each tag, as such a line that is gone afterwards. 0, -ENOMEM, or what `found` returned that is negative. */
int category_tags(const Category *category,
                  int (*found)(void *userdata, const char *tag),
                  void *userdata);
