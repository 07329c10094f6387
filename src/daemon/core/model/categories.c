/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading the categories in a descriptor that a program has written. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/categories.h"
#include "shared/macro.h"
#include "shared/utf8.h"
#include "wire/wire-reader.h"

enum {
        DESCRIPTOR_TRACK_EVENT = 6,
        TRACK_EVENT_CATEGORIES = 1,
        CATEGORY_NAME = 1,
        CATEGORY_DESCRIPTION = 2,
        CATEGORY_TAGS = 3,
};

static bool read_category(Category *ret, const WireField *message) {
        WireReader reader;
        WireField field;

        *ret = (Category){ .message = message->data, .n_message = message->n_bytes };
        wire_reader_init_field(&reader, message);
        while (!ret->name && wire_read(&reader, &field) > 0)
                if (field.number == CATEGORY_NAME && field.type == WIRE_BYTES) {
                        ret->name = (const char *)field.data;
                        ret->n_name = field.n_bytes;
                }
        return ret->n_name > 0 && utf8_is_valid((const uint8_t *)ret->name, ret->n_name);
}

static int read_track_event(const WireField *track_event,
                            int (*found)(void *userdata, const Category *category),
                            void *userdata) {
        WireReader reader;
        WireField field;
        int r = 0;

        wire_reader_init_field(&reader, track_event);
        while (r == 0 && wire_read(&reader, &field) > 0) {
                Category category;

                if (field.number == TRACK_EVENT_CATEGORIES && field.type == WIRE_BYTES &&
                    read_category(&category, &field))
                        r = found(userdata, &category);
        }
        return r;
}

int categories_read(const void *descriptor,
                    size_t n_descriptor,
                    int (*found)(void *userdata, const Category *category),
                    void *userdata) {
        WireReader reader;
        WireField field;
        int r = 0;

        wire_reader_init(&reader, descriptor, n_descriptor);
        while (r == 0 && wire_read(&reader, &field) > 0)
                if (field.number == DESCRIPTOR_TRACK_EVENT && field.type == WIRE_BYTES)
                        r = read_track_event(&field, found, userdata);
        return r;
}

/* Replaces what sd-bus would refuse to send. */
static char *copy_line(const WireField *field, size_t n_max) {
        _cleanup_(freep) char *text = strndup((const char *)field->data, field->n_bytes);

        return text ? utf8_copy_line(text, n_max) : NULL;
}

int category_description(char **ret, const Category *category) {
        WireReader reader;
        WireField field;

        *ret = NULL;
        wire_reader_init(&reader, category->message, category->n_message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number != CATEGORY_DESCRIPTION || field.type != WIRE_BYTES ||
                    field.n_bytes == 0)
                        continue;
                *ret = copy_line(&field, CATEGORY_DESCRIPTION_MAX);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}

int category_tags(const Category *category,
                  int (*found)(void *userdata, const char *tag),
                  void *userdata) {
        WireReader reader;
        WireField field;
        size_t n = 0;
        int r = 0;

        wire_reader_init(&reader, category->message, category->n_message);
        while (r >= 0 && n < CATEGORY_TAGS_MAX && wire_read(&reader, &field) > 0) {
                _cleanup_(freep) char *tag = NULL;

                if (field.number != CATEGORY_TAGS || field.type != WIRE_BYTES || field.n_bytes == 0)
                        continue;
                tag = copy_line(&field, CATEGORY_TAG_MAX);
                r = tag ? found(userdata, tag) : -ENOMEM;
                n++;
        }
        return r < 0 ? r : 0;
}
