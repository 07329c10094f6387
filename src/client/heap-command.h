/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap command: how a program is started so that its heap can be recorded
 *
 * The library that counts allocations is loaded into the command before all others, and into what the command
 * starts. An app of Flatpak gets it inside its sandbox. "flatpak" itself does not, as it makes namespaces, for which
 * a process may only have one thread. Without a command, programs that already have the library are recorded.
 */

#include <stdint.h>

#include "client/exit-status.h"
#include "client/process.h"
#include "client/record-request.h"

#define HEAP_INTERVAL_DEFAULT 32768u
#define HEAP_INTERVAL_MAX     (UINT64_C(1) << 40)

typedef struct HeapCommand {
        char *preload;     /* $LD_PRELOAD; NULL: nothing is loaded into the command itself */
        char *interval;    /* $DESKTRACE_HEAP; NULL: no command's heap is recorded */
        char *tunables;    /* $GLIBC_TUNABLES; NULL: as they are */
        char *app_preload; /* $LD_PRELOAD in a Flatpak sandbox; NULL: the command starts none */
        char *app_folder; /* the directory that the sandbox has to see; NULL: the system's is enough */
} HeapCommand;

void heap_command_deinit(HeapCommand *command);

/* `text` is the argument of --heap: "", or a size such as "32K", in bytes for each sample. `command` may be NULL.
 * Reports errors, for example that the library cannot be loaded into the command. */
ExitStatus heap_command_build(HeapCommand *ret,
                              RecordRequest *request,
                              const char *option,
                              const char *const *command,
                              bool is_standalone);

/* The command to start, with its variables as options of "flatpak run" if it is that; NULL: there is none. To be freed
 * with g_strfreev(). */
char **heap_command_line(const HeapCommand *heap,
                         const char *const *command,
                         const ProcessVariable *variables);
