/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CategoryRows: what producers report about their categories, for the reply to ListCategories()
 *
 * Nothing is copied: rows are made and sent within one call, and do not outlive their producers.
 */

#include <systemd/sd-bus.h>

#include "core/producer.h"

typedef struct CategoryRow CategoryRow;

typedef struct CategoryRows {
        CategoryRow *rows;
        size_t n, n_allocated, n_bytes;
        const char *path; /* of the producer that is being read */
        size_t n_of_producer;
} CategoryRows;

void category_rows_deinit(CategoryRows *rows);

/* `path` is the producer's object. Rows beyond the limits (BUS_CATEGORIES_MAX) are left out. Returns 0 or -ENOMEM. */
int category_rows_add(CategoryRows *rows, const Producer *producer, const char *path);

/* Appends a(saoa{sv}), sorted by name. A negative errno if that fails. */
int category_rows_append(CategoryRows *rows, sd_bus_message *reply);
