/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/export-stacks.h"

#include <errno.h>

#include "client/export-rows.h"
#include "client/json-writer.h"
#include "trace/trace-store.h"

#define NO_PARENT UINT32_MAX

typedef struct Callsite {
        uint32_t parent, frame;
} Callsite;

typedef struct Stacks {
        GArray *callsites; /* Callsite, by id */
        GPtrArray *frames; /* names, by id */
        char *thread;      /* of the profile that is being written */
        GString *samples, *weights;
        uint64_t n_samples; /* of it */
        bool has_profiles;
} Stacks;

static void stacks_deinit(Stacks *stacks) {
        g_clear_pointer(&stacks->callsites, g_array_unref);
        g_clear_pointer(&stacks->frames, g_ptr_array_unref);
        g_free(stacks->thread);
        if (stacks->samples)
                g_string_free(stacks->samples, TRUE);
        if (stacks->weights)
                g_string_free(stacks->weights, TRUE);
}

static uint32_t column_id(sqlite3_stmt *row, int column) {
        return sqlite3_column_type(row, column) == SQLITE_NULL
                       ? NO_PARENT
                       : (uint32_t)sqlite3_column_int64(row, column);
}

static int take_callsite(Export *export, sqlite3_stmt *row, void *user_data) {
        Stacks *stacks = user_data;
        Callsite callsite = { .parent = column_id(row, 0), .frame = column_id(row, 1) };

        g_array_append_val(stacks->callsites, callsite);
        return 0;
}

static int take_frame(Export *export, sqlite3_stmt *row, void *user_data) {
        Stacks *stacks = user_data;
        char *name = export_text(row, 0);

        g_ptr_array_add(stacks->frames, name ? name : g_strdup("?"));
        return 0;
}

/* Without a name, a frame is where it is in its file. */
static int stacks_load(Stacks *stacks, Export *export) {
        int r = query_load(export->query, TRACE_PART_THREADS | TRACE_PART_STACKS);

        stacks->callsites = g_array_new(FALSE, FALSE, sizeof(Callsite));
        stacks->frames = g_ptr_array_new_with_free_func(g_free);
        if (r == 0)
                r = export_each(
                        export,
                        "SELECT parent_id, frame_id FROM stack_profile_callsite ORDER BY id",
                        take_callsite,
                        stacks);
        if (r == 0)
                r = export_each(
                        export,
                        "SELECT coalesce((SELECT y.name FROM stack_profile_symbol y WHERE "
                        "y.symbol_set_id = f.symbol_set_id LIMIT 1), nullif(f.name, ''), "
                        "m.name || printf('+0x%x', f.rel_pc)) FROM stack_profile_frame f "
                        "LEFT JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY f.id",
                        take_frame,
                        stacks);
        return r;
}

/* Frames of a stack from the inside out; how many. What a file has may be a circle. */
static size_t stack_frames(const Stacks *stacks, uint32_t callsite, uint32_t *ret) {
        size_t n = 0;

        while (callsite < stacks->callsites->len && n < EXPORT_DEPTH_MAX) {
                const Callsite *at = &g_array_index(stacks->callsites, Callsite, callsite);

                if (at->frame < stacks->frames->len)
                        ret[n++] = at->frame;
                callsite = at->parent;
        }
        return n;
}

/*
 * Folded: "program;thread;outer;inner n"
 */

/* Neither what divides frames nor what drives a terminal. */
static void put_folded(FILE *stream, const char *name) {
        for (; *name; name++) {
                unsigned char c = (unsigned char)*name;

                fputc(c == ';' ? ':' : c < 0x20 || c == 0x7f ? '?' : c, stream);
        }
}

/* program, thread, callsite, n */
static int take_folded(Export *export, sqlite3_stmt *row, void *user_data) {
        const Stacks *stacks = user_data;
        uint32_t frames[EXPORT_DEPTH_MAX];
        size_t n = stack_frames(stacks, column_id(row, 2), frames);

        for (int i = 0; i < 2; i++) {
                g_autofree char *name = export_text(row, i);

                if (i > 0)
                        fputc(';', export->stream);
                put_folded(export->stream, name ? name : "?");
        }
        while (n-- > 0) {
                fputc(';', export->stream);
                put_folded(export->stream, g_ptr_array_index(stacks->frames, frames[n]));
        }
        fprintf(export->stream, " %lld\n", (long long)sqlite3_column_int64(row, 3));
        export->n_rows++;
        return 0;
}

