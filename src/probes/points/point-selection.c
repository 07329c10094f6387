/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point selection: which points a config asks for */

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/points/point-folders.h"
#include "probes/points/point-selection.h"
#include "shared/text.h"

#define FULL_NAME_BYTES (2 * POINT_NAME_BYTES)

void point_selection_deinit(PointSelection *selection) {
        point_table_deinit(&selection->table);
        free(selection->is_selected);
        free(selection->is_named);
        *selection = (PointSelection){};
}

static bool matches_group(const Point *point, const char *pattern) {
        return fnmatch(pattern, point->group, 0) == 0;
}

static bool matches_name(const Point *point, const char *pattern) {
        char name[FULL_NAME_BYTES];

        snprintf(name, sizeof(name), "%s/%s", point->group, point->name);
        return fnmatch(pattern, name, 0) == 0;
}

/* Selects the points that a pattern matches; of groups, only the points that are recorded by default. A pattern that
 * matches nothing is worth a note, but no more, because machines have different files installed. */
static void select_matching(PointSelection *selection,
                            const char *key,
                            const char *pattern,
                            bool (*matches)(const Point *point, const char *pattern),
                            ProbeNotes *notes) {
        bool is_name = matches == matches_name, has_any = false;

        for (size_t i = 0; i < selection->table.n_points; i++) {
                const Point *point = &selection->table.points[i];

                if (!matches(point, pattern))
                        continue;
                has_any = true;
                selection->is_selected[i] |= is_name || point->is_default;
                selection->is_named[i] |= is_name;
        }
        if (!has_any)
                probe_note(notes, "%s: there is no point \"%.64s\"", key, pattern);
}

static void
select_points(PointSelection *selection, const ProgramPointsConfig *config, ProbeNotes *notes) {
        if (!config || config->n_groups + config->n_points == 0) {
                for (size_t i = 0; i < selection->table.n_points; i++)
                        selection->is_selected[i] = selection->table.points[i].is_default;
                return;
        }
        for (size_t i = 0; i < config->n_groups; i++)
                select_matching(selection, "groups", config->groups[i], matches_group, notes);
        for (size_t i = 0; i < config->n_points; i++)
                select_matching(selection, "points", config->points[i], matches_name, notes);
}

int point_selection_init(PointSelection *ret,
                         const ProgramPointsConfig *config,
                         ProbeNotes *notes,
                         char **ret_error) {
        _cleanup_(point_selection_deinit) PointSelection selection = {};
        size_t n;
        int r;

        r = point_folders_read(&selection.table, notes);
        if (r < 0)
                return r;
        n = selection.table.n_points;
        if (n == 0)
                return probe_refuse(ret_error,
                                    "there are no points: no file in points.d has any; install "
                                    "desktrace completely");
        selection.is_selected = calloc(n, sizeof(bool));
        selection.is_named = calloc(n, sizeof(bool));
        if (!selection.is_selected || !selection.is_named)
                return -ENOMEM;
        selection.expensive = config && config->expensive;
        select_points(&selection, config, notes);
        *ret = selection;
        selection = (PointSelection){};
        return 0;
}
