/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace list: programs, data sources, categories, kernel events and sessions */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/doctor-points.h"
#include "client/list-names.h"
#include "client/list-parts.h"
#include "client/reason.h"
#include "client/record-request.h"
#include "client/say.h"
#include "client/service-view.h"
#include "client/standalone.h"
#include "client/time-option.h"
#include "client/verbs.h"
#include "config/preset.h"
#include "shared/names.h"
#include "shared/text.h"

static const TableColumn source_columns[] = {
        { N_("DATA SOURCE") }, { N_("PRODUCERS"), true }, { N_("STARTS") },
        { N_("NEEDS") },       { N_("AVAILABLE") },       { N_("DETAILS") },
};

/* -1: its producer is not running and was not asked. The service's own source needs none. */
static int source_is_available(const ViewSource *source) {
        if (source->unavailable)
                return 0;
        return source->producers[0] || streq(source->name, TRACING_SELF_SOURCE) ? 1 : -1;
}

static void add_reason(Table *table, const char *reason) {
        g_autofree char *translated = reason_translate(reason);

        table_add(table, translated);
}

static void add_source(Table *table, const void *item) {
        const ViewSource *source = item;
        int available = source_is_available(source);

        table_add(table, source->name);
        table_add_format(table, "%u", g_strv_length(source->producers));
        table_add(table, source->is_activatable ? _("on demand") : NULL);
        table_add(table, source->is_system ? "trace-system" : NULL);
        table_add(table, available < 0 ? NULL : available ? _("yes") : _("no"));
        if (source->unavailable)
                add_reason(table, source->unavailable);
        else
                list_add_strings(table, source->categories);
}

static void write_source(JsonWriter *writer, const void *item) {
        const ViewSource *source = item;

        list_write_string(writer, "name", source->name);
        list_write_strings(writer, "producers", source->producers);
        json_bool(writer, "activatable", source->is_activatable);
        json_bool(writer, "system", source->is_system);
        if (source_is_available(source) >= 0)
                json_bool(writer, "available", source_is_available(source));
        else
                json_string(writer, "available", NULL);
        list_write_string(writer, "unavailable", source->unavailable);
        list_write_strings(writer, "categories", source->categories);
}

static const TableColumn producer_columns[] = {
        { N_("PID"), true },    { N_("USER") },       { N_("PROGRAM") },
        { N_("MEMORY"), true }, { N_("BELONGS TO") }, { N_("DATA SOURCES") },
};

/* Adds the one name that tells most about where the producer runs. Users choose the names of units and containers, so
 * these are not trusted. */
static void add_home(Table *table, const ViewProducer *producer) {
        const char *const homes[] = { producer->app, producer->container, producer->unit };

        for (size_t i = 0; i < G_N_ELEMENTS(homes); i++)
                if (homes[i] && *homes[i]) {
                        g_autofree char *clean = say_clean(homes[i], strlen(homes[i]));

                        table_add(table, clean);
                        return;
                }
        table_add(table, NULL);
}

static void add_producer(Table *table, const void *item) {
        const ViewProducer *producer = item;
        g_autofree char *user = view_user_name(producer->uid);
        char size[TEXT_SIZE_BYTES];

        table_add_format(table, "%" PRIu32, producer->pid);
        table_add(table, user);
        table_add(table, producer->name);
        table_add(table,
                  producer->n_memory_bytes ? text_format_size(size, producer->n_memory_bytes)
                                           : NULL);
        add_home(table, producer);
        list_add_strings(table, producer->sources);
}

static void write_producer(JsonWriter *writer, const void *item) {
        const ViewProducer *producer = item;

        json_string(writer, "path", producer->path);
        json_uint(writer, "pid", producer->pid);
        json_uint(writer, "uid", producer->uid);
        list_write_string(writer, "name", producer->name);
        list_write_string(writer, "unit", producer->unit);
        list_write_string(writer, "app", producer->app);
        list_write_string(writer, "container", producer->container);
        json_uint(writer, "memory_bytes", producer->n_memory_bytes);
        list_write_strings(writer, "sources", producer->sources);
}

static const TableColumn session_columns[] = {
        { N_("SESSION"), true }, { N_("NAME") },       { N_("USER") },       { N_("STATE") },
        { N_("DETACHED") },      { N_("SCOPE") },      { N_("AGE"), true },  { N_("ENDS"), true },
        { N_("SOURCES"), true }, { N_("SIZE"), true }, { N_("LOST"), true },
};

