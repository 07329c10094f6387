/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The life of a producer: how it comes, how it leaves its sessions, how it goes.
 */

#include "core/model/producer-info.h"
#include "shared/macro.h"

typedef struct ProducerSource ProducerSource;

int producer_new(Producer **ret,
                 Service *service,
                 const Identity *identity,
                 const char *name,
                 const ProducerOptions *options,
                 const ProducerOps *ops,
                 void *peer);

/* The connection is gone. */
Producer *producer_free(Producer *producer);
DEFINE_CLEANUP(Producer *, producer_free)

/* The service's own producer, with one source. `peer` is its SelfTrace. Returns 0, PRODUCER_E_LIMIT or -ENOMEM. */
int producer_new_builtin(Producer **ret,
                         Service *service,
                         const char *source,
                         const ProducerOps *ops,
                         void *peer);

/* Takes the source over on success only. */
int producer_append_source(Producer *producer, ProducerSource *source);
void producer_take_all(Producer *producer);
void producer_end_instances(Producer *producer, const ProducerSource *source);
void producer_stop_instances(Producer *producer, const ProducerSource *source);
