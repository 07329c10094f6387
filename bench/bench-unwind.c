/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A frame of a call stack: of the program's own stack, as deep as libraries' callbacks make it; and
 * beside it what libdwfl needs for the same stack, where that is installed
 */

#include <elf.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "../tests/unit/unwind/module-file.h"
#include "bench.h"
#include "shared/macro.h"
#include "unwind-peer.h"

#define N_WALKS     20000u
#define N_PEER      1000u
#define STACK_BYTES (32u << 10)

typedef struct Bench {
        TestFiles files;
        AddressSpace space;
        Unwinder *unwinder;
        UnwindRegisters registers;
        UnwindStack stack;
        uint8_t bytes[STACK_BYTES];
        uint64_t n_frames;
} Bench;

static Bench bench;

/* In DWARF's order. */
static void take_registers(UnwindRegisters *ret, const ucontext_t *context) {
        static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15 };

        *ret = (UnwindRegisters){ .pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP],
                                  .known = 0xffff };
        for (size_t i = 0; i < ARRAY_SIZE(order); i++)
                ret->values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

static void take_stack(void) {
        extern char **environ;
        ucontext_t context;
        uint64_t sp;
        size_t n_bytes;

        getcontext(&context);
        take_registers(&bench.registers, &context);
        sp = bench.registers.values[7];
        n_bytes = MIN((uint64_t)environ - sp, (uint64_t)STACK_BYTES);
        memcpy(bench.bytes, (const void *)sp, n_bytes);
        bench.stack = (UnwindStack){ sp, bench.bytes, n_bytes };
}

/* Functions that are all different: a stack has no place twice. */
#define FUNCTION(n, next)                                  \
        static __attribute__((noinline)) int f##n(int x) { \
                char text[16 + n % 5 * 24];                \
                                                           \
                bench_use(text);                           \
                return next(x + n) + n;                    \
        }

static __attribute__((noinline)) int f0(int x) {
        take_stack();
        return x;
}

FUNCTION(1, f0)
FUNCTION(2, f1)
FUNCTION(3, f2)
FUNCTION(4, f3)
FUNCTION(5, f4)
FUNCTION(6, f5)
FUNCTION(7, f6)
FUNCTION(8, f7)
FUNCTION(9, f8)
FUNCTION(10, f9)
FUNCTION(11, f10)
FUNCTION(12, f11)
FUNCTION(13, f12)
FUNCTION(14, f13)
FUNCTION(15, f14)
FUNCTION(16, f15)
FUNCTION(17, f16)
FUNCTION(18, f17)
FUNCTION(19, f18)
FUNCTION(20, f19)
FUNCTION(21, f20)
FUNCTION(22, f21)
FUNCTION(23, f22)
FUNCTION(24, f23)

static void walk(void *userdata) {
        bench.n_frames = 0;
        for (unsigned i = 0; i < N_WALKS; i++) {
                if (unwinder_run(bench.unwinder, &bench.space, &bench.registers, &bench.stack) !=
                    UNWIND_COMPLETE)
                        abort();
                bench.n_frames += bench.unwinder->n_frames;
        }
}

/* What is known of places is gone before each stack; what is known of files is not. */
static void walk_forgetful(void *userdata) {
        bench.n_frames = 0;
        for (unsigned i = 0; i < N_WALKS; i++) {
                bench.space.generation++;
                if (unwinder_run(bench.unwinder, &bench.space, &bench.registers, &bench.stack) !=
                    UNWIND_COMPLETE)
                        abort();
                bench.n_frames += bench.unwinder->n_frames;
        }
}

/* A function's row, found in the index and made. */
static void make_rows(void *userdata) {
        const Module *module = userdata;

        for (unsigned i = 0; i < N_WALKS; i++) {
                const uint8_t *entry = module->index.rows + i * 131 % module->index.n_rows * 8;
                int32_t start;
                UnwindRow row;

                memcpy(&start, entry, sizeof(start));
                module_row(module, &row, module->index.address + (uint64_t)(int64_t)start + 20);
                bench_use(&row);
        }
}

static Module *largest_module(void) {
        Module *largest = bench.files.files[0].code.module;

        for (size_t i = 0; i < bench.files.n; i++) {
                Module *module = bench.files.files[i].code.module;

                if (module && module_bytes(module) > module_bytes(largest))
                        largest = module;
        }
        return largest;
}

static void walk_as_peer(void *userdata) {
        for (unsigned i = 0; i < N_PEER; i++)
                bench.n_frames = unwind_peer_walk();
}

/* What libdwfl needs for a frame whose file and tables it knows, as it is faster the second time. */
static void report_peer(double ours_ns) {
        double ns;

        if (!unwind_peer_open(&bench.registers, &bench.stack)) {
                puts("libdwfl is not installed, or cannot walk here");
                return;
        }
        ns = bench_best_ns(walk_as_peer, NULL) / N_PEER / (double)bench.n_frames;
        printf("%-52s %8.1f ns         (%.1f x ours, %" PRIu64 " frames)\n",
               "a frame, known place, libdwfl",
               ns,
               ns / ours_ns,
               bench.n_frames);
        unwind_peer_close();
}

int main(void) {
        bool ok;
        double ns;

        if (unwinder_new(&bench.unwinder, EM_X86_64) < 0)
                return EXIT_FAILURE;
        address_space_init(&bench.space);
        test_space_load(&bench.space, &bench.files, getpid());
        bench_use(f24(1));
        walk(NULL);
        printf("a stack of %zu frames\n", bench.unwinder->n_frames);
        ns = bench_best_ns(walk, NULL);
        ns /= (double)bench.n_frames;
        ok = bench_report_ns("a frame, known place", ns, 50);
        report_peer(ns);
        ns = bench_best_ns(walk_forgetful, NULL);
        ok = bench_report_ns(
                     "a frame, another process's, known file", ns / (double)bench.n_frames, 150) &&
             ok;
        ns = bench_best_ns(make_rows, largest_module());
        ok = bench_report_ns("a row, from .eh_frame", ns / N_WALKS, 500) && ok;
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
