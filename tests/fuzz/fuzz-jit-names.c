/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file in which a program names the code that it makes, and which anybody can write for his own programs. */

#include <string.h>

#include "fuzz.h"
#include "probes/perf/jit-names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        char *text = malloc(n_bytes + 1);
        JitNames *names;

        FUZZ_CHECK(text);
        if (n_bytes > 0)
                memcpy(text, data, n_bytes);
        text[n_bytes] = '\0';
        FUZZ_CHECK(jit_names_new(&names, text, n_bytes) == 0);
        for (size_t i = 0; i < names->n; i++) {
                const JitName *name = &names->names[i];

                FUZZ_CHECK(name->start < name->end && name->n_text == strlen(name->text));
                FUZZ_CHECK(name->n_text > 0 && name->n_text <= JIT_NAME_BYTES_MAX);
                FUZZ_CHECK(i == 0 || names->names[i - 1].start < name->start);
                FUZZ_CHECK(jit_names_find(names, name->start) == name);
        }
        jit_names_free(names);
        return 0;
}
