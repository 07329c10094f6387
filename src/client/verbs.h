/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Verbs: the subcommands of desktrace. One row, one function, one file each.
 */

#include <stdio.h>

#include "client/invocation.h"

ExitStatus verb_record(Invocation *invocation);
ExitStatus verb_inspect(Invocation *invocation);
ExitStatus verb_query(Invocation *invocation);
ExitStatus verb_why(Invocation *invocation);
ExitStatus verb_top(Invocation *invocation);
ExitStatus verb_report(Invocation *invocation);
ExitStatus verb_diff(Invocation *invocation);
ExitStatus verb_export(Invocation *invocation);
ExitStatus verb_symbolize(Invocation *invocation);
ExitStatus verb_view(Invocation *invocation);
ExitStatus verb_status(Invocation *invocation);
ExitStatus verb_list(Invocation *invocation);
ExitStatus verb_doctor(Invocation *invocation);
ExitStatus verb_snapshot(Invocation *invocation);
ExitStatus verb_trigger(Invocation *invocation);
ExitStatus verb_attach(Invocation *invocation);
ExitStatus verb_stop(Invocation *invocation);
ExitStatus verb_read(Invocation *invocation);
ExitStatus verb_flush(Invocation *invocation);
ExitStatus verb_help(Invocation *invocation);

/* Returns NULL if no verb has this name. */
const Verb *verb_find(const char *name);

/* Reports "unknown verb", with the nearest one. Returns STATUS_USAGE. */
ExitStatus verb_unknown(const char *name);

/* Prints the overview. */
void verbs_print_help(FILE *stream);
