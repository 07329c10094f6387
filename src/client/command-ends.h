/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Command ends: what a command inherits so that bridges can record it in ways that are impossible for running
 * programs
 *
 * A data source has one descriptor for the command and one for the bridges: the two ends of a pair of sockets, or
 * one file without a name, which goes away when both have closed it. Environment variables tell the command's
 * runtimes about their descriptors. A variable that the user has set is kept, and its data source then records
 * nothing from the command.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/process.h"

#define COMMAND_SOURCES_MAX       2
#define COMMAND_END_VARIABLES_MAX 4 /* of one source */

typedef struct CommandEnds {
        int ours[COMMAND_SOURCES_MAX], its[COMMAND_SOURCES_MAX]; /* -1: not wanted */
        char *values[COMMAND_SOURCES_MAX]; /* of the variables that have the descriptors' numbers */
} CommandEnds;

#define COMMAND_ENDS_INIT                             \
        {                                             \
                .ours = { -1, -1 }, .its = { -1, -1 } \
        }

/* Makes the ends for those of these sources that record a command. Returns 0 or a negative errno. */
int command_ends_make(CommandEnds *ends, char *const *sources);
void command_ends_deinit(CommandEnds *ends);

/* Whether a source can only record a command, and has nothing to record without one. */
bool command_ends_needs_command(const char *source);

/* The descriptors to pass to the bridges, valid until they are closed. Returns how many there are. */
size_t command_ends_sockets(const CommandEnds *ends, ProcessSocket ret[static COMMAND_SOURCES_MAX]);

/* Closes the bridges' ends here, once the bridges have them: if the bridges end, the command must notice. */
void command_ends_close_ours(CommandEnds *ends);

/* Lets programs that are started from now on inherit the command's descriptors, and adds its variables to a list,
 * which has room for COMMAND_SOURCES_MAX * COMMAND_END_VARIABLES_MAX + 1. Their values are valid as long as
 * `ends` is. */
void command_ends_pass(CommandEnds *ends, ProcessVariable *variables);