static uint64_t boot_clock_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Whole seconds between two times of the boot clock. Nothing if one is unknown or they are in the wrong order. */
static void add_time(Table *table, const char *format, uint64_t from_ns, uint64_t to_ns) {
        char text[TIME_OPTION_BYTES];

        if (from_ns == 0 || to_ns <= from_ns)
                table_add(table, NULL);
        else
                table_add_format(table,
                                 format,
                                 time_option_format(text, (to_ns - from_ns) / 1000000000 * 1000));
}

/* A snapshot shows which session it was taken from. */
static void add_session_name(Table *table, const SessionInfo *session) {
        if (session->cloned_from)
                table_add_format(table, _("(snapshot of %" PRIu64 ")"), session->cloned_from);
        else
                table_add(table, session->name && *session->name ? session->name : NULL);
}

static void add_session(Table *table, const void *item) {
        const SessionInfo *session = item;
        g_autofree char *user = view_user_name(session->owner_uid);
        char size[TEXT_SIZE_BYTES];

        table_add_format(table, "%" PRIu64, session->id);
        add_session_name(table, session);
        table_add(table, user);
        table_add(table, session->state);
        table_add(table, session->is_detached ? _("yes") : NULL);
        table_add(table, session->scope);
        add_time(table, "%s", session->start_ns, boot_clock_ns());
        add_time(table, _("in %s"), boot_clock_ns(), session->end_ns);
        table_add_format(table, "%u", session->sources->len);
        table_add(table, text_format_size(size, session->n_bytes_written));
        table_add_format(table, "%" PRIu64, session->n_chunks_lost + session->n_packets_lost);
}

static void write_session_source(JsonWriter *writer, const SessionSource *source) {
        json_begin_object(writer, NULL);
        list_write_string(writer, "source", source->source);
        list_write_string(writer, "producer", source->producer);
        json_uint(writer, "uid", source->uid);
        json_uint(writer, "pid", source->pid);
        list_write_string(writer, "state", source->state);
        json_end_object(writer);
}

static void write_session_note(JsonWriter *writer, const SessionNote *note) {
        json_begin_object(writer, NULL);
        list_write_string(writer, "source", note->source);
        list_write_string(writer, "producer", note->producer);
        json_uint(writer, "uid", note->uid);
        json_uint(writer, "pid", note->pid);
        list_write_string(writer, "text", note->text);
        json_end_object(writer);
}

static void write_session(JsonWriter *writer, const void *item) {
        const SessionInfo *session = item;

        json_uint(writer, "id", session->id);
        list_write_string(writer, "name", session->name);
        json_uint(writer, "uid", session->owner_uid);
        list_write_string(writer, "state", session->state);
        list_write_string(writer, "stop_reason", session->stop_reason);
        list_write_string(writer, "scope", session->scope);
        json_bool(writer, "detached", session->is_detached);
        json_uint(writer, "cloned_from", session->cloned_from);
        json_uint(writer, "start_ns", session->start_ns);
        json_uint(writer, "end_ns", session->end_ns);
        json_uint(writer, "duration_ms", session->duration_ms);
        json_uint(writer, "bytes_written", session->n_bytes_written);
        json_uint(writer, "bytes_output", session->n_bytes_output);
        json_uint(writer, "chunks_lost", session->n_chunks_lost);
        json_uint(writer, "packets_lost", session->n_packets_lost);
        json_begin_array(writer, "sources");
        for (guint i = 0; i < session->sources->len; i++)
                write_session_source(writer, &g_array_index(session->sources, SessionSource, i));
        json_end_array(writer);
        json_begin_array(writer, "notes");
        for (guint i = 0; i < session->notes->len; i++)
                write_session_note(writer, &g_array_index(session->notes, SessionNote, i));
        json_end_array(writer);
}

static const TableColumn preset_columns[] = { { N_("PRESET") }, { N_("DESCRIPTION") } };

static void add_preset(Table *table, const void *item) {
        const Preset *preset = item;

        table_add(table, preset->name);
        table_add(table, *preset->description ? _(preset->description) : NULL);
}

static void write_preset(JsonWriter *writer, const void *item) {
        const Preset *preset = item;

        list_write_string(writer, "name", preset->name);
        list_write_string(writer, "description", preset->description);
}

static void preset_clear(gpointer item) {
        Preset *preset = item;

        free(preset->name);
        free(preset->description);
}

