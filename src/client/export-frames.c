/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export frames: the call stacks of a trace, as formats of samples have them */

#include "client/export-frames.h"

#include "client/export-rows.h"
#include "trace/trace-store.h"

uint32_t export_column_id(sqlite3_stmt *row, int column) {
        return sqlite3_column_type(row, column) == SQLITE_NULL
                       ? EXPORT_NO_CALLSITE
                       : (uint32_t)sqlite3_column_int64(row, column);
}

static int take_callsite(Export *export, sqlite3_stmt *row, void *user_data) {
        ExportFrames *frames = user_data;
        ExportCallsite callsite = { .parent = export_column_id(row, 0),
                                    .frame = export_column_id(row, 1) };

        g_array_append_val(frames->callsites, callsite);
        return 0;
}

/*
 * Names
 */

/* The state while names are read. */
typedef struct Naming {
        ExportFrames *frames;
        GArray *sets;     /* ExportInlined, by the number of a set of symbols: places in `outer` */
        GPtrArray *outer; /* names of all but the innermost of each set */
        uint32_t set;     /* the set of the previous symbol */
} Naming;

/* A set's symbols follow each other, the innermost first. */
static int take_symbol(Export *export, sqlite3_stmt *row, void *user_data) {
        Naming *naming = user_data;
        const uint32_t set = export_column_id(row, 0);
        char *name;

        if (set == EXPORT_NO_CALLSITE)
                return 0;
        if (set != naming->set) {
                naming->set = set;
                if (set >= naming->sets->len)
                        g_array_set_size(naming->sets, set + 1);
                g_array_index(naming->sets, ExportInlined, set).first = naming->outer->len;
                return 0;
        }
        name = export_text(row, 1);
        g_ptr_array_add(naming->outer, name ? name : g_strdup("?"));
        g_array_index(naming->sets, ExportInlined, set).n++;
        return 0;
}

static int take_frame(Export *export, sqlite3_stmt *row, void *user_data) {
        Naming *naming = user_data;
        const uint32_t set = export_column_id(row, 1);
        ExportInlined inlined = {};
        char *name = export_text(row, 0);

        if (set < naming->sets->len)
                inlined = g_array_index(naming->sets, ExportInlined, set);
        g_array_append_val(naming->frames->inlined, inlined);
        g_ptr_array_add(naming->frames->names, name ? name : g_strdup("?"));
        return 0;
}

/* Puts the names of outer functions behind those of frames. */
static void finish_names(Naming *naming) {
        ExportFrames *frames = naming->frames;

        for (guint i = 0; i < frames->inlined->len; i++)
                g_array_index(frames->inlined, ExportInlined, i).first += frames->inlined->len;
        for (guint i = 0; i < naming->outer->len; i++)
                g_ptr_array_add(frames->names, g_steal_pointer(&naming->outer->pdata[i]));
}

/* A frame without a name is called by its place in its file. */
static int load_names(Export *export, Naming *naming) {
        int r = export_each(export,
                            "SELECT symbol_set_id, name FROM stack_profile_symbol ORDER BY id",
                            take_symbol,
                            naming);

        if (r == 0)
                r = export_each(
                        export,
                        "SELECT coalesce((SELECT y.name FROM stack_profile_symbol y WHERE "
                        "y.symbol_set_id = f.symbol_set_id LIMIT 1), nullif(f.name, ''), "
                        "m.name || printf('+0x%x', f.rel_pc)), f.symbol_set_id "
                        "FROM stack_profile_frame f "
                        "LEFT JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY f.id",
                        take_frame,
                        naming);
        finish_names(naming);
        return r;
}

int export_frames_load(ExportFrames *frames, Export *export) {
        g_autoptr(GArray) sets = g_array_new(FALSE, TRUE, sizeof(ExportInlined));
        g_autoptr(GPtrArray) outer = g_ptr_array_new_with_free_func(g_free);
        Naming naming = {
                .frames = frames, .sets = sets, .outer = outer, .set = EXPORT_NO_CALLSITE
        };
        int r = query_load(export->query, TRACE_PART_THREADS | TRACE_PART_STACKS);

        frames->callsites = g_array_new(FALSE, FALSE, sizeof(ExportCallsite));
        frames->inlined = g_array_new(FALSE, FALSE, sizeof(ExportInlined));
        frames->names = g_ptr_array_new_with_free_func(g_free);
        if (r == 0)
                r = export_each(
                        export,
                        "SELECT parent_id, frame_id FROM stack_profile_callsite ORDER BY id",
                        take_callsite,
                        frames);
        return r == 0 ? load_names(export, &naming) : r;
}

void export_frames_deinit(ExportFrames *frames) {
        g_clear_pointer(&frames->callsites, g_array_unref);
        g_clear_pointer(&frames->inlined, g_array_unref);
        g_clear_pointer(&frames->names, g_ptr_array_unref);
}

static size_t
put_functions(const ExportFrames *frames, uint32_t frame, uint32_t *ret, size_t n_max) {
        const ExportInlined inlined = g_array_index(frames->inlined, ExportInlined, frame);
        const size_t n_outer = MIN(inlined.n, n_max - 1);

        ret[0] = frame;
        for (size_t i = 0; i < n_outer; i++)
                ret[i + 1] = inlined.first + (uint32_t)i;
        return n_outer + 1;
}

/* The callers in a file may form a circle. */
size_t export_frames_walk(const ExportFrames *frames, uint32_t callsite, uint32_t *ret) {
        size_t n = 0;

        while (callsite < frames->callsites->len && n < EXPORT_DEPTH_MAX) {
                const ExportCallsite *at =
                        &g_array_index(frames->callsites, ExportCallsite, callsite);

                if (at->frame < frames->inlined->len)
                        n += put_functions(frames, at->frame, ret + n, EXPORT_DEPTH_MAX - n);
                callsite = at->parent;
        }
        return n;
}
