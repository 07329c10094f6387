/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rust's names, which anybody can put into a program. C++'s are taken apart by a library. */

#include <string.h>

#include "fuzz.h"
#include "symbols/demangle-rust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        char *name = malloc(n_bytes + 3), *text;

        FUZZ_CHECK(name);
        memcpy(name, "_R", 2);
        if (n_bytes > 0)
                memcpy(name + 2, data, n_bytes);
        name[n_bytes + 2] = '\0';
        text = demangle_rust(name);
        FUZZ_CHECK(!text || strlen(text) <= RUST_TEXT_BYTES_MAX);
        free(text);
        free(name);
        return 0;
}
