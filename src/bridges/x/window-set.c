/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Window set: numbers of windows, in a fixed table */

#include "bridges/x/window-set.h"

static size_t place_of(uint32_t window) {
        return (window * UINT32_C(2654435761) >> 8) % WINDOW_SET_ALL;
}

/* Returns the window's place, or else the place where it would be. */
static size_t find(const WindowSet *set, uint32_t window) {
        size_t i = place_of(window);

        while (set->windows[i] != 0 && set->windows[i] != window)
                i = (i + 1) % WINDOW_SET_ALL;
        return i;
}

bool window_set_has(const WindowSet *set, uint32_t window) {
        return window != 0 && set->windows[find(set, window)] == window;
}

bool window_set_add(WindowSet *set, uint32_t window) {
        if (window == 0 || set->n == X_WINDOWS_MAX || window_set_has(set, window))
                return false;
        set->windows[find(set, window)] = window;
        set->n++;
        return true;
}

/* Windows behind it may be there only because this place was taken. */
void window_set_remove(WindowSet *set, uint32_t window) {
        size_t i;

        if (!window_set_has(set, window))
                return;
        i = find(set, window);
        set->windows[i] = 0;
        set->n--;
        for (i = (i + 1) % WINDOW_SET_ALL; set->windows[i] != 0; i = (i + 1) % WINDOW_SET_ALL) {
                const uint32_t moved = set->windows[i];

                set->windows[i] = 0;
                set->windows[find(set, moved)] = moved;
        }
}
