/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lanes of a drawing: what a key of each kind did in that time
 *
 * A lane in which nothing happens then is not drawn. Each function returns whether it drew one.
 */

#include "report/report-drawing.h"

/* `name` is what stands beside the lane; it may be NULL. */
bool report_draw_cpu(ReportDrawing *drawing, uint32_t cpu, const char *name);
bool report_draw_logs(ReportDrawing *drawing, uint32_t priority, const char *name);
/* A full bar: running; half a bar: waiting for a CPU; a thin bar at the top: blocked; nothing: asleep. */
bool report_draw_states(ReportDrawing *drawing, uint32_t utid, const char *name);
/* Call stacks of a thread, by the functions that they are in: samples, page faults, or sleeps. */
bool report_draw_stacks(ReportDrawing *drawing, ReportKind kind, uint32_t utid, const char *name);
/* A track, of slices or of a counter. */
bool report_draw_track(ReportDrawing *drawing, uint32_t track, const char *name);

/* Arrows between slices that have been drawn. */
void report_draw_flows(ReportDrawing *drawing);
