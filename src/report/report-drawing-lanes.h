/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lanes of a drawing: what a key of each kind did in its time
 *
 * A lane in which nothing happens then is not drawn. Each returns whether it is.
 */

#include "report/report-drawing.h"

/* `name` is what stands beside the lane; it may be NULL. */
bool report_draw_cpu(ReportDrawing *drawing, uint32_t cpu, const char *name);
bool report_draw_logs(ReportDrawing *drawing, uint32_t priority, const char *name);
/* Running is a full bar, waiting for a CPU half a one, blocked a thin one at the top; asleep is nothing. */
bool report_draw_states(ReportDrawing *drawing, uint32_t utid, const char *name);
/* A track, of slices or of a counter. */
bool report_draw_track(ReportDrawing *drawing, uint32_t track, const char *name);

/* Arrows between slices that are drawn. */
void report_draw_flows(ReportDrawing *drawing);
