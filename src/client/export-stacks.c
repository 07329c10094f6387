/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export stacks: samples of call stacks, as flame graphs and their viewers want them */

#include "client/export-stacks.h"

#include <errno.h>

#include "client/export-frames.h"
#include "client/export-rows.h"
#include "client/export-samples.h"
#include "client/json-writer.h"
#include "trace/trace-store.h"

typedef struct Stacks {
        ExportFrames frames;
        char *thread; /* state of the profile that is being written */
        GString *samples, *weights;
        uint64_t n_samples; /* of it */
        int64_t weight;     /* of these */
        char *sql;          /* for the rows of samples */
        bool has_profiles;
} Stacks;

static void stacks_deinit(Stacks *stacks) {
        export_frames_deinit(&stacks->frames);
        g_free(stacks->thread);
        g_free(stacks->sql);
        if (stacks->samples)
                g_string_free(stacks->samples, TRUE);
        if (stacks->weights)
                g_string_free(stacks->weights, TRUE);
}

/* `columns` FROM samples with a stack, their threads t and processes p, in the order that `rest` says. */
static int stacks_load(Stacks *stacks, Export *export, const char *columns, const char *rest) {
        int r = export_samples_choose(export);
        char *samples;

        if (r)
                return r;
        samples = export_samples_sql(export);
        if (!samples)
                return -ENOMEM;
        stacks->sql = g_strconcat(columns,
                                  " FROM ",
                                  samples,
                                  " s JOIN thread t ON t.id = s.utid LEFT JOIN process p ON p.id = "
                                  "t.upid WHERE s.callsite_id IS NOT NULL",
                                  rest,
                                  NULL);
        sqlite3_free(samples);
        return export_frames_load(&stacks->frames, export);
}

/*
 * Folded: "program;thread;outer;inner n"
 */

/* Replaces the separators of frames, and characters that drive a terminal. */
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
        size_t n = export_frames_walk(&stacks->frames, export_column_id(row, 2), frames);

        for (int i = 0; i < 2; i++) {
                g_autofree char *name = export_text(row, i);

                if (i > 0)
                        fputc(';', export->stream);
                put_folded(export->stream, name ? name : "?");
        }
        while (n-- > 0) {
                fputc(';', export->stream);
                put_folded(export->stream, g_ptr_array_index(stacks->frames.names, frames[n]));
        }
        fprintf(export->stream, " %lld\n", (long long)sqlite3_column_int64(row, 3));
        export->n_rows++;
        return 0;
}

int export_folded(Export *export) {
        Stacks stacks = { 0 };
        int r = stacks_load(&stacks,
                            export,
                            "SELECT coalesce(p.name, t.name), coalesce(t.name, t.tid), "
                            "s.callsite_id, sum(s.weight)",
                            " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");

        if (r == 0)
                r = export_each(export, stacks.sql, take_folded, &stacks);
        stacks_deinit(&stacks);
        return r == 0 && export->n_rows == 0 ? EXPORT_E_NOTHING : r;
}

/*
 * Off the CPU: "program;thread;what it waited for;kernel function microseconds"
 */

/* program, thread, what, function, ns */
static int take_off_cpu(Export *export, sqlite3_stmt *row, void *user_data) {
        long long us = (long long)sqlite3_column_int64(row, 4) / 1000;

        if (us == 0)
                return 0;
        for (int i = 0; i < 4; i++) {
                g_autofree char *name = export_text(row, i);

                if (!name && i == 3)
                        continue;
                if (i > 0)
                        fputc(';', export->stream);
                put_folded(export->stream, name ? name : "?");
        }
        fprintf(export->stream, " %lld\n", us);
        export->n_rows++;
        return 0;
}

/* The part of a state's time that is in the range. */
static char *time_in_range(const Export *export) {
        return export->has_range ? g_strdup_printf("min(s.ts + s.dur, %" G_GINT64_FORMAT
                                                   ") - max(s.ts, %" G_GINT64_FORMAT ")",
                                                   export->end,
                                                   export->start)
                                 : g_strdup("s.dur");
}

