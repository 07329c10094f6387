/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Config details: what polkit's rules and prompts are told of a config */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config-details.h"
#include "config/probe-definitions.h"
#include "shared/bytes.h"

/* All of them: a rule that allows what it sees must see everything. */
static int sources_text(char **ret, const Config *config) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r;

        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;
                const char *name = source && source->name ? source->name : "";

                r = bytes_append(&text, ",", i > 0);
                if (r >= 0)
                        r = bytes_append(&text, name, strlen(name));
                if (r < 0)
                        return r;
        }
        r = bytes_append(&text, "", 1);
        if (r < 0)
                return r;
        *ret = (char *)TAKE(text.data);
        return 0;
}

/* Shortens the list to a length that a person can take in. */
static int probes_text(char **ret, size_t *ret_n, const Config *config) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r;

        r = config_append_probe_definitions(&text, config);
        if (r < 0)
                return r;
        *ret_n = text.n;
        if (text.n > PROBE_DEFINITIONS_TEXT_MAX)
                return CONFIG_DETAILS_E_LIMIT;
        if (text.n > 0)
                text.n--; /* the last one's end */
        r = bytes_append(&text, "", 1);
        if (r < 0)
                return r;
        *ret = (char *)TAKE(text.data);
        return 0;
}

int config_details_init(ConfigDetails *details, const Config *config) {
        const char *name = config->pb->unique_session_name;
        int r;

        *details = (ConfigDetails){ .session = name ? name : "" };
        snprintf(details->duration_ms,
                 sizeof(details->duration_ms),
                 "%" PRIu32,
                 config->pb->duration_ms);
        r = sources_text(&details->sources, config);
        if (r == 0)
                r = probes_text(&details->probes, &details->n_probes_bytes, config);
        return r;
}

void config_details_deinit(ConfigDetails *details) {
        free(details->sources);
        free(details->probes);
}
