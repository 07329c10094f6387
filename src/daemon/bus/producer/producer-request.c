/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests in the control area: each waits in a slot until the producer has answered it. */

#include "bus/producer/producer-request.h"
#include "bus/link/bell.h"
#include "bus/producer/producer-call.h"

static const SmbRequestKind request_kinds[_PRODUCER_CALL_N] = {
        [PRODUCER_CALL_STOP_SOURCE] = SMB_REQUEST_STOP,
        [PRODUCER_CALL_FLUSH] = SMB_REQUEST_FLUSH,
        [PRODUCER_CALL_CLEAR_STATE] = SMB_REQUEST_CLEAR,
};

/* A call and a request may overtake each other. */
static bool instances_are_known(const BusProducer *producer, const uint64_t *instances, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (producer_call_is_pending(producer, instances[i]))
                        return false;
        return true;
}

int producer_request(BusProducer *producer,
                     ProducerCallKind kind,
                     uint64_t id,
                     const uint64_t *instances,
                     size_t n_instances) {
        unsigned place;

        if (producer->bell < 0 || !instances_are_known(producer, instances, n_instances) ||
            producer_ask(producer->producer, request_kinds[kind], instances, n_instances, &place) !=
                    0)
                return PRODUCER_REQUEST_E_CALL;
        producer->asked[place].kind = kind;
        producer->asked[place].id = id;
        bell_ring(producer->bell);
        return 0;
}

void producer_request_release(BusProducer *producer) {
        unsigned place;

        /* A producer without room has not answered for a long time, and lets go when it is given other memory. */
        if (producer->bell >= 0 &&
            producer_ask(producer->producer, SMB_REQUEST_RELEASE, NULL, 0, &place) == 0)
                bell_ring(producer->bell);
}

void producer_take_answers(BusProducer *producer) {
        for (unsigned place = 0; place < SMB_REQUESTS; place++)
                if (producer_take_answer(producer->producer, place))
                        producer_call_done(
                                producer, producer->asked[place].kind, producer->asked[place].id);
}