int export_off_cpu(Export *export) {
        g_autofree char *range = export_range(export, "s.ts", "s.ts + s.dur"),
                        *time = time_in_range(export);
        g_autofree char *sql = g_strconcat(
                "SELECT coalesce(p.name, t.name), coalesce(t.name, t.tid), CASE WHEN s.state IN "
                "('R', 'R+') THEN '[waiting for a CPU]' WHEN s.state LIKE 'D%' AND s.io_wait = 1 "
                "THEN '[waiting for IO]' WHEN s.state LIKE 'D%' THEN '[blocked]' WHEN s.state LIKE "
                "'S%' OR s.state LIKE 'I%' THEN '[sleeping]' ELSE '[stopped]' END AS what, "
                "s.blocked_function, sum(",
                time,
                ") FROM thread_state s JOIN thread t ON t.id = s.utid LEFT JOIN process p ON p.id "
                "= "
                "t.upid WHERE s.state <> 'Running' AND s.dur > 0",
                range,
                " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
                NULL);
        int r = export_each(export, sql, take_off_cpu, NULL);

        return r == 0 && export->n_rows == 0 ? EXPORT_E_EMPTY : r;
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
        for (guint i = 0; i < stacks->frames.names->len; i++) {
                fputs(i > 0 ? ",\n{\"name\":" : "\n{\"name\":", export->stream);
                put_string(export->stream, g_ptr_array_index(stacks->frames.names, i));
                fputc('}', export->stream);
        }
        fputs("\n]},\"profiles\":[", export->stream);
}

static void end_profile(Export *export, Stacks *stacks) {
        if (!stacks->thread)
                return;
        fputs(stacks->has_profiles ? ",\n{" : "\n{", export->stream);
        fprintf(export->stream,
                "\"type\":\"sampled\",\"unit\":\"%s\",\"startValue\":0,\"name\":",
                export->is_time ? "nanoseconds" : "none");
        put_string(export->stream, stacks->thread);
        fprintf(export->stream,
                ",\"endValue\":%lld,\"samples\":[%s],\"weights\":[%s]}",
                (long long)stacks->weight,
                stacks->samples->str,
                stacks->weights->str);
        stacks->has_profiles = true;
        g_clear_pointer(&stacks->thread, g_free);
}

static void begin_profile(Stacks *stacks, const char *thread) {
        stacks->thread = g_strdup(thread);
        stacks->n_samples = 0;
        stacks->weight = 0;
        g_string_truncate(stacks->samples, 0);
        g_string_truncate(stacks->weights, 0);
}

/* thread, callsite, weight */
static int take_sample(Export *export, sqlite3_stmt *row, void *user_data) {
        Stacks *stacks = user_data;
        g_autofree char *thread = export_text(row, 0);
        uint32_t frames[EXPORT_DEPTH_MAX];
        size_t n = export_frames_walk(&stacks->frames, export_column_id(row, 1), frames);
        long long weight = sqlite3_column_int64(row, 2);

        if (g_strcmp0(thread, stacks->thread) != 0) {
                end_profile(export, stacks);
                begin_profile(stacks, thread ? thread : "?");
        }
        g_string_append(stacks->samples, stacks->n_samples > 0 ? ",[" : "[");
        while (n-- > 0)
                g_string_append_printf(stacks->samples, n > 0 ? "%u," : "%u", frames[n]);
        g_string_append(stacks->samples, "]");
        g_string_append_printf(
                stacks->weights, "%s%lld", stacks->n_samples++ > 0 ? "," : "", weight);
        stacks->weight += weight;
        export->n_rows++;
        return 0;
}

int export_speedscope(Export *export) {
        Stacks stacks = { .samples = g_string_new(NULL), .weights = g_string_new(NULL) };
        int r = stacks_load(&stacks,
                            export,
                            "SELECT coalesce(p.name || ' ', '') || coalesce(t.name || ' ', '') || "
                            "t.tid, s.callsite_id, s.weight",
                            " ORDER BY s.utid, s.ts");

        if (r == 0) {
                put_frames(export, &stacks);
                r = export_each(export, stacks.sql, take_sample, &stacks);
                end_profile(export, &stacks);
                fputs("\n]}\n", export->stream);
        }
        stacks_deinit(&stacks);
        return r == 0 && export->n_rows == 0 ? EXPORT_E_NOTHING : r;
}
