/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point place: where in a function a uprobe costs least
 *
 * On x86-64, the kernel emulates a few of the instructions on which a probe can sit. It executes all others out of line
 * in a single step, which takes about thirty times as long in a virtual machine. Many functions begin with an
 * instruction of the second kind, followed by one of the first. The probe may be moved past it if that instruction
 * changes neither the arguments nor the stack, so that the arguments are still in place and the return address is
 * found.
 *
 * Only whole instructions that are known are skipped. So if the function begins with an instruction, so does the place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINT_CODE_BYTES 32 /* at the beginning of a function */

typedef struct PointPlace {
        uint32_t skipped; /* bytes from the start of the function */
        bool is_expensive;
} PointPlace;

/* `code` is the beginning of the function. */
PointPlace point_place_choose(uint16_t machine, const uint8_t *code, size_t n);