/* What "record -p" would find: presets are read by us, not by the service. */
static ExitStatus get_presets(GArray **ret, const BusClient *client) {
        g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Preset));
        Preset *presets;
        size_t n = 0;
        int r;

        r = presets_list(&presets, &n);
        if (r < 0) {
                say_error(_("cannot list presets: %s"), g_strerror(-r));
                return STATUS_FAILED;
        }
        g_array_set_clear_func(list, preset_clear);
        if (n)
                g_array_append_vals(list, presets, (guint)n);
        free(presets); /* the array; its elements have moved */
        *ret = g_steal_pointer(&list);
        return STATUS_OK;
}

static const ListKind list_sources = {
        "sources",
        COLUMNS(source_columns),
        view_list_sources,
        sizeof(ViewSource),
        offsetof(ViewSource, name),
        add_source,
        write_source,
        NULL,
};

static const ListKind list_producers = {
        "producers",
        COLUMNS(producer_columns),
        view_list_producers,
        sizeof(ViewProducer),
        offsetof(ViewProducer, name),
        add_producer,
        write_producer,
        NULL,
};

static const ListKind list_sessions = {
        "sessions",
        COLUMNS(session_columns),
        view_list_sessions,
        sizeof(SessionInfo),
        offsetof(SessionInfo, name),
        add_session,
        write_session,
        NULL,
};

static const ListKind list_presets = {
        "presets",
        COLUMNS(preset_columns),
        NULL,
        sizeof(Preset),
        offsetof(Preset, name),
        add_preset,
        write_preset,
        NULL,
};

static const ListKind *const kinds[] = {
        &list_sources,   &list_events,   &list_categories,
        &list_producers, &list_sessions, &list_presets,
};

static const void *list_item(const ListKind *kind, const GArray *list, guint i) {
        return list->data + i * kind->n_item;
}

static void print_table(const ListKind *kind,
                        size_t n_columns,
                        const GArray *list,
                        const Invocation *invocation) {
        _cleanup_(table_deinit) Table table = { 0 };

        table_init(&table, kind->columns, n_columns);
        for (guint i = 0; i < list->len; i++)
                kind->add_row(&table, list_item(kind, list, i));
        table_print(&table, invocation->has_legend);
}

static void print_json(const ListKind *kind, const GArray *list, JsonMode mode) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, mode);
        json_begin_array(&writer, NULL);
        for (guint i = 0; i < list->len; i++) {
                json_begin_object(&writer, NULL);
                kind->write(&writer, list_item(kind, list, i));
                json_end_object(&writer);
        }
        json_end_array(&writer);
        json_writer_print(&writer);
}

/*
 * Whom to ask
 */

static bool asks_producers(const ListKind *kind) {
        return kind == &list_sources && list_may_start();
}

/* Nobody has told a private service about the events before. */
static bool needs_own_probes(const ListKind *kind) {
        return asks_producers(kind) || kind == &list_events;
}

static ExitStatus get_list_standalone(GArray **ret, const ListKind *kind) {
        _cleanup_(waiting_deinit) Waiting waiting = { 0 };
        _cleanup_(standalone_deinit) Standalone standalone = STANDALONE_INIT;
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        g_auto(GStrv) sources = record_request_known_probe_sources();
        ExitStatus status;

        status = waiting_init(&waiting);
        if (!status)
                status = standalone_start(&standalone, &client, &waiting);
        if (!status && needs_own_probes(kind))
                status = standalone_start_probes(&standalone, &client, &waiting, sources);
        return status ? status : kind->get(ret, &client);
}

static ExitStatus get_list(GArray **ret, const ListKind *kind, const Invocation *invocation) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        ExitStatus status;

        if (!kind->get)
                return get_presets(ret, NULL);
        if (invocation->bus == BUS_CHOICE_STANDALONE) {
                status = get_list_standalone(ret, kind);
                waiting_allow_signals();
                return status;
        }
        status = bus_client_open(&client, invocation);
        if (!status && asks_producers(kind))
                status = view_activate_producers(&client);
        else if (!status)
                view_await_producers(&client);
        return status ? status : kind->get(ret, &client);
}

/*
 * GLOB: a pattern with "*" and "?". Without a "/" it may also be that of an event's name in any group.
 */

static bool name_matches(const char *name, GPatternSpec *pattern, bool has_slash) {
        const char *slash = strchr(name, '/');

        if (g_pattern_spec_match_string(pattern, name))
                return true;
        return slash && !has_slash && g_pattern_spec_match_string(pattern, slash + 1);
}

