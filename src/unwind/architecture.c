/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Architecture: the parts of unwinding that differ between processors */

#include <elf.h>
#include <stddef.h>

#include "shared/macro.h"
#include "unwind/architecture.h"

/* struct rt_sigframe of the kernel's arch/x86: a return address (popped then), and a ucontext, whose general registers
 * begin at byte 40: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. In DWARF's order: rax, rdx, rcx, rbx, rsi,
 * rdi, rbp, rsp, r8 to r15, rip. */
static const int16_t signal_offsets_x86_64[] = {
        144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168,
};

/* struct rt_sigframe of the kernel's arch/arm64: 128 bytes of siginfo, and a ucontext, whose registers begin at byte
 * 184: x0 to x30, the stack pointer, pc. */
static const int16_t signal_offsets_arm64[] = {
        312, 320, 328, 336, 344, 352, 360, 368, 376, 384, 392, 400, 408, 416, 424, 432, 440,
        448, 456, 464, 472, 480, 488, 496, 504, 512, 520, 528, 536, 544, 552, 560, 568,
};

static const Architecture architectures[] = {
        {
                .elf_machine = EM_X86_64,
                .stack_pointer = 7,
                .kept = { [KEPT_FRAME_POINTER] = 6, [KEPT_BASE] = 3 },
                .return_address = 16,
                .n_registers = 17,
                .signal_frame = { signal_offsets_x86_64, ARRAY_SIZE(signal_offsets_x86_64) },
        },
        {
                .elf_machine = EM_AARCH64,
                .stack_pointer = 31,
                .kept = { [KEPT_FRAME_POINTER] = 29, [KEPT_BASE] = 19 },
                .return_address = 30,
                .n_registers = 33,
                .signal_frame = { signal_offsets_arm64, ARRAY_SIZE(signal_offsets_arm64) },
        },
};

const Architecture *architecture_of_elf(uint16_t elf_machine) {
        for (size_t i = 0; i < ARRAY_SIZE(architectures); i++)
                if (architectures[i].elf_machine == elf_machine)
                        return &architectures[i];
        return NULL;
}
