/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf pieces: code of programs that has no rows, to find its frames by its instructions (code-row.h)
 *
 * It is read from the program's memory, on a thread of its own: a program could have that wait for as long as it likes,
 * and then no more code is read. What is read is looked at and nothing else, remembered for a moment, and never written
 * anywhere. How much is done of this has a limit, so programs that consist of such code cost little.
 */

#include "probes/perf/perf-processes.h"
#include "unwind/code-row.h"

#define PERF_PIECES_MAX 32u
#define PERF_PIECE_NS \
        UINT64_C(1000000000) /* how long a piece is believed: code that is made may change */
#define PERF_PIECE_WAIT_NS        UINT64_C(5000000) /* how long a sample waits for one */
#define PERF_PIECE_LOOKS_A_SECOND 2000u
#define PERF_PIECE_READS_A_SECOND 100u

typedef struct PerfPiece {
        pid_t pid;
        uint32_t program;
        uint64_t start;
        uint64_t end;
        uint8_t *bytes;
        size_t n_bytes; /* as many as could be read */
        uint64_t read_ns;
} PerfPiece;

typedef struct PerfPieces {
        PerfPiece pieces[PERF_PIECES_MAX];
        size_t next;             /* the oldest one, which makes room for another */
        Loader *loader;          /* NULL: nothing has been read yet */
        const ProbeOwner *owner; /* borrowed; of loader_new() */
        bool is_loading;
        uint64_t second_ns; /* when the current second began */
        unsigned n_reads;   /* in it */
        unsigned n_looks;   /* in it */
} PerfPieces;

void perf_pieces_init(PerfPieces *pieces, const ProbeOwner *owner);
void perf_pieces_deinit(PerfPieces *pieces);

/* The row of an address of the process, from the code there. Waits until the time for a piece that has to be read.
 * Returns false if it says nothing, or is not there. */
bool perf_pieces_row(PerfPieces *pieces,
                     UnwindRow *ret,
                     const PerfProcess *process,
                     const Architecture *architecture,
                     uint64_t address,
                     uint64_t until_ns);
