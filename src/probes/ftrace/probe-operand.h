/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe operand: translates the operands of static probes into the kernel's syntax for arguments of uprobes
 *
 * A note has them in the assembler's syntax, "-4@8(%rbp)" or "8@[sp, 16]": a size in bytes, which is negative if the
 * operand is signed, and the operand. The kernel supports registers, constants, and memory at a fixed distance from a
 * register, but not floating-point and index registers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_OPERANDS_MAX  12 /* of one probe: sys/sdt.h allows no more */
#define PROBE_OPERAND_BYTES 48

typedef struct ProbeOperand {
        char fetch[PROBE_OPERAND_BYTES]; /* "+8(%bp)"; "": the kernel cannot read it */
        char type[8];                    /* "s32" */
} ProbeOperand;

/* Translates all operands of a probe of a program for `machine` (EM_X86_64, EM_386 or EM_AARCH64; the kernel can
 * read no others). Returns their number. */
size_t probe_operands_parse(ProbeOperand ret[static PROBE_OPERANDS_MAX],
                            uint16_t machine,
                            const char *text);
