/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Requests to a producer in shared memory: see SmbRequest
 *
 * If only numbers are to be sent, a request costs a fraction of a call through the message bus and occupies none of its
 * places. Everything else is a call.
 */

#include "bus/object/bus-producer.h"

enum {
        _PRODUCER_REQUEST_E_SUCCESS,
        PRODUCER_REQUEST_E_CALL, /* make a call instead: the producer does not know requests, or has no room */
};

/* The core is told of the answer as of a reply to a call of this kind and number. */
int producer_request(BusProducer *producer,
                     ProducerCallKind kind,
                     uint64_t id,
                     const uint64_t *instances,
                     size_t n_instances);

/* The last instance has ended; the memory is about to be unmapped here. */
void producer_request_release(BusProducer *producer);

/* The doorbell rang. */
void producer_take_answers(BusProducer *producer);
