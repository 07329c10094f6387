/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A library that is loaded and unloaded, built twice: its functions differ in name only
 */

#include <stdlib.h>

#define BYTES 8000

void plugin_allocate(void **memory, int n);

__attribute__((__noinline__, __noclone__)) static void PLUGIN_SITE(void **memory, int n) {
        for (int i = 0; i < n; i++)
                memory[i] = malloc(BYTES);
}

__attribute__((__visibility__("default"))) void plugin_allocate(void **memory, int n) {
        PLUGIN_SITE(memory, n);
        __asm__ volatile("" ::: "memory"); /* a call, not a jump */
}
