/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ProducerCall: a method call on a producer
 *
 * The message bus allows a connection 128 calls without a reply. So calls wait for a place, in their order for each
 * producer. A reply acknowledges the request to the core.
 */

#include "bus/object/bus-producer.h"

/* How long to wait for the reply to one call. The core's own deadlines are shorter; this one only bounds how long
 * the call occupies a place. */
#define PRODUCER_CALL_TIMEOUT_USEC (UINT64_C(25) * 1000000)

/* Makes the message for a call, to be filled in. */
int producer_call_message(sd_bus_message **ret, BusProducer *producer, ProducerCallKind kind);

/* Queues the message: bus_settle() sends it in its turn. `id` is the instance's or flush's, `n_bytes` is what the
 * message is charged for. Always takes the message over; nothing is sent to a program that has to go. */
void producer_call(BusProducer *producer,
                   ProducerCallKind kind,
                   uint64_t id,
                   size_t n_bytes,
                   sd_bus_message *message);

/* If the setup of the same instance has not been sent yet, a start can be joined to it: one call and one reply. */
bool producer_call_joins_setup(BusProducer *producer, uint64_t id);

/* Sends what may be sent now: up to BUS_CALLS_PER_TURN calls over the message bus, and as many over sockets. The second
 * function says whether there are more. */
void bus_send_calls(Bus *bus);
bool bus_has_calls_to_send(const Bus *bus);

/* Starts of suspended programs, which are asked again later. */
uint64_t bus_parked_deadline(const Bus *bus);
void bus_look_at_parked(Bus *bus, uint64_t now);

/* Whether a call about this instance is queued or unanswered. */
bool producer_call_is_pending(const BusProducer *producer, uint64_t id);

/* Passes an answer to the core that came in another way than by a reply. */
void producer_call_done(BusProducer *producer, ProducerCallKind kind, uint64_t id);

/* Forgets all calls of the producer. */
void producer_calls_drop(BusProducer *producer);
