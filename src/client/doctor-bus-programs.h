/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, bus programs: which programs are on the session bus
 */

#include <glib.h>

#define BUS_PROGRAMS_MAX 256 /* how many connections the bus is asked about */

/* A program that a bridge would show: any on the session bus, or GNOME's compositor. */
typedef struct BusProgram {
        const char *source; /* a literal */
        char *name;
} BusProgram;

/* Returns an array of BusProgram, and starts no program. The array is empty without a session bus, or if the bus does
 * not answer in time. */
GArray *bus_programs_within_time(void);
