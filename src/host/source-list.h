/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Source list: the data sources of this program, for people and for scripts
 *
 * What --list-sources prints. docs/SOURCES.md is made of it by scripts/sources-table.
 */

#include <stdbool.h>
#include <stddef.h>

#include "host/probe.h"

/* To stdout: each source, what it records, reads and needs, and whether this machine has it. */
void source_list_print(const ProbeOps *const *probes, size_t n_probes, bool as_json);
