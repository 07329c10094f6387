/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Asking for setup, start and stop of an instance; model/source-instance.h is its state.
 */

#include "core/model/session-info.h"
#include "shared/bytes.h"
#include "shared/macro.h"

typedef struct ProducerSource ProducerSource;
typedef struct SessionSource SessionSource;
typedef struct SourceInstance SourceInstance;

/* Makes an instance in its session and its producer, and asks for its setup. The instance exists, stopped and with a
 * reason, when the setup could not even be asked for. */
int instance_new(SourceInstance **ret,
                 Session *session,
                 SessionSource *source,
                 Producer *producer,
                 ProducerSource *offered);
/* One that its program was told of by the process before, in that state. Only an error leaves nothing of it. Returns
 * 0 or -ENOMEM. */
int instance_restore(Session *session,
                     SessionSource *source,
                     Producer *producer,
                     ProducerSource *offered,
                     uint64_t id,
                     InstanceState state,
                     uint64_t dropped_before);
SourceInstance *instance_free(SourceInstance *instance);
DEFINE_CLEANUP(SourceInstance *, instance_free)

/* The config that its producer is to follow, a serialized DataSourceConfig, behind what is there. Returns 0 or
 * -ENOMEM. */
int instance_encode_config(const SourceInstance *instance, Bytes *ret);

void instance_start(SourceInstance *instance);
void instance_stop(SourceInstance *instance);

/* Its producer was away, and may not have heard what it was asked. */
void instance_ask_again(SourceInstance *instance);

/* Over: by acknowledgement (why NULL) or for a reason. Leaves the producer. */
void instance_stopped(SourceInstance *instance, const char *why);
