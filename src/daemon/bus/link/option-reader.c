/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One loop over the a{sv}: each option is found in the table, its type is checked, and its value stored at its offset.
 */

#include <errno.h>
#include <stdlib.h>

#include "bus/link/names-read.h"
#include "bus/link/option-reader.h"
#include "shared/text.h"

#define OPTIONS_MAX 64

static int option_unknown(const OptionTable *table, const char *name, sd_bus_error *error) {
        const char *names[OPTIONS_MAX], *nearest;

        for (size_t i = 0; i < table->n_fields; i++)
                names[i] = table->fields[i].name;
        nearest = text_nearest(name, names, table->n_fields);
        if (nearest)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "unknown option \"%s\"; did you mean \"%s\"?",
                                     name,
                                     nearest);
        return bus_error_set(error,
                             BUS_ERROR_BAD_CONFIG,
                             "unknown option \"%s\"; %s()'s documentation lists them",
                             name,
                             table->method);
}

static int option_find(size_t *ret,
                       const OptionTable *table,
                       const char *name,
                       uint64_t given,
                       sd_bus_error *error) {
        for (size_t i = 0; i < table->n_fields; i++) {
                if (!streq(table->fields[i].name, name))
                        continue;
                if (given & UINT64_C(1) << i)
                        return bus_error_set(error,
                                             BUS_ERROR_BAD_CONFIG,
                                             "option \"%s\" is given twice; give it once",
                                             name);
                *ret = i;
                return 0;
        }
        return option_unknown(table, name, error);
}

static int
option_check_type(sd_bus_message *message, const OptionField *field, sd_bus_error *error) {
        const char *contents;
        char type;
        int r;

        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
                return r;
        if (type != 'v' || !streq(contents, field->type))
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\" has D-Bus type \"%s\"; it must be \"%s\"",
                                     field->name,
                                     type == 'v' ? contents : "?",
                                     field->type);
        return 0;
}

static int read_string(sd_bus_message *message, char **ret) {
        const char *value;
        int r;

        r = sd_bus_message_read(message, "s", &value);
        if (r < 0)
                return r;
        *ret = strdup(value);
        return *ret ? 0 : -ENOMEM;
}

static int read_bytes(sd_bus_message *message, OptionBytes *ret) {
        const void *data;
        size_t n;
        int r;

        r = sd_bus_message_read_array(message, 'y', &data, &n);
        if (r < 0)
                return r;
        ret->data = malloc(n + 1);
        if (!ret->data)
                return -ENOMEM;
        if (n > 0)
                memcpy(ret->data, data, n);
        ret->n = n;
        return 0;
}

static int read_bool(sd_bus_message *message, bool *ret) {
        int value, r;

        r = sd_bus_message_read(message, "b", &value);
        *ret = r > 0 && value;
        return r;
}

static int
read_names(sd_bus_message *message, const char *option, char ***ret, sd_bus_error *error) {
        size_t n;
        int r;

        r = names_read(ret, &n, message, OPTION_NAMES_MAX);
        if (r != NAMES_E_TOO_MANY)
                return r;
        return bus_error_set(
                error,
                BUS_ERROR_LIMIT_EXCEEDED,
                "option \"%s\" has more than %d names (OPTION_NAMES_MAX); use \"*\" in "
                "names, or pass a config",
                option,
                OPTION_NAMES_MAX);
}

static int option_read_value(void *options,
                             const OptionField *field,
                             sd_bus_message *message,
                             sd_bus_error *error) {
        void *at = (char *)options + field->offset;

        if (streq(field->type, "s"))
                return read_string(message, at);
        if (streq(field->type, "u"))
                return sd_bus_message_read(message, "u", at);
        if (streq(field->type, "as"))
                return read_names(message, field->name, at, error);
        if (streq(field->type, "h"))
                return sd_bus_message_read(message, "h", at);
        if (streq(field->type, "b"))
                return read_bool(message, at);
        return read_bytes(message, at);
}

/* 0 would be read as "not given", and the user be surprised by the default. */
static int option_check_value(const void *options, const OptionField *field, sd_bus_error *error) {
        uint32_t value;

        if (!field->is_not_zero)
                return 0;
        memcpy(&value, (const char *)options + field->offset, sizeof(value));
        if (value == 0)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\" is 0; leave it out for the default",
                                     field->name);
        return 0;
}

static int option_read(const OptionTable *table,
                       void *options,
                       uint64_t *given,
                       sd_bus_message *message,
                       sd_bus_error *error) {
        const char *name;
        size_t i = 0;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = option_find(&i, table, name, *given, error);
        if (r < 0)
                return r;
        r = option_check_type(message, &table->fields[i], error);
        if (r < 0)
                return r;
        *given |= UINT64_C(1) << i;
        r = sd_bus_message_enter_container(message, 'v', table->fields[i].type);
        if (r < 0)
                return r;
        r = option_read_value(options, &table->fields[i], message, error);
        if (r < 0)
                return r;
        r = option_check_value(options, &table->fields[i], error);
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(message);
}

int options_read(const OptionTable *table,
                 void *options,
                 uint64_t *ret_given,
                 sd_bus_message *message,
                 sd_bus_error *error) {
        int r;

        *ret_given = 0;
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = option_read(table, options, ret_given, message, error);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(message);
}
