/* SPDX-License-Identifier: LGPL-2.1-or-later */

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

static int take_frame(Export *export, sqlite3_stmt *row, void *user_data) {
        ExportFrames *frames = user_data;
        char *name = export_text(row, 0);

        g_ptr_array_add(frames->names, name ? name : g_strdup("?"));
        return 0;
}

/* Without a name, a frame is where it is in its file. */
int export_frames_load(ExportFrames *frames, Export *export) {
        int r = query_load(export->query, TRACE_PART_THREADS | TRACE_PART_STACKS);

        frames->callsites = g_array_new(FALSE, FALSE, sizeof(ExportCallsite));
        frames->names = g_ptr_array_new_with_free_func(g_free);
        if (r == 0)
                r = export_each(
                        export,
                        "SELECT parent_id, frame_id FROM stack_profile_callsite ORDER BY id",
                        take_callsite,
                        frames);
        if (r == 0)
                r = export_each(
                        export,
                        "SELECT coalesce((SELECT y.name FROM stack_profile_symbol y WHERE "
                        "y.symbol_set_id = f.symbol_set_id LIMIT 1), nullif(f.name, ''), "
                        "m.name || printf('+0x%x', f.rel_pc)) FROM stack_profile_frame f "
                        "LEFT JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY f.id",
                        take_frame,
                        frames);
        return r;
}

void export_frames_deinit(ExportFrames *frames) {
        g_clear_pointer(&frames->callsites, g_array_unref);
        g_clear_pointer(&frames->names, g_ptr_array_unref);
}

/* What a file has may be a circle. */
size_t export_frames_walk(const ExportFrames *frames, uint32_t callsite, uint32_t *ret) {
        size_t n = 0;

        while (callsite < frames->callsites->len && n < EXPORT_DEPTH_MAX) {
                const ExportCallsite *at =
                        &g_array_index(frames->callsites, ExportCallsite, callsite);

                if (at->frame < frames->names->len)
                        ret[n++] = at->frame;
                callsite = at->parent;
        }
        return n;
}
