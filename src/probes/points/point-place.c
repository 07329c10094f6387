/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point place: where in a function a uprobe costs least */

#include <elf.h>
#include <string.h>

#include "probes/points/point-place.h"

static bool is_conditional_jump(const uint8_t *code, size_t n) {
        return n >= 6 &&
               ((code[0] & 0xf0) == 0x70 || (code[0] == 0x0f && (code[1] & 0xf0) == 0x80));
}

/* push %reg, nop, jmp, jcc, call: the instructions that arch/x86/kernel/uprobes.c emulates. */
static bool is_emulated(const uint8_t *code, size_t n) {
        if (n < 6)
                return false;
        if ((code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50))
                return true;
        if (code[0] == 0x90 || (code[0] == 0x0f && code[1] == 0x1f))
                return true;
        return code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
               is_conditional_jump(code, n);
}

/* The length of a test %reg,%reg or cmp $imm8,%reg, which change only flags; else 0. */
static size_t comparison_length(const uint8_t *code, size_t n) {
        size_t prefix = n > 0 && (code[0] & 0xf8) == 0x48; /* REX.W */

        if (n < prefix + 3 || (code[prefix + 1] & 0xc0) != 0xc0) /* a register, not memory */
                return 0;
        if (code[prefix] == 0x85)
                return prefix + 2;
        return code[prefix] == 0x83 && (code[prefix + 1] & 0x38) == 0x38 ? prefix + 3 : 0;
}

static PointPlace choose_x86_64(const uint8_t *code, size_t n) {
        static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
        size_t at = 0, compared;

        if (n >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
                at = sizeof(endbr64);
        if (is_emulated(code + at, n - at))
                return (PointPlace){ .skipped = (uint32_t)at };
        compared = comparison_length(code + at, n - at);
        if (compared > 0 && is_conditional_jump(code + at + compared, n - at - compared))
                return (PointPlace){ .skipped = (uint32_t)(at + compared) };
        return (PointPlace){ .is_expensive = true };
}

PointPlace point_place_choose(uint16_t machine, const uint8_t *code, size_t n) {
        if (machine == EM_X86_64)
                return choose_x86_64(code, n);
        return (PointPlace){}; /* on other machines it makes no difference */
}
