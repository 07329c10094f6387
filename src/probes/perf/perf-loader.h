/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf loader: reads files of programs, and of /proc, on a thread
 *
 * What a program has mapped may lie in a file system that is somebody's program, and never answer. So no file of others
 * is opened or read on the main thread. Of a thread that does not come back another takes the place, a few times; then
 * nothing more is read, which the samples show and nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/probe.h"
#include "probes/perf/jit-names.h"
#include "shared/list.h"
#include "shared/macro.h"
#include "unwind/module.h"

#define LOADER_STUCK_NS    UINT64_C(1000000000)
#define LOADER_THREADS_MAX 4u

typedef enum LoadKind {
        LOAD_PROCESS, /* its mappings, and how it was called */
        LOAD_FILE,    /* a module */
        LOAD_JIT,     /* names of code that the process has made */
} LoadKind;

/* What a file is, in the kernel's own words: as mappings have it. */
typedef struct FileIdentity {
        uint32_t major;
        uint32_t minor;
        uint64_t inode;
} FileIdentity;

typedef struct Load {
        List loads; /* of the loader */
        LoadKind kind;
        pid_t pid; /* a process that has it mapped, or the process */
        void *userdata;
        bool is_urgent;    /* a sample waits for it: it comes before all that are not */
        uint64_t begun_ns; /* under the lock */
        uint32_t program;  /* of the process, which may have become another one since */
        /* LOAD_FILE */
        FileIdentity identity;
        uint64_t start; /* where it is mapped */
        uint64_t end;
        char *path;
        Module *module; /* NULL: it cannot be read, or is no program */
        /* LOAD_PROCESS */
        char *maps;    /* the text of /proc/PID/maps; NULL: it could not be read */
        char *command; /* its first argument; NULL: none */
        char *cgroup;  /* the text of /proc/PID/cgroup; NULL: it could not be read */
        /* LOAD_JIT */
        JitNames *jit; /* NULL: it has none, or they are not its own */
} Load;

typedef struct Loader Loader;

/* With an owner, everything is read as that user reads it, without any privilege of ours; NULL: with all of them. 0 or
 * a negative errno. */
int loader_new(Loader **ret, const ProbeOwner *owner);
/* Does not wait for threads that do not come back. */
Loader *loader_free(Loader *loader);
DEFINE_CLEANUP(Loader *, loader_free)

/* NULL: no memory. */
Load *load_new(LoadKind kind, pid_t pid);
Load *load_free(Load *load);

/* Takes the load. False where nothing more is read; then the load is still the caller's. */
bool loader_submit(Loader *loader, Load *load);
/* What was submitted for this process, and still waits, has become urgent. */
void loader_hurry(Loader *loader, pid_t pid);
/* One that is done, to be freed by the caller; NULL: none. */
Load *loader_take(Loader *loader);
/* Whether some are still to be done. */
bool loader_is_busy(Loader *loader);
/* Waits until one is done, all are done or the time (CLOCK_MONOTONIC) has come. */
void loader_wait(Loader *loader, uint64_t until_ns);

uint64_t loader_now_ns(void);