static void list_choose(GArray *list, const ListKind *kind, const char *glob) {
        g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(glob);

        for (guint i = list->len; i > 0; i--) {
                const char *item = list_item(kind, list, i - 1);
                const char *name = *(char *const *)(item + kind->name_offset);

                if (!name || !name_matches(name, pattern, strchr(glob, '/') != NULL))
                        g_array_remove_index(list, i - 1);
        }
}

/* This is for people; programs see null. */
static void say_unknown_sources(const ListKind *kind, const GArray *list) {
        if (!asks_producers(kind))
                return;
        for (guint i = 0; i < list->len; i++)
                if (source_is_available(&g_array_index(list, ViewSource, i)) < 0) {
                        say_hint(_(
                                "\"-\" means not known: the program that knows is started only for "
                                "users who may record the system "
                                "(org.desktrace.tracing1.trace-system)"));
                        return;
                }
}

/* This, too, is for people: what a source could show now. */
static void say_shown(const PointFacts *facts, const ViewSource *source) {
        for (guint i = 0; facts && !source->unavailable && i < facts->showings->len; i++) {
                const Showing *showing = facts->showings->pdata[i];
                g_autofree char *sentence = NULL;

                if (!streq(showing->source, source->name))
                        continue;
                sentence = showing_sentence(showing);
                say_hint(sentence);
        }
}

static void say_programs(const ListKind *kind, const GArray *list) {
        _cleanup_(point_facts_freep) PointFacts *facts = NULL;

        if (!asks_producers(kind))
                return;
        facts = point_facts_within_time();
        for (guint i = 0; i < list->len; i++)
                say_shown(facts, &g_array_index(list, ViewSource, i));
}

static ExitStatus print_list(const ListKind *kind, const char *glob, const Invocation *invocation) {
        g_autoptr(GArray) list = NULL;
        ExitStatus status = get_list(&list, kind, invocation);
        size_t n_columns = kind->n_columns;

        if (!status && glob)
                list_choose(list, kind, glob);
        if (!status && kind->describe)
                status = kind->describe(&n_columns, list, invocation);
        if (status)
                return status;
        if (invocation->json == JSON_OFF && (list->len > 0 || !glob)) {
                print_table(kind, n_columns, list, invocation);
                say_unknown_sources(kind, list);
                say_programs(kind, list);
        } else if (invocation->json != JSON_OFF) {
                print_json(kind, list, invocation->json);
        }
        if (list->len > 0 || !glob || invocation->json != JSON_OFF)
                return STATUS_OK;
        say_error(_("nothing in the list of %s matches \"%s\""), kind->name, glob);
        return STATUS_NOT_FOUND;
}

static ExitStatus list_named(const char *name, const char *glob, const Invocation *invocation) {
        const char *names[ARRAY_SIZE(kinds) + 1];

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                names[i] = kinds[i]->name;
                if (streq(kinds[i]->name, name))
                        return print_list(kinds[i], glob, invocation);
        }
        names[ARRAY_SIZE(kinds)] = "probes";
        return usage_unknown(_("unknown list '%s'"), name, names, ARRAY_SIZE(names));
}

/* These do not come from a service but from a program's file, which the probes can read. They print it as text. */
static ExitStatus list_probes(const Invocation *invocation) {
        ExitStatus status = invocation_expect(invocation, 1, 2);

        if (status)
                return status;
        if (!invocation->arguments[1]) {
                say_error(_("'%s' requires an argument: desktrace %s %s"),
                          "list probes",
                          "list probes",
                          "FILE");
                return STATUS_USAGE;
        }
        if (invocation->json != JSON_OFF) {
                say_error(_("static probes cannot be listed as JSON"));
                return STATUS_USAGE;
        }
        status = invocation_check_file(invocation->arguments[1]);
        return status ? status : standalone_list_static_probes(invocation->arguments[1]);
}

ExitStatus verb_list(Invocation *invocation) {
        ExitStatus status;

        status = invocation_parse(invocation, list_options);
        if (status)
                return status;
        if (!list_is_of_sources() && invocation->arguments[0] &&
            streq(invocation->arguments[0], "probes"))
                return list_probes(invocation);
        status = invocation_expect(
                invocation, !list_is_of_sources(), 2 - (size_t)list_is_of_sources());
        if (status)
                return status;
        return list_is_of_sources()
                       ? list_named("sources", invocation->arguments[0], invocation)
                       : list_named(invocation->arguments[0], invocation->arguments[1], invocation);
}
