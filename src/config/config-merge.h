/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config merge: two trace configs as one that records what either would
 *
 * Buffers of one name become one that has room for both. Data sources of one name become one, so that nothing is
 * recorded twice: lists are united, switches are on if either has them on, periods are the shorter ones. A list that
 * restricts, and that one of them leaves out, restricts nothing.
 */

#include "config/config.h"

/* Replaces *config. 0, -ENOMEM, -E2BIG past CONFIG_BYTES_MAX, -EINVAL when the two make no config. */
int config_merge(Config **config, const Config *other);
