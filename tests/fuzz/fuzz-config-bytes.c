/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A serialized trace config: refused with a message, or taken as it is and printable as text. */

#include "config/config.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) char *text = NULL;
        ConfigError error = {};
        int r;

        r = config_new_from_bytes(&config, data, n_bytes, &error);
        if (r == CONFIG_E_INVALID) {
                FUZZ_CHECK(!config && error.message[0]);
                return 0;
        }
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(config->n_bytes == n_bytes &&
                   (n_bytes == 0 || memcmp(config->bytes, data, n_bytes) == 0));
        for (size_t i = 0; i < config->pb->n_data_sources; i++)
                FUZZ_CHECK(config->sources[i].n_bytes <= n_bytes);
        FUZZ_CHECK(config_to_text(&text, config) == 0);
        return 0;
}
