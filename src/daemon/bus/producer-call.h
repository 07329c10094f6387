/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ProducerCall: a method call on a producer
 *
 * The message bus allows a connection 128 calls without a reply, so calls wait their turn, in order for each
 * producer. A reply is the core's acknowledgement.
 */

#include "bus/bus-producer.h"

/* Makes the message for a call, to be filled in. */
int producer_call_message(sd_bus_message **ret, BusProducer *producer, ProducerCallKind kind);

/* Sends it when it is its turn; `id` is the instance's or flush's, `n_bytes` what the message is charged for. Takes the
 * message over, always. */
void producer_call(BusProducer *producer,
                   ProducerCallKind kind,
                   uint64_t id,
                   size_t n_bytes,
                   sd_bus_message *message);

/* Whether a call about this instance is out or waits. */
bool producer_call_is_pending(const BusProducer *producer, uint64_t id);

/* Tells the core of an answer that came in another way than by a reply. */
void producer_call_done(BusProducer *producer, ProducerCallKind kind, uint64_t id);

/* Forgets all calls of the producer. */
void producer_calls_drop(BusProducer *producer);
