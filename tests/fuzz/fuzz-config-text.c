/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A trace config as text: refused with a place and a message, or printed as text that means the
 * same. */

#include "config/config.h"
#include "fuzz.h"

static char *as_text(const uint8_t *data, size_t n_bytes) {
        char *text = malloc(n_bytes + 1);

        FUZZ_CHECK(text);
        if (n_bytes > 0)
                memcpy(text, data, n_bytes);
        text[n_bytes] = '\0';
        return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        _cleanup_(config_freep) Config *config = NULL, *again = NULL;
        _cleanup_(freep) char *text = as_text(data, n_bytes), *printed = NULL, *reprinted = NULL;
        ConfigError error = {};
        int r;

        r = config_new_from_text(&config, text, &error);
        if (r == CONFIG_E_INVALID) {
                FUZZ_CHECK(!config && error.message[0]);
                return 0;
        }
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(config_to_text(&printed, config) == 0);
        r = config_new_from_text(&again, printed, &error);
        if (r != 0)
                fprintf(stderr,
                        "%u:%u: %s\n%s\n",
                        error.line,
                        error.column,
                        error.message,
                        printed);
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(config_to_text(&reprinted, again) == 0);
        FUZZ_CHECK(strcmp(printed, reprinted) == 0);
        return 0;
}
