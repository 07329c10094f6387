/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A row is collected for each category of each producer; identical rows are merged in the reply. All text lies within
 * the producers' descriptors, and nothing waits in between, so nothing is copied.
 */

#include <errno.h>
#include <stdlib.h>

#include "bus/link/bus.h"
#include "bus/object/bus-categories.h"
#include "core/model/categories.h"
#include "shared/names.h"

struct CategoryRow {
        Category category;
        const char *path; /* of its producer */
};

void category_rows_deinit(CategoryRows *rows) {
        free(rows->rows);
}

static bool rows_are_full(const CategoryRows *rows, const Category *category) {
        return rows->n == BUS_CATEGORIES_MAX || rows->n_of_producer == BUS_CATEGORIES_OF_ONE_MAX ||
               category->n_message > BUS_CATEGORIES_BYTES_MAX - rows->n_bytes;
}

/* Rows beyond the limits are left out: the list is for people to look at. */
static int rows_add(void *userdata, const Category *category) {
        CategoryRows *rows = userdata;

        if (rows_are_full(rows, category))
                return 0;
        if (rows->n == rows->n_allocated) {
                const size_t n = MAX(2 * rows->n_allocated, (size_t)64);
                CategoryRow *grown = reallocarray(rows->rows, n, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                rows->rows = grown;
                rows->n_allocated = n;
        }
        rows->rows[rows->n++] = (CategoryRow){ *category, rows->path };
        rows->n_of_producer++;
        rows->n_bytes += category->n_message;
        return 0;
}

/* A program that has not described its categories may still have sent their names. */
static int rows_add_names(CategoryRows *rows, const char *const *names) {
        int r = 0;

        for (; r == 0 && names && *names; names++)
                r = rows_add(rows, &(Category){ .name = *names, .n_name = strlen(*names) });
        return r;
}

static int rows_add_source(CategoryRows *rows, const Producer *producer, size_t i) {
        const void *descriptor;
        size_t n_descriptor;
        int r;

        rows->n_of_producer = 0;
        descriptor = producer_source_descriptor(producer, i, &n_descriptor);
        r = descriptor ? categories_read(descriptor, n_descriptor, rows_add, rows) : 0;
        if (r == 0 && rows->n_of_producer == 0)
                r = rows_add_names(rows, producer_source_categories(producer, i));
        return r;
}

int category_rows_add(CategoryRows *rows, const Producer *producer, const char *path) {
        int r = 0;

        rows->path = path;
        for (size_t i = 0; r == 0 && i < producer_n_sources(producer); i++)
                if (streq(producer_source_name(producer, i), TRACING_TRACK_EVENT_SOURCE))
                        r = rows_add_source(rows, producer, i);
        return r;
}

static int compare_bytes(const void *a, size_t n_a, const void *b, size_t n_b) {
        const size_t n = MIN(n_a, n_b);
        const int order = n > 0 ? memcmp(a, b, n) : 0;

        return order ? order : n_a < n_b ? -1 : n_a > n_b;
}

static int compare_categories(const Category *a, const Category *b) {
        const int order = compare_bytes(a->name, a->n_name, b->name, b->n_name);

        return order ? order : compare_bytes(a->message, a->n_message, b->message, b->n_message);
}

static int compare_rows(const void *a, const void *b) {
        const CategoryRow *x = a, *y = b;
        const int order = compare_categories(&x->category, &y->category);

        return order ? order : strcmp(x->path, y->path);
}

/*
 * The reply
 */

static int append_tag(void *reply, const char *tag) {
        return sd_bus_message_append(reply, "s", tag);
}

static int append_tags(sd_bus_message *reply, const Category *category) {
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "tags");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "s");
        if (r >= 0)
                r = category_tags(category, append_tag, reply);
        for (int level = 0; r >= 0 && level < 3; level++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_details(sd_bus_message *reply, const Category *category) {
        _cleanup_(freep) char *description = NULL;
        int r;

        r = category_description(&description, category);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0 && description)
                r = sd_bus_message_append(reply, "{sv}", "description", "s", description);
        if (r >= 0)
                r = append_tags(reply, category);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_producers(sd_bus_message *reply, const CategoryRow *rows, size_t n) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (i == 0 || !streq(rows[i].path, rows[i - 1].path))
                        r = sd_bus_message_append(reply, "o", rows[i].path);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_category(sd_bus_message *reply, const CategoryRow *rows, size_t n) {
        const Category *category = &rows[0].category;
        _cleanup_(freep) char *name = strndup(category->name, category->n_name);
        int r;

        if (!name)
                return -ENOMEM;
        r = sd_bus_message_open_container(reply, 'r', "saoa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", name);
        if (r >= 0)
                r = append_producers(reply, rows, n);
        if (r >= 0)
                r = append_details(reply, category);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int category_rows_append(CategoryRows *rows, sd_bus_message *reply) {
        size_t end;
        int r;

        if (rows->n > 0)
                qsort(rows->rows, rows->n, sizeof(*rows->rows), compare_rows);
        r = sd_bus_message_open_container(reply, 'a', "(saoa{sv})");
        for (size_t i = 0; r >= 0 && i < rows->n; i = end) {
                for (end = i + 1; end < rows->n; end++)
                        if (compare_categories(&rows->rows[i].category, &rows->rows[end].category))
                                break;
                r = append_category(reply, &rows->rows[i], end - i);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
