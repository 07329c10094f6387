/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, bus programs: which programs are on the session bus
 */

#include <glib.h>

#define BUS_PROGRAMS_MAX 256 /* connections whose process is asked for */

/* One that a bridge would show: those of the session bus, and GNOME's compositor. */
typedef struct BusProgram {
        const char *source; /* a literal */
        char *name;
} BusProgram;

/* Of BusProgram. Starts nobody. Without a session bus, or if that does not answer in time, it is empty. */
GArray *bus_programs_within_time(void);
