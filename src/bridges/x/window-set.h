/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Window set: numbers of windows, in a fixed table
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X_WINDOWS_MAX  4096                /* windows that are listened to; others are counted */
#define WINDOW_SET_ALL (4 * X_WINDOWS_MAX) /* enough places for most numbers to be at their own */

/* Zero-initialised is empty. */
typedef struct WindowSet {
        uint32_t windows[WINDOW_SET_ALL]; /* 0: free */
        size_t n;
} WindowSet;

bool window_set_has(const WindowSet *set, uint32_t window);
/* Returns false if the number is 0 or there already, or the set has X_WINDOWS_MAX. */
bool window_set_add(WindowSet *set, uint32_t window);
void window_set_remove(WindowSet *set, uint32_t window);
