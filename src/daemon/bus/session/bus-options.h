/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The options of StartSession()
 *
 * They are read from D-Bus into StartOptions, and then made into a trace config: the preset or config that was given,
 * with whatever the typed options add and change.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "bus/link/option-reader.h"
#include "config/config.h"
#include "core/model/policy.h"

#define START_BUFFER_KB_DEFAULT 32768

typedef struct StartOptions {
        char *preset;
        char *config_text;
        OptionBytes config;
        char **sources, **events, **categories; /* NULL-terminated, or NULL */
        uint32_t buffer_size_kb;
        uint32_t duration_ms;
        uint32_t snapshot_before_ms;
        char *fill_policy;
        char *name;
        char *scope;
        int output_fd; /* the message's; -1: none */
        bool detach;
        bool broadcast;
        bool partial;
        uint64_t given; /* which options were given, by their place in the table */
} StartOptions;

#define START_OPTIONS_INIT \
        { .output_fd = -1 }

void start_options_deinit(StartOptions *options);

/* Reads an a{sv}. Returns 0, or a negative errno with *error set: an unknown, repeated, or ill-typed option is
 * named. */
int start_options_read(StartOptions *options, sd_bus_message *message, sd_bus_error *error);

/* Reads the config of another method, whose only options are "config" and "config-text"; one must be given. Returns
 * 0, or a negative errno with *error set. */
int config_options_read(Config **ret,
                        const char *method,
                        sd_bus_message *message,
                        sd_bus_error *error);

/* Makes the config and the scope that the options describe. Returns 0, or a negative errno with *error set. */
int start_options_to_config(Config **ret,
                            PolicyScope *ret_scope,
                            const StartOptions *options,
                            sd_bus_error *error);
