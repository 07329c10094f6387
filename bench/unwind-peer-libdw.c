/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The peer of bench-unwind: libdw walks the same stacks */

#include <elfutils/libdwfl.h>
#include <string.h>
#include <unistd.h>

#include "unwind-peer.h"

#define N_REGISTERS 17 /* DWARF's: the last one is the pc */

typedef struct Peer {
        Dwfl *dwfl;
        const UnwindRegisters *registers;
        const UnwindStack *stack;
        size_t n_frames;
} Peer;

static Peer peer;

static pid_t next_thread(Dwfl *dwfl, void *userdata, void **ret_thread) {
        if (*ret_thread)
                return 0;
        *ret_thread = userdata;
        return getpid();
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *userdata, void **ret_thread) {
        *ret_thread = userdata;
        return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *userdata) {
        const UnwindStack *stack = peer.stack;

        if (address < stack->address || stack->n_bytes < sizeof(*ret) ||
            address - stack->address > stack->n_bytes - sizeof(*ret))
                return false;
        memcpy(ret, (const uint8_t *)stack->bytes + (address - stack->address), sizeof(*ret));
        return true;
}

static bool set_registers(Dwfl_Thread *thread, void *userdata) {
        Dwarf_Word words[N_REGISTERS];

        for (size_t i = 0; i < N_REGISTERS - 1; i++)
                words[i] = peer.registers->values[i];
        words[N_REGISTERS - 1] = peer.registers->pc;
        return dwfl_thread_state_registers(thread, 0, N_REGISTERS, words);
}

static int count_frame(Dwfl_Frame *frame, void *userdata) {
        Dwarf_Addr pc;

        peer.n_frames += dwfl_frame_pc(frame, &pc, NULL);
        return DWARF_CB_OK;
}

bool unwind_peer_open(const UnwindRegisters *registers, const UnwindStack *stack) {
        static const Dwfl_Callbacks files = {
                .find_elf = dwfl_linux_proc_find_elf,
                .find_debuginfo = dwfl_standard_find_debuginfo,
        };
        static const Dwfl_Thread_Callbacks threads = {
                .next_thread = next_thread,
                .get_thread = get_thread,
                .memory_read = read_memory,
                .set_initial_registers = set_registers,
        };

        peer = (Peer){ .dwfl = dwfl_begin(&files), .registers = registers, .stack = stack };
        if (peer.dwfl && dwfl_linux_proc_report(peer.dwfl, getpid()) == 0 &&
            dwfl_report_end(peer.dwfl, NULL, NULL) == 0 &&
            dwfl_attach_state(peer.dwfl, NULL, getpid(), &threads, &peer))
                return true;
        unwind_peer_close();
        return false;
}

/* It goes on to what is above the last function, and says that this was an error. */
size_t unwind_peer_walk(void) {
        peer.n_frames = 0;
        (void)dwfl_getthread_frames(peer.dwfl, getpid(), count_frame, NULL);
        return peer.n_frames;
}

void unwind_peer_close(void) {
        if (peer.dwfl)
                dwfl_end(peer.dwfl);
        peer.dwfl = NULL;
}
