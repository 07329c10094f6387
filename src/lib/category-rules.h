/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Category rules: which categories a session wants, by TrackEventConfig
 *
 * These lists are searched in turn in each of three tiers (the exact name; "prefix*"; "*"): enabled_categories,
 * disabled_categories, disabled_tags, enabled_tags. The first match decides; a category that nothing matches is
 * enabled. If the config lists no tags at all, the tags "slow" and "debug" are disabled.
 */

#include <stdbool.h>
#include <stddef.h>

/* `config` is a serialized perfetto.protos.TrackEventConfig; invalid bytes mean no rules. `tags` is a
 * comma-separated list, or NULL. */
bool category_rules_enable(const void *config, size_t n_config, const char *name, const char *tags);