int export_folded(Export *export) {
        Stacks stacks = { 0 };
        int r = stacks_load(&stacks, export);
        g_autofree char *range = export_range(export, "s.ts", "s.ts");
        g_autofree char *sql = g_strconcat(
                "SELECT coalesce(p.name, t.name), coalesce(t.name, t.tid), s.callsite_id, count(*) "
                "FROM perf_sample s JOIN thread t ON t.id = s.utid LEFT JOIN process p ON "
                "p.id = t.upid WHERE s.callsite_id IS NOT NULL",
                range,
                " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
                NULL);

        if (r == 0)
                r = export_each(export, sql, take_folded, &stacks);
        stacks_deinit(&stacks);
        return r == 0 && export->n_rows == 0 ? EXPORT_E_NOTHING : r;
}

/*
 * Speedscope: a profile for each thread, whose samples are in the order of time
 */

static void put_string(FILE *stream, const char *text) {
        JsonWriter writer;

        json_writer_init(&writer, JSON_SHORT);
        json_string(&writer, NULL, text);
        fputs(writer.text->str, stream);
        json_writer_deinit(&writer);
}

static void put_frames(Export *export, const Stacks *stacks) {
        fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
              "\"desktrace\",\"shared\":{\"frames\":[",
              export->stream);
        for (guint i = 0; i < stacks->frames->len; i++) {
                fputs(i > 0 ? ",\n{\"name\":" : "\n{\"name\":", export->stream);
                put_string(export->stream, g_ptr_array_index(stacks->frames, i));
                fputc('}', export->stream);
        }
        fputs("\n]},\"profiles\":[", export->stream);
}

static void end_profile(Export *export, Stacks *stacks) {
        if (!stacks->thread)
                return;
        fputs(stacks->has_profiles ? ",\n{" : "\n{", export->stream);
        fputs("\"type\":\"sampled\",\"unit\":\"none\",\"startValue\":0,\"name\":", export->stream);
        put_string(export->stream, stacks->thread);
        fprintf(export->stream,
                ",\"endValue\":%llu,\"samples\":[%s],\"weights\":[%s]}",
                (unsigned long long)stacks->n_samples,
                stacks->samples->str,
                stacks->weights->str);
        stacks->has_profiles = true;
        g_clear_pointer(&stacks->thread, g_free);
}

static void begin_profile(Stacks *stacks, const char *thread) {
        stacks->thread = g_strdup(thread);
        stacks->n_samples = 0;
        g_string_truncate(stacks->samples, 0);
        g_string_truncate(stacks->weights, 0);
}

/* thread, callsite */
static int take_sample(Export *export, sqlite3_stmt *row, void *user_data) {
        Stacks *stacks = user_data;
        g_autofree char *thread = export_text(row, 0);
        uint32_t frames[EXPORT_DEPTH_MAX];
        size_t n = stack_frames(stacks, column_id(row, 1), frames);

        if (g_strcmp0(thread, stacks->thread) != 0) {
                end_profile(export, stacks);
                begin_profile(stacks, thread ? thread : "?");
        }
        g_string_append(stacks->samples, stacks->n_samples > 0 ? ",[" : "[");
        while (n-- > 0)
                g_string_append_printf(stacks->samples, n > 0 ? "%u," : "%u", frames[n]);
        g_string_append(stacks->samples, "]");
        g_string_append(stacks->weights, stacks->n_samples++ > 0 ? ",1" : "1");
        export->n_rows++;
        return 0;
}

int export_speedscope(Export *export) {
        Stacks stacks = { .samples = g_string_new(NULL), .weights = g_string_new(NULL) };
        int r = stacks_load(&stacks, export);
        g_autofree char *range = export_range(export, "s.ts", "s.ts");
        g_autofree char *sql = g_strconcat(
                "SELECT coalesce(p.name || ' ', '') || coalesce(t.name || ' ', '') || t.tid, "
                "s.callsite_id FROM perf_sample s JOIN thread t ON t.id = s.utid LEFT JOIN process "
                "p "
                "ON p.id = t.upid WHERE s.callsite_id IS NOT NULL",
                range,
                " ORDER BY s.utid, s.ts",
                NULL);

        if (r == 0) {
                put_frames(export, &stacks);
                r = export_each(export, sql, take_sample, &stacks);
                end_profile(export, &stacks);
                fputs("\n]}\n", export->stream);
        }
        stacks_deinit(&stacks);
        return r == 0 && export->n_rows == 0 ? EXPORT_E_NOTHING : r;
}
