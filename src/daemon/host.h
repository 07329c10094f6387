/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Host: clocks, random numbers, and facts about this machine, for the core
 */

#include "core/service.h"

/* ServiceOps.read_clocks, .read_boottime, .random and .is_suspended. */
size_t host_read_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]);
uint64_t host_read_boottime(void *userdata);
void host_random(void *userdata, void *ret, size_t n_bytes);
bool host_is_suspended(void *userdata, const Identity *identity);

uint64_t host_now(void); /* BOOTTIME, ns */

/* Fills in everything but is_private; to be called once. If `probes_user` does not exist, only root may register
 * reserved names. */
void host_info(ServiceInfo *ret, const char *probes_user);
