/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point selection: which points a config asks for
 */

#include "host/probe.h"
#include "probes/points/point-file.h"
#include "program_points_config.pb-c.h"

typedef Perfetto__Protos__ProgramPointsConfig ProgramPointsConfig;

typedef struct PointSelection {
        PointTable table;
        bool *is_selected; /* by the index of the point */
        bool *is_named; /* likewise: somebody asked for it by name, and is told if it does not exist */
        bool expensive;
} PointSelection;

/* Reads points.d. Returns 0, PROBE_E_REFUSED or -ENOMEM. `config` may be NULL. */
int point_selection_init(PointSelection *ret,
                         const ProgramPointsConfig *config,
                         ProbeNotes *notes,
                         char **ret_error);
void point_selection_deinit(PointSelection *selection);
