/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Requests to a producer in shared memory: see SmbRequest
 *
 * Where there is nothing to say but numbers they cost a fraction of a call through the message bus, and take none of
 * the places that it has for calls. What does not fit is a call.
 */

#include "bus/object/bus-producer.h"

enum {
        _PRODUCER_REQUEST_E_SUCCESS,
        PRODUCER_REQUEST_E_CALL, /* call instead: it does not know requests, or there is no room */
};

/* The answer is told to the core as that of a call of this kind and number. */
int producer_request(BusProducer *producer,
                     ProducerCallKind kind,
                     uint64_t id,
                     const uint64_t *instances,
                     size_t n_instances);

/* No instance is left; the memory is about to be unmapped here. */
void producer_request_release(BusProducer *producer);

/* The doorbell rang. */
void producer_take_answers(BusProducer *producer);
