/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Option reader: reads the a{sv} of a method into a struct, by a table of options
 *
 * An option that is unknown, given twice or of the wrong type is an error that names it, so a misspelt option never
 * goes unnoticed.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "bus/link/bus-error.h"

#define OPTION_NAMES_MAX 1024 /* of one "as"; a list with more is refused */

/* Which type each D-Bus type is read into:
 *      s   char *, malloc'ed          as  char **, malloc'ed, NULL-terminated
 *      u   uint32_t                   b   bool
 *      h   int, see passed-fd.h       ay  OptionBytes
 */
typedef struct OptionField {
        const char *name;
        const char *type;
        size_t offset;
        bool is_not_zero; /* of a "u": 0 is an error */
} OptionField;

typedef struct OptionBytes {
        uint8_t *data; /* NULL: not given */
        size_t n;
} OptionBytes;

typedef struct OptionTable {
        const char *method; /* for errors */
        const OptionField *fields;
        size_t n_fields; /* at most 64 */
} OptionTable;

/* *ret_given has a bit for each field, by its place in the table. Returns 0, or a negative errno with *error set;
 * the caller frees what was read in any case. */
int options_read(const OptionTable *table,
                 void *options,
                 uint64_t *ret_given,
                 sd_bus_message *message,
                 sd_bus_error *error);
