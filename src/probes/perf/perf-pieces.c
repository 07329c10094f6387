/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf pieces: code of programs, read when it is needed and remembered for a moment */

#include <stdlib.h>

#include "probes/perf/perf-pieces.h"

#define NS_PER_S   UINT64_C(1000000000)
#define PAGE_BYTES UINT64_C(4096)
#define BEFORE     (2 * PAGE_BYTES) /* code before the place, to which it may jump back */

void perf_pieces_init(PerfPieces *pieces, const ProbeOwner *owner) {
        *pieces = (PerfPieces){ .owner = owner };
}

void perf_pieces_deinit(PerfPieces *pieces) {
        loader_free(pieces->loader);
        for (size_t i = 0; i < PERF_PIECES_MAX; i++)
                free(pieces->pieces[i].bytes);
        *pieces = (PerfPieces){};
}

/* Whether one more look is within the limit. */
static bool may_look(PerfPieces *pieces, uint64_t now_ns) {
        if (now_ns - pieces->second_ns >= NS_PER_S) {
                pieces->second_ns = now_ns;
                pieces->n_looks = pieces->n_reads = 0;
        }
        return pieces->n_looks++ < PERF_PIECE_LOOKS_A_SECOND;
}

static const PerfPiece *
find(const PerfPieces *pieces, const PerfProcess *process, uint64_t address, uint64_t now_ns) {
        for (size_t i = 0; i < PERF_PIECES_MAX; i++) {
                const PerfPiece *piece = &pieces->pieces[i];

                if (piece->pid == process->pid && piece->program == process->program &&
                    address >= piece->start && address < piece->end &&
                    now_ns - piece->read_ns < PERF_PIECE_NS)
                        return piece;
        }
        return NULL;
}

static void take_loads(PerfPieces *pieces) {
        PerfPiece *piece;
        Load *load;

        while ((load = loader_take(pieces->loader))) {
                piece = &pieces->pieces[pieces->next++ % PERF_PIECES_MAX];
                free(piece->bytes);
                *piece = (PerfPiece){
                        .pid = load->pid,
                        .program = load->program,
                        .start = load->start,
                        .end = load->start + CODE_ROW_BYTES_MAX / 2,
                        .bytes = TAKE(load->piece),
                        .n_bytes = load->n_piece,
                        .read_ns = loader_now_ns(),
                };
                load_free(load);
                pieces->is_loading = false;
        }
}

static void request(PerfPieces *pieces, const PerfProcess *process, uint64_t address) {
        const Mapping *mapping = address_space_find(&process->space, address);
        Load *load;

        if (!mapping || (!pieces->loader && loader_new(&pieces->loader, pieces->owner) < 0))
                return;
        load = load_new(LOAD_PIECE, process->pid);
        if (!load)
                return;
        load->program = process->program;
        load->start = address & ~(PAGE_BYTES - 1);
        if (load->start > mapping->start)
                load->start -= MIN(BEFORE, load->start - mapping->start);
        load->end = load->start + CODE_ROW_BYTES_MAX;
        pieces->is_loading = loader_submit(pieces->loader, load);
        if (!pieces->is_loading)
                load_free(load);
}

/* Has a piece read, and waits for it; but not if another one takes that long already. */
static const PerfPiece *
read_piece(PerfPieces *pieces, const PerfProcess *process, uint64_t address, uint64_t until_ns) {
        if (pieces->is_loading || pieces->n_reads++ >= PERF_PIECE_READS_A_SECOND)
                return NULL;
        request(pieces, process, address);
        if (!pieces->is_loading)
                return NULL;
        loader_wait(pieces->loader, until_ns);
        take_loads(pieces);
        return find(pieces, process, address, loader_now_ns());
}

bool perf_pieces_row(PerfPieces *pieces,
                     UnwindRow *ret,
                     const PerfProcess *process,
                     const Architecture *architecture,
                     uint64_t address,
                     uint64_t until_ns) {
        const uint64_t now_ns = loader_now_ns();
        const PerfPiece *piece;

        if (!may_look(pieces, now_ns))
                return false;
        if (pieces->loader)
                take_loads(pieces);
        piece = find(pieces, process, address, now_ns);
        if (!piece)
                piece = read_piece(
                        pieces, process, address, MIN(until_ns, now_ns + PERF_PIECE_WAIT_NS));
        return piece && address - piece->start < piece->n_bytes &&
               code_row(ret,
                        architecture,
                        piece->bytes,
                        piece->n_bytes,
                        (size_t)(address - piece->start));
}
