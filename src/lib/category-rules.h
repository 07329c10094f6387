/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which categories a session wants: the rules of TrackEventConfig
 *
 * In each of three tiers (the exact name; "prefix*"; "*") these lists are asked in turn: enabled_categories,
 * disabled_categories, disabled_tags, enabled_tags. The first match decides; what nothing matches is on. If the config
 * lists no tags at all, the tags "slow" and "debug" are disabled.
 */

#include <stdbool.h>
#include <stddef.h>

/* `config` is a serialized perfetto.protos.TrackEventConfig; bytes that are none mean no rules. `tags` is a
 * list with commas, or NULL. */
bool category_rules_enable(const void *config, size_t n_config, const char *name, const char *tags);
