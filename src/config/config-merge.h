/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config merge: combines two trace configs into one that records what either would
 *
 * Buffers with the same name become one that has room for both. Data sources with the same name become one, so that
 * nothing is recorded twice: lists are united, a switch is on if either config has it on, and the shorter period wins.
 * A restricting list that one of the configs leaves out restricts nothing.
 */

#include "config/config.h"

/* Replaces `*config`. Returns 0, -ENOMEM, -E2BIG past CONFIG_BYTES_MAX or -EINVAL if the combination is not a valid
 * config. */
int config_merge(Config **config, const Config *other);
