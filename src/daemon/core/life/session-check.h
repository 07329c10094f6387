/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a config may ask for, in one call; life/check.h has the checks.
 */

#include "core/model/session-info.h"

/* Runs all checks of session_new() and changes nothing, so that polkit is asked only about sessions that could be
 * made. Returns 0 or one of SESSION_E_CONFIG, _LIMIT, _NAME_IN_USE, _NO_SOURCE. */
int session_check(Service *service,
                  const Config *config,
                  const SessionOptions *options,
                  SessionError *error,
                  uint64_t now);
