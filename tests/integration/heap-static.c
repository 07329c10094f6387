/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that is linked statically, so that nothing can be loaded into it; or dynamically, but for a fixed place in
 * memory. Then the address of malloc() is one in the program, which leads to the function.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
        void *(*volatile allocate)(size_t) = malloc;
        void *volatile memory = allocate(8000000);

        printf("%d\n", (int)getuid());
        free(memory);
        return 0;
}
