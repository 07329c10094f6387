/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CategoryRows: what producers say of their categories, for the reply to ListCategories()
 *
 * Nothing is copied: rows live no longer than their producers, and are made and sent within one call.
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

/* `path`: the producer's object. What is beyond the limits (BUS_CATEGORIES_MAX) is left out. 0 or -ENOMEM. */
int category_rows_add(CategoryRows *rows, const Producer *producer, const char *path);

/* As a(saoa{sv}), sorted by name. An errno, or not negative. */
int category_rows_append(CategoryRows *rows, sd_bus_message *reply);
