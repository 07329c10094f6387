/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ProducerCall: a method call on a producer
 *
 * The message bus allows a connection 128 calls without a reply, so calls wait their turn, in order for each
 * producer. A reply is the core's acknowledgement.
 */

#include "bus/object/bus-producer.h"

/* Makes the message for a call, to be filled in. */
int producer_call_message(sd_bus_message **ret, BusProducer *producer, ProducerCallKind kind);

/* Sends it with bus_settle(), when it is its turn; `id` is the instance's or flush's, `n_bytes` what the message is
 * charged for. Takes the message over, always. */
void producer_call(BusProducer *producer,
                   ProducerCallKind kind,
                   uint64_t id,
                   size_t n_bytes,
                   sd_bus_message *message);

/* A start may go with the setup of the same instance, if that has not been sent: one call and one reply. */
bool producer_call_joins_setup(BusProducer *producer, uint64_t id);

/* Sends what may be sent now. */
void bus_send_calls(Bus *bus);

/* Starts of suspended programs, which are asked again some day. */
uint64_t bus_parked_deadline(const Bus *bus);
void bus_look_at_parked(Bus *bus, uint64_t now);

/* Whether a call about this instance is out or waits. */
bool producer_call_is_pending(const BusProducer *producer, uint64_t id);

/* Tells the core of an answer that came in another way than by a reply. */
void producer_call_done(BusProducer *producer, ProducerCallKind kind, uint64_t id);

/* Forgets all calls of the producer. */
void producer_calls_drop(BusProducer *producer);
