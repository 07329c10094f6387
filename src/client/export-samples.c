/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export samples: which samples of call stacks a format gets */

#include "client/export-samples.h"

#include <errno.h>

#include "client/export-rows.h"

typedef struct Sources {
        GString *names; /* the names of all sources, for people */
        char *found;    /* the source that was asked for, or else the first */
        bool is_time;   /* it weighs nanoseconds */
        unsigned n;
} Sources;

/* source, unit */
static int take_source(Export *export, sqlite3_stmt *row, void *user_data) {
        Sources *sources = user_data;
        g_autofree char *name = export_text(row, 0), *unit = export_text(row, 1);

        if (!name)
                return 0;
        g_string_append_printf(sources->names, "%s%s", sources->n++ > 0 ? ", " : "", name);
        if (sources->found || (export->samples && !streq(name, export->samples)))
                return 0;
        sources->found = g_steal_pointer(&name);
        sources->is_time = g_strcmp0(unit, "ns") == 0;
        return 0;
}

/* Unless the user asks for others, samples of what processors ran are taken, if there are any. */
static int choose(Export *export, Sources *sources) {
        bool is_clear = export->samples || sources->n == 1 ||
                        g_strcmp0(sources->found, EXPORT_SAMPLES_CPU) == 0;

        if (sources->n == 0)
                return 0;
        if (!sources->found || !is_clear) {
                export->column = g_string_free(sources->names, FALSE);
                sources->names = NULL;
                return EXPORT_E_WHICH;
        }
        export->source = g_steal_pointer(&sources->found);
        export->is_time = sources->is_time;
        return 0;
}

int export_samples_choose(Export *export) {
        Sources sources = { .names = g_string_new(NULL) };
        int r = export_each(export,
                            "SELECT '" EXPORT_SAMPLES_CPU "', 'count' WHERE EXISTS (SELECT 1 FROM "
                            "perf_sample) UNION ALL SELECT * FROM (SELECT DISTINCT source, unit "
                            "FROM stack_sample ORDER BY 1, 2)",
                            take_source,
                            &sources);

        if (r == 0)
                r = choose(export, &sources);
        if (sources.names)
                g_string_free(sources.names, TRUE);
        g_free(sources.found);
        return r;
}

/* For a sleep that begins before the range or ends behind it, the part within the range. */
static char *times_sql(const Export *export) {
        return export->has_range
                       ? sqlite3_mprintf("(SELECT utid, max(ts, %lld) AS ts, callsite_id, min(ts + "
                                         "weight, %lld) - max(ts, %lld) AS weight FROM "
                                         "stack_sample WHERE source = %Q AND unit = 'ns' AND ts "
                                         "<= %lld AND ts + weight >= %lld)",
                                         (long long)export->start,
                                         (long long)export->end,
                                         (long long)export->start,
                                         export->source,
                                         (long long)export->end,
                                         (long long)export->start)
                       : sqlite3_mprintf("(SELECT utid, ts, callsite_id, weight FROM stack_sample "
                                         "WHERE source = %Q AND unit = 'ns')",
                                         export->source);
}

char *export_samples_sql(const Export *export) {
        g_autofree char *range = export_range(export, "ts", "ts");

        if (export->source && export->is_time)
                return times_sql(export);
        if (export->source && !streq(export->source, EXPORT_SAMPLES_CPU))
                return sqlite3_mprintf("(SELECT utid, ts, callsite_id, weight FROM stack_sample "
                                       "WHERE source = %Q AND unit <> 'ns'%s)",
                                       export->source,
                                       range);
        return sqlite3_mprintf(
                "(SELECT utid, ts, callsite_id, 1 AS weight FROM perf_sample WHERE 1%s)", range);
}
