/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that loads the library which it is told, and calls it for some seconds, or as often as it is told.
 */

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "pointed.h"

int main(int argc, char **argv) {
        void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
        int (*outer)(Pointed * pointed) = NULL;
        const int n = argc > 2 ? atoi(argv[2]) : 120;
        Pointed pointed = {};

        if (library)
                *(void **)&outer = dlsym(library, "pointed_outer");
        for (int i = 0; outer && i < n; i++) {
                outer(&pointed);
                usleep(50 * 1000);
        }
        return outer ? EXIT_SUCCESS : EXIT_FAILURE;
}
