/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

typedef struct Pointed {
        uint64_t unused;
        int number; /* at 8 */
} Pointed;

int pointed_step(Pointed *pointed, int value);
int pointed_outer(Pointed *pointed);
int pointed_inner(Pointed *pointed);
void pointed_slow(void);
/* Calls `back`, which need not return. */
int pointed_around(void (*back)(void *userdata), void *userdata);
