/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * org.freedesktop.login1: who is logged in, which sessions are active or locked, and when the machine sleeps
 */

#include "host/probe.h"

extern const ProbeOps login_probe_ops;
