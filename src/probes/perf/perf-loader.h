/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf loader: reads files of programs, and of /proc, on a thread
 *
 * A file that a program has mapped may lie in a file system that is somebody's program and never answers. So foreign
 * files are never opened or read on the main thread. A thread that does not come back is replaced, a few times; after
 * that no more files are read, and the only effect is that samples lack their functions.
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
        LOAD_PROCESS, /* its mappings, and its command line */
        LOAD_FILE,    /* a module */
        LOAD_JIT,     /* names of the code that the process has generated */
        LOAD_PIECE,   /* a piece of the process's code */
} LoadKind;

/* A file's identity, as the kernel shows it for mappings. */
typedef struct FileIdentity {
        uint32_t major;
        uint32_t minor;
        uint64_t inode;
} FileIdentity;

typedef struct Load {
        List loads; /* of the loader */
        LoadKind kind;
        pid_t pid; /* a process that has mapped the file, or the process itself */
        void *userdata;
        bool is_urgent;    /* a sample waits for it, so it comes before loads that are not urgent */
        uint64_t begun_ns; /* under the lock */
        uint32_t program;  /* of the process, which may have become another program since */
        /* LOAD_FILE */
        FileIdentity identity;
        uint64_t start; /* where it is mapped; of LOAD_PIECE: what to read */
        uint64_t end;
        char *path;
        Module *module; /* NULL: the file cannot be read, or is no program */
        bool is_gone;   /* it was not found, and the process has ended */
        /* LOAD_PROCESS */
        char *maps;    /* the text of /proc/PID/maps; NULL: it could not be read */
        char *command; /* its first argument; NULL: none */
        char *cgroup;  /* the text of /proc/PID/cgroup; NULL: it could not be read */
        /* LOAD_JIT */
        JitNames *jit; /* NULL: the process has none, or the file is not its own */
        /* LOAD_PIECE */
        uint8_t *piece; /* NULL: it cannot be read */
        size_t n_piece; /* how much there is */
} Load;

typedef struct Loader Loader;

/* With an owner, everything is read with that user's rights and without the probes' privileges; NULL: with all of
 * these. Returns 0 or a negative errno. */
int loader_new(Loader **ret, const ProbeOwner *owner);
/* Does not wait for threads that do not come back. */
Loader *loader_free(Loader *loader);
DEFINE_CLEANUP(Loader *, loader_free)

/* Returns NULL if memory has run out. */
Load *load_new(LoadKind kind, pid_t pid);
Load *load_free(Load *load);

/* Takes ownership of the load. Returns false if nothing more is read; then the load stays the caller's. */
bool loader_submit(Loader *loader, Load *load);
/* Makes this process's waiting loads urgent. */
void loader_hurry(Loader *loader, pid_t pid);
/* Takes a finished load, which the caller frees; NULL: there is none. */
Load *loader_take(Loader *loader);
/* Whether loads are still waiting or running. */
bool loader_is_busy(Loader *loader);
/* Waits until a load is finished, there is none, or the time (CLOCK_MONOTONIC) has come. */
void loader_wait(Loader *loader, uint64_t until_ns);

uint64_t loader_now_ns(void);
