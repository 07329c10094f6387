/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of a producer. */

#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "core/model/source-instance.h"
#include "smb/smb-reader.h"

#define NS_PER_S             UINT64_C(1000000000)
#define PRODUCER_DROP_NS     (NS_PER_S / PRODUCER_DROPS_PER_SECOND_MAX)
#define PRODUCER_DROPS_FIRST PRODUCER_DROPS_PER_SECOND_MAX /* the service's clock may be late */

ssize_t producer_find_source(const Producer *producer, const char *name) {
        for (size_t i = 0; i < producer->n_sources; i++)
                if (streq(producer->sources[i]->name, name))
                        return (ssize_t)i;
        return -1;
}

SourceInstance *producer_find_instance(const Producer *producer, uint64_t id) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->id == id)
                        return instance;
        return NULL;
}

uint64_t producer_order(const Producer *producer) {
        return producer->order;
}

uint64_t producer_id(const Producer *producer) {
        return producer->id;
}

const char *producer_name(const Producer *producer) {
        return producer->name;
}

uid_t producer_user(const Producer *producer) {
        return producer->user;
}

const Identity *producer_identity(const Producer *producer) {
        return &producer->identity;
}

const char *producer_version(const Producer *producer) {
        return producer->version ?: "";
}

size_t producer_memory_bytes(const Producer *producer) {
        return producer->has_memory ? producer->area.n_bytes : 0;
}

uint32_t producer_page_bytes(const Producer *producer) {
        return producer->has_memory ? producer->area.page_bytes : 0;
}

size_t producer_n_sources(const Producer *producer) {
        return producer->n_sources;
}

const char *producer_source_name(const Producer *producer, size_t i) {
        return producer->sources[i]->name;
}

bool producer_source_is_restored(const Producer *producer, size_t i) {
        return producer->sources[i]->is_restored;
}

const void *producer_source_descriptor(const Producer *producer, size_t i, size_t *ret_n) {
        const Bytes *descriptor = &producer->sources[i]->descriptor;

        *ret_n = descriptor->n;
        return descriptor->data;
}

const char *const *producer_source_categories(const Producer *producer, size_t i) {
        return (const char *const *)producer->sources[i]->categories;
}

const char *producer_source_unavailable(const Producer *producer, size_t i) {
        return producer->sources[i]->unavailable;
}

void producer_begin_losses(Producer *producer) {
        ProducerLosses *losses = &producer->losses;

        losses->n_said = 0;
        losses->n_possible = PRODUCER_DROPS_FIRST;
        losses->looked_at = producer->service->now;
}

/* The counter lies in memory that the producer writes to. Where it goes back nothing was lost, and what is more than
 * the time allows is forgotten rather than believed later. */
uint64_t producer_n_dropped(Producer *producer) {
        ProducerLosses *losses = &producer->losses;
        const uint64_t now = producer->service->now;
        uint64_t n_said, n_new;

        if (!producer->has_memory || !producer->area.control)
                return losses->n;
        n_said = smb_n_dropped(&producer->area);
        losses->n_possible =
                add_saturated(losses->n_possible, (now - losses->looked_at) / PRODUCER_DROP_NS);
        losses->looked_at = now;
        n_new = n_said > losses->n_said ? MIN(n_said - losses->n_said, losses->n_possible) : 0;
        losses->n_said = n_said;
        losses->n_possible -= n_new;
        losses->n = add_saturated(losses->n, n_new);
        return losses->n;
}

int producer_ask(Producer *producer,
                 SmbRequestKind kind,
                 const uint64_t *instances,
                 size_t n_instances,
                 unsigned *ret_place) {
        return smb_ask(&producer->area, kind, instances, n_instances, ret_place);
}

bool producer_take_answer(Producer *producer, unsigned place) {
        return smb_take_answer(&producer->area, place);
}

void producer_forget_buffer(Producer *producer, uint16_t id) {
        producer->former_buffers[producer->n_former_buffers++ % PRODUCER_FORMER_BUFFERS] = id;
}

bool producer_had_buffer(const Producer *producer, uint32_t id) {
        for (size_t i = 0; id && i < PRODUCER_FORMER_BUFFERS; i++)
                if (producer->former_buffers[i] == id)
                        return true;
        return false;
}

bool producer_is_suspended(const Producer *producer) {
        const Service *service = producer->service;

        return service->ops->is_suspended(service->userdata, &producer->identity);
}

bool producer_can_be_left(const Producer *producer) {
        const SourceInstance *instance;

        if (!producer->has_memory || !producer->area.control)
                return false;
        list_for_each (instance, &producer->instances, producer_link)
                if (instance_can_be_left(instance))
                        return true;
        return false;
}
