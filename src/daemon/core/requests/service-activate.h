/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Activation: producers that are not running, and are started when a session needs them.
 */

#include "core/model/peer.h"

/* A producer has come, or has one more source. */
void service_activated(Service *service);
void service_tick_activations(Service *service, uint64_t now);
uint64_t service_activations_deadline(const Service *service);
/* Of service_activation_failed(), for those that service_activate_all() has asked for. */
void service_activation_ends(Service *service, size_t index, const char *why, uint64_t now);

/* Starts activatable producers that are not running, so that their sources can be listed in detail. They, and
 * programs that see a fresh service, are awaited for at most SERVICE_COMING_NS. One that did not come when it was
 * asked is asked again after SERVICE_RETRY_NS at the earliest. */
void service_activate_all(Service *service, uint64_t now);
/* Likewise, and starts nobody: only programs that see a fresh service are awaited. */
void service_gather(Service *service, uint64_t now);
bool service_awaits_producers(const Service *service);
/* Why the source's producer did not come then; NULL: it was not asked for, or it came. */
const char *service_activation_error(Service *service, const char *source);
