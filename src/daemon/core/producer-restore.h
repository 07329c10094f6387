/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A producer of a service that is gone, in the one that came after it
 *
 * Its memory was kept, so what it had committed, or finished, goes where it would have gone. Its sequences stay its
 * own: the buffers know by their numbers the chunks that the process before had taken, and take none of them twice.
 * It is away until its program registers again (producer_return()). One that does not is freed as if its connection
 * had ended.
 */

#include "core/life/producer-past.h"

/* After the sessions were restored, with its origin_id among their SessionFormer.producers. The memory has the size
 * that smb_native_bytes() says, and stays mapped until release_memory() or producer_free(). While the producer is
 * away, `ops` may ignore whatever is asked: it is asked again. Returns 0, PRODUCER_E_…, -ENOMEM, or -EBADMSG: no
 * session that it wrote to is left, or the memory has another size. */
int producer_restore(Producer **ret,
                     Service *service,
                     const ProducerPast *past,
                     void *memory,
                     size_t n_memory,
                     const ProducerOps *ops,
                     void *peer,
                     uint64_t now);

/* Before the sessions are restored: its numbers are no other's. Returns 0 or -ENOMEM. */
int service_expect_producer(Service *service, const ProducerPast *past);
/* It cannot be restored: what its sequences wait for does not come. */
void service_give_up_on_producer(Service *service, const ProducerPast *past);

/* One for each of its data sources in each session; each is compared with those that there are. */
#define PRODUCER_RETURNED_MAX (PRODUCER_SOURCES_MAX * SERVICE_SESSIONS_MAX)

/* The program is back, in the memory that it has. `instances` are those that it has still; those beyond the limit are
 * not. */
void producer_return(Producer *producer,
                     const uint64_t *instances,
                     size_t n_instances,
                     uint64_t now);

/* Which of its instances its program is to go on with: calls `found` with each. */
void producer_list_instances(const Producer *producer,
                             void (*found)(void *userdata, uint64_t instance),
                             void *userdata);
