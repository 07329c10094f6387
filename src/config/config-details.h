/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config details: what polkit's rules and prompts are told of a config
 *
 * The service and the probes ask polkit about the same recording, with the same words.
 */

#include "config/config.h"

typedef struct ConfigDetails {
        char *sources; /* names of all data sources, separated by commas */
        char *probes; /* a line for each probe that the config defines (probe-definitions.h), or "" */
        char duration_ms[sizeof("4294967295")]; /* "0": until stopped */
        const char *session;                    /* the config's: its unique name, or "" */
        size_t n_probes_bytes;                  /* when there are too many */
} ConfigDetails;

enum {
        _CONFIG_DETAILS_E_SUCCESS,
        CONFIG_DETAILS_E_LIMIT, /* PROBE_DEFINITIONS_TEXT_MAX: what could not be shown is not asked about */
};

/* Returns 0, CONFIG_DETAILS_E_LIMIT or -ENOMEM. The config must outlive them. */
int config_details_init(ConfigDetails *details, const Config *config);
void config_details_deinit(ConfigDetails *details);
