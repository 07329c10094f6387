/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Lists of names: the kernel's events, and programs' categories
 */

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>

#include "client/category-view.h"
#include "client/event-formats.h"
#include "client/event-view.h"
#include "client/list-names.h"
#include "client/reason.h"
#include "client/say.h"
#include "shared/text.h"

/*
 * Events: the probes know them, and so does the service once the probes have listed them. Their fields are looked
 * up when they are asked for.
 */

typedef struct ListedEvent {
        char *name;
        uint64_t id;   /* 0: not known */
        char **fields; /* as the kernel declares them: "int prev_prio"; NULL: not known */
} ListedEvent;

static const TableColumn event_columns[] = { { N_("EVENT") },
                                             { N_("ID"), true },
                                             { N_("FIELDS") } };

/* Leaves out the type, the array's length, and the star of a pointer. */
static char *field_name(const char *declaration) {
        g_autofree char *text = g_strndup(declaration, strcspn(declaration, "["));
        const char *space, *rest = strchr(declaration, ']');

        g_strchomp(text);
        if (rest && rest[1] == ' ') /* "__data_loc char[] name" */
                return g_strdup(rest + 2);
        space = strrchr(text, ' ');
        return g_strdup(space ? space + 1 + (space[1] == '*') : text);
}

static void add_event(Table *table, const void *item) {
        const ListedEvent *event = item;
        g_autoptr(GStrvBuilder) names = g_strv_builder_new();
        g_auto(GStrv) fields = NULL;

        table_add(table, event->name);
        if (table->n_columns == 1)
                return;
        if (event->id)
                table_add_format(table, "%" G_GUINT64_FORMAT, event->id);
        else
                table_add(table, NULL);
        for (char **field = event->fields; field && *field; field++) {
                g_autofree char *name = field_name(*field);

                g_strv_builder_add(names, name);
        }
        fields = g_strv_builder_end(names);
        list_add_strings(table, fields);
}

static void write_event(JsonWriter *writer, const void *item) {
        const ListedEvent *event = item;

        list_write_string(writer, "name", event->name);
        if (!event->fields)
                return;
        json_uint(writer, "id", event->id);
        list_write_strings(writer, "fields", event->fields);
}

static void event_clear(gpointer item) {
        ListedEvent *event = item;

        g_free(event->name);
        g_strfreev(event->fields);
}

/* An empty list is not an error here. */
static void say_how_current(const ViewEvents *events) {
        g_autofree char *translated = events->why ? reason_translate(events->why) : NULL;
        g_autofree char *why = translated ? say_clean(translated, strlen(translated)) : NULL;

        if (events->is_current)
                return;
        if (events->names->len > 0)
                say_error(_("these are the kernel's events as of the last recording: %s"),
                          why ? why : "");
        else
                say_error(_("the kernel's events are not known: %s"),
                          why ? why : _("the service is too old to list them"));
        if (events->names->len == 0)
                say_hint(_(
                        "\"sudo desktrace list events\" asks; everybody sees them from then on."));
}

static ExitStatus get_events(GArray **ret, const BusClient *client) {
        _cleanup_(view_events_deinit) ViewEvents events = { 0 };
        GArray *list;
        ExitStatus status;

        status = view_list_events(&events, client, list_may_start());
        if (status)
                return status;
        if (list_may_start())
                say_how_current(&events);
        list = g_array_new(FALSE, TRUE, sizeof(ListedEvent));
        g_array_set_clear_func(list, event_clear);
        for (guint i = 0; i < events.names->len; i++) {
                const ListedEvent event = { .name = g_strdup(events.names->pdata[i]) };

                g_array_append_val(list, event);
        }
        *ret = list;
        return STATUS_OK;
}

/* Lines such as "\tfield:int prev_prio;\toffset:28;...". Fields that all events have are left out. */
static char **parse_fields(const char *format) {
        static const char begin[] = "\tfield:";
        g_autoptr(GStrvBuilder) fields = g_strv_builder_new();

        while ((format = strstr(format, begin))) {
                g_autofree char *field = NULL;

                format += strlen(begin);
                field = g_strndup(format, strcspn(format, ";\n"));
                if (!strstr(field, " common_"))
                        g_strv_builder_add(fields, field);
        }
        return g_strv_builder_end(fields);
}

static void describe_event(ListedEvent *event, const char *format) {
        const char *id = strstr(format, "\nID: ");

        event->id = id ? strtoull(id + strlen("\nID: "), NULL, 10) : 0;
        event->fields = parse_fields(format);
}

static ExitStatus describe_events(size_t *n_columns, GArray *list, const Invocation *invocation) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_autoptr(GHashTable) formats = NULL;
        ExitStatus status;

        *n_columns = 1;
        if (!list_is_long() || list->len == 0)
                return STATUS_OK;
        for (guint i = 0; i < list->len; i++)
                g_ptr_array_add(names, g_array_index(list, ListedEvent, i).name);
        status = event_formats_read(&formats, names, invocation);
        for (guint i = 0; !status && i < list->len; i++) {
                ListedEvent *event = &g_array_index(list, ListedEvent, i);
                const char *format = g_hash_table_lookup(formats, event->name);

                if (format)
                        describe_event(event, format);
        }
        *n_columns = ARRAY_SIZE(event_columns);
        return status;
}

const ListKind list_events = {
        "events",    COLUMNS(event_columns), get_events, sizeof(ListedEvent), 0, add_event,
        write_event, describe_events,
};

/*
 * Categories: those of programs that run
 */

static const TableColumn category_columns[] = {
        { N_("CATEGORY") },
        { N_("PROGRAMS") },
        { N_("TAGS") },
        { N_("DESCRIPTION") },
};

static void add_category(Table *table, const void *item) {
        const ViewCategory *category = item;

        table_add(table, category->name);
        list_add_strings(table, category->programs);
        list_add_strings(table, category->tags);
        table_add(table, category->description);
}

static void write_category(JsonWriter *writer, const void *item) {
        const ViewCategory *category = item;

        list_write_string(writer, "name", category->name);
        list_write_string(writer, "description", category->description);
        list_write_strings(writer, "tags", category->tags);
        list_write_strings(writer, "programs", category->programs);
}

const ListKind list_categories = {
        "categories",
        COLUMNS(category_columns),
        view_list_categories,
        sizeof(ViewCategory),
        0,
        add_category,
        write_category,
        NULL,
};
