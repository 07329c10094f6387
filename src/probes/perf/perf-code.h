/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf code: the files that programs have mapped, each of them once, however many processes have mapped it
 *
 * A file is read when a sample is in it, and forgotten when room is needed and no sample has been in it for long.
 */

#include <stdint.h>

#include "probes/perf/perf-loader.h"
#include "probes/perf/stack-table.h"
#include "unwind/unwinder.h"

#define PERF_FILES_MAX        16384u
#define PERF_MODULE_BYTES_MAX (64u << 20) /* of all that are read */
#define PERF_PATH_BYTES_MAX   4096u

typedef struct PerfFile {
        CodeFile code;
        StackModule stack;
        FileIdentity identity;
        char *path;
        bool is_loading;
        pid_t gone;       /* the process that last ended before the file was found; 0: none */
        unsigned n_gone;  /* how many did */
        bool is_marked;   /* some process has it mapped */
        uint64_t used_at; /* PerfCode.turn in which a sample was in it */
} PerfFile;

typedef struct PerfCode {
        PerfFile **files;
        size_t n_files;
        PerfFile **by_identity; /* a table with twice as many places as there may be files */
        Loader *loader;
        Unwinder *unwinder; /* borrowed: remembers files */
        PerfFile *vdso;
        uint64_t turn;
        size_t n_module_bytes;
        uint64_t n_opaque;  /* files of programs that could not be read */
        uint64_t n_refused; /* files for which there was no room */
} PerfCode;

/* `owner`: of loader_new(). Returns 0 or a negative errno. */
int perf_code_init(PerfCode *code, Unwinder *unwinder, const ProbeOwner *owner);
void perf_code_deinit(PerfCode *code);

/* The file of a mapping; NULL: the mapping has no file, or there is no room. */
PerfFile *perf_code_file(PerfCode *code, const FileIdentity *identity, const char *path);

static inline PerfFile *perf_file_of(CodeFile *code) {
        return code ? container_of(code, PerfFile, code) : NULL;
}

/* Has the file read; if that is impossible, it is opaque at once. `mapping` is the process's mapping of it. */
void perf_code_request(PerfCode *code, PerfFile *file, pid_t pid, const Mapping *mapping);
/* Takes the result of a load, which has read the file. */
void perf_code_take(PerfCode *code, Load *load);

/* Notes that a sample was in it. */
static inline void perf_code_use(PerfCode *code, PerfFile *file) {
        file->used_at = code->turn;
}

/* Call it between two drains: frees the least recently used modules until the rest fits. */
void perf_code_shrink(PerfCode *code);
/* Frees all files that are not marked, and unmarks the others. */
void perf_code_sweep(PerfCode *code);
