/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The input is a program's file. Looking for a function in it ends, with an offset or a sentence.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "host/probe.h"
#include "probes/ftrace/elf-symbols.h"

static void look_for(int fd, const char *symbol) {
        char *error = NULL;
        uint64_t offset;
        int r;

        r = elf_find_function(&offset, fd, "program", symbol, &error);
        FUZZ_CHECK(r == 0 || (r == PROBE_E_REFUSED && error));
        free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        int fd = memfd_create("program", MFD_CLOEXEC);

        FUZZ_CHECK(fd >= 0);
        FUZZ_CHECK(write(fd, data, n_bytes) == (ssize_t)n_bytes);
        look_for(fd, "f");
        look_for(fd, "g+0x10");
        close(fd);
        return 0;
}
