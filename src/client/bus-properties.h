/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus properties: a{sv} into the members of a struct, by a table
 */

#include <stddef.h>
#include <systemd/sd-bus.h>

#include "client/bus-client.h"

typedef struct PropertyRow {
        const char *name;
        const char *signature;
        size_t offset;
        int (*read)(sd_bus_message *message, void *member); /* inside of the variant */
} PropertyRow;

/* A member is replaced; strings and lists are owned by the struct. */
int property_read_string(sd_bus_message *message, void *member);  /* char * */
int property_read_strings(sd_bus_message *message, void *member); /* char ** */
int property_read_uint32(sd_bus_message *message, void *member);
int property_read_uint64(sd_bus_message *message, void *member);
int property_read_bool(sd_bus_message *message, void *member); /* bool */

/* Reads one a{sv}. Entries that are not in the table, or have another type, are skipped. Returns 0 or an errno. */
int properties_read(sd_bus_message *message, const PropertyRow *rows, size_t n_rows, void *object);

/* Properties.GetAll(). Reports errors. */
ExitStatus properties_get(const BusClient *client,
                          const char *path,
                          const char *interface,
                          const PropertyRow *rows,
                          size_t n_rows,
                          void *object);
