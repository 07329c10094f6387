/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The producers that a flush has asked, and what has become of that. */

#include <assert.h>

#include "core/model/flush.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"

bool flush_group_has(FlushGroup group, const SessionBuffer *buffer) {
        return group == FLUSH_GROUP_ALL ||
               buffer->is_moved_on_clone == (group == FLUSH_GROUP_MOVED);
}

Flush *flush_free(Flush *flush) {
        if (!flush)
                return NULL;
        if (list_is_linked(&flush->link)) {
                assert(flush->session->n_flushes > 0);
                list_unlink(&flush->link);
                flush->session->n_flushes--;
        }
        free(flush->slots);
        free(flush);
        return NULL;
}

static FlushSlot *flush_find(const Flush *flush, const Producer *producer) {
        for (size_t i = 0; i < flush->n_slots; i++)
                if (flush->slots[i].producer == producer)
                        return &flush->slots[i];
        return NULL;
}

bool flush_is_request(const Flush *flush, const Producer *producer, uint64_t request) {
        const FlushSlot *slot = flush_find(flush, producer);

        return slot && slot->request == request;
}

void flush_producer_done(Flush *flush, const Producer *producer) {
        FlushSlot *slot = flush_find(flush, producer);

        if (!slot)
                return;
        if (slot->is_given_up)
                flush->n_silent--;
        else
                flush->n_pending--;
        slot->producer = NULL;
}

bool flush_awaits(const Flush *flush, const Producer *producer) {
        const FlushSlot *slot = flush_find(flush, producer);

        return slot && !slot->is_given_up;
}

void flush_give_up_on(Flush *flush, const Producer *producer) {
        FlushSlot *slot = flush_find(flush, producer);

        if (!slot || slot->is_given_up)
                return;
        slot->is_given_up = true;
        flush->n_pending--;
        flush->n_silent++;
}

/* A producer may answer for some of its instances while another one, which has its own callback, never does. */
void flush_give_up_on_debtors(Flush *flush) {
        const SourceInstance *instance;

        list_for_each (instance, &flush->session->instances, session_link)
                if (instance->producer && instance->owed_flush > 0)
                        flush_give_up_on(flush, instance->producer);
}

void session_flush_cancel(Session *session, void *userdata) {
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                if (flush->userdata == userdata)
                        flush->done = NULL;
}
