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
 *      session-check-triggers.c  triggers
 *      session-check-limits.c    times, guardrails, how many sessions there may be
 *      session-check-others.c conflicts with other sessions
 */

#include "core/life/session-refusal.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"

#define CHECK_SLIPS_MAX 4 /* unknown names of data sources that a suggestion is looked for */

typedef struct Check {
        Service *service;
        const ConfigPb *config;
        const SessionOptions *options;
        SessionError *error;
        uint64_t now;
        uid_t user; /* who would be charged */
} Check;

#define check_refuse(check, outcome, ...) session_error((check)->error, outcome, __VA_ARGS__)

/* All refusals of a limit have the same form: what was asked, how much, which limit, and its value. */
int check_range(const Check *check,
                const char *field,
                uint64_t value,
                uint64_t max,
                const char *limit);

/* Whether the user may have `n` more; if not, the error says which limit it is. */
int check_quota(const Check *check, QuotaSlot slot, uint64_t n);

/* Whether the session has triggers: then they or trigger_timeout_ms end it, and not duration_ms. */
bool check_has_triggers(const ConfigPb *config);

/* The longest duration that this config may ask for, and what that limit is called. */
uint64_t check_duration_max_ms(const Check *check, const char **ret_limit);

int check_buffer_count(const Check *check);
int check_buffers(const Check *check);
int check_buffer_names(const Check *check);
int check_targets(const Check *check);
int check_sources(const Check *check);
int check_regexes(const Check *check);
int check_filters(const Check *check, const Perfetto__Protos__TraceConfig__DataSource *source);

int check_trigger_mode(const Check *check);
int check_trigger_times(const Check *check);
int check_trigger_output(const Check *check);
int check_triggers(const Check *check);

int check_times(const Check *check);
int check_guardrails(const Check *check);
int check_sessions(const Check *check);

int check_exclusive(const Check *check);
int check_name(const Check *check);
int check_semaphores(const Check *check);
int check_recent(const Check *check);
