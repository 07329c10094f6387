/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Library hooks: they watch for libraries that the program unloads
 *
 * The next library may be loaded at the same place, and then the same addresses belong to other functions.
 */

#include <dlfcn.h>
#include <string.h>

#include "heap/walk.h"
#include "shared/macro.h"

_public_ int dlclose(void *library) {
        static int (*real_close)(void *);
        int r;

        if (!real_close) {
                void *found = dlsym(RTLD_NEXT, "dlclose");

                memcpy(&real_close, &found, sizeof(found));
        }
        r = real_close(library);
        walkers_doubt();
        return r;
}
