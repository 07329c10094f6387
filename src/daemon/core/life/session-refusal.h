/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What is said when a session cannot be had.
 */

#include "core/model/session-info.h"
#include "shared/macro.h"

int session_error(SessionError *error, int outcome, const char *format, ...) _printf_(3, 4);
int session_error_quota(const Session *session, SessionError *error, QuotaSlot slot, uint64_t n);
