/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * When to look at a producer: after its doorbell rang, and then until it stays quiet.
 */

#include "core/model/peer.h"

/* Looks once at a producer that is awake, and takes about max_bytes. Returns how many commits there were. */
uint64_t producer_look(Producer *producer, uint64_t max_bytes);

/* The doorbell rang: takes everything committed, then keeps looking (service_tick()) until it stays quiet. */
void producer_doorbell(Producer *producer, uint64_t now);
