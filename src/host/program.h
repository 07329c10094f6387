/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Program: what the main() of every program with data sources does
 *
 * Each program has options of its own. How mistakes in them are reported, the event loop, and the name on a bus that
 * keeps a second instance from running are the same for all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "host/probe.h"

/* Prints what --list-sources asks for; `format` is its argument, or NULL. Returns 0 or -EINVAL. */
int program_list_sources(const ProbeOps *const *probes, size_t n_probes, const char *format);

/* Reports what is wrong with the command line once getopt_long() is done. Returns 0 or -EINVAL. */
int program_check_arguments(int argc, char **argv, bool is_standalone);

/* Call it before the library's thread starts, which inherits the signal mask. A standalone program logs only
 * warnings: its stderr is the terminal of the user who records, and the session already reports what it cannot
 * record. */
void program_prepare(bool is_standalone);

/* Makes a loop that ends on SIGTERM and SIGINT, and feeds the unit's watchdog. Returns 0 or a negative errno. */
int program_make_loop(sd_event **ret);

/* Takes `name`, which only one instance of the program can own, and ends the loop when the bus goes away. Returns 0
 * or a negative errno; a name that cannot be taken is logged. */
int program_take_name(sd_bus *bus, sd_event *event, const char *name, const char *program);

/* Tells systemd that the program is ready, and runs the loop. Returns 0, or a negative errno that is logged: `setup`
 * below 0 is what kept the program from starting. */
int program_run(sd_event *event, int setup);
