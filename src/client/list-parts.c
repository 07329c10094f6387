/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parts of lists: what "desktrace list" is made of, the options that all lists share, and cells of several words */

#include <glib/gi18n.h>
#include <string.h>

#include "client/list-parts.h"
#include "client/say.h"

static gboolean arg_sources, arg_no_start, arg_long;

const GOptionEntry list_options[] = {
        { "sources",
          0,
          0,
          G_OPTION_ARG_NONE,
          &arg_sources,
          N_("same as the argument 'sources'"),
          NULL },
        { "no-start",
          0,
          0,
          G_OPTION_ARG_NONE,
          &arg_no_start,
          N_("do not start producers just to query them"),
          NULL },
        { "long",
          'l',
          0,
          G_OPTION_ARG_NONE,
          &arg_long,
          N_("also show the numbers and fields of events"),
          NULL },
        { 0 },
};

bool list_is_of_sources(void) {
        return arg_sources;
}

bool list_may_start(void) {
        return !arg_no_start;
}

bool list_is_long(void) {
        return arg_long;
}

void list_add_strings(Table *table, char *const *strings) {
        g_autofree char *text = strings && *strings ? g_strjoinv(", ", (char **)strings) : NULL;

        table_add(table, text);
}

void list_write_string(JsonWriter *writer, const char *key, const char *value) {
        g_autofree char *clean = value ? say_clean(value, strlen(value)) : NULL;

        json_string(writer, key, clean);
}

void list_write_strings(JsonWriter *writer, const char *key, char *const *strings) {
        json_begin_array(writer, key);
        for (; strings && *strings; strings++)
                list_write_string(writer, NULL, *strings);
        json_end_array(writer);
}
