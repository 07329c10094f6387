/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Die: the end of a program that cannot measure */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

_Noreturn void die(const char *what, int r) {
        fprintf(stderr,
                "bench-scale: %s%s%s\n",
                what,
                r < 0 ? ": " : "",
                r < 0 ? strerror(-r) : "");
        exit(EXIT_FAILURE);
}
