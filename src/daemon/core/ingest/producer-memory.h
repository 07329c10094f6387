/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The life of a producer's shared memory: made at its first setup, given back soon after its last instance.
 */

#include "config/config.h"
#include "core/model/peer.h"

enum {
        _PRODUCER_MEMORY_E_SUCCESS,
        PRODUCER_MEMORY_E_LIMIT, /* of the user's shared memory */
};

/* Makes the shared memory, unless it exists. The sizes come from the config's entry for this producer's name, else
 * from its hints, else from the defaults. */
int producer_setup_memory(Producer *producer, const Perfetto__Protos__TraceConfig *config);

/* The last instance of a native producer has gone: the memory is given back, but not at once, as the next session may
 * be near. */
void producer_memory_unused(Producer *producer);
void producer_release_memory(Producer *producer);
