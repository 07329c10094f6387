/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The checks of a config, for each other
 *
 * Each asks one question, changes nothing and returns 0 or says in check->error what was asked and what is wrong
 * with it. session-check.c has the table of them, in the order in which they are asked.
 *
 *      session-check.c           the table; what is about the session alone
 *      session-check-buffers.c   buffers, and who writes to which
 *      session-check-sources.c   data sources
 */

#include "core/session-private.h"

typedef Perfetto__Protos__TraceConfig ConfigPb;

typedef struct Check {
        Service *service;
        const ConfigPb *config;
        const SessionOptions *options;
        SessionError *error;
        uint64_t now;
} Check;

/* Every limit is refused in the same words: what, how much, which limit, how much that is. */
int check_range(const Check *check,
                const char *field,
                uint64_t value,
                uint64_t max,
                const char *limit);

int check_buffer_count(const Check *check);
int check_buffers(const Check *check);
int check_buffer_names(const Check *check);
int check_targets(const Check *check);
int check_sources(const Check *check);
