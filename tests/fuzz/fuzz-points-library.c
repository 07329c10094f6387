/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A library that a program has mapped, which may be anybody's: it is read without harm, and a place in it is within it.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "probes/points/point-library.h"
#include "shared/log.h"

static const Point points[] = {
        { .library = "lib*", .symbol = "pointed_outer", .meaning = POINT_SLICE },
        { .library = "libpointed.so.1", .symbol = "pointed_inner", .meaning = POINT_INSTANT },
        { .library = "lib*", .usdt = "toy:mark", .meaning = POINT_INSTANT },
        { .library = "lib*",
          .symbol = "pointed_step",
          .meaning = POINT_INSTANT,
          .n_arguments = 1,
          .arguments = { { .name = "a", .where = "+@pointed_step(arg1)", .type = POINT_U32 } } },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        int fd = memfd_create("library", MFD_CLOEXEC);
        PointLibrary library;
        PointSpot spot;

        log_set_level(LOG_ERR);
        FUZZ_CHECK(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes);
        if (point_library_open(&library, fd) == 0) {
                FUZZ_CHECK(strnlen(library.soname, sizeof(library.soname)) <
                           sizeof(library.soname));
                for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
                        (void)point_library_is_meant(&library, &points[i]);
                        (void)point_library_find(&library, &points[i], &spot);
                }
                point_library_close(&library);
        }
        close(fd);
        return 0;
}
