/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All sessions of the port: their work, deadlines and end. */

#include <assert.h>

#include "consumer-private.h"

int consumers_init(Consumers *consumers,
                   sd_event *event,
                   Service *service,
                   const ServiceInfo *info,
                   const OutputOps *output_ops,
                   void *output_host) {
        *consumers = (Consumers){ .service = service, .info = info };
        list_init(&consumers->queries);
        return owned_sessions_init(
                &consumers->sessions, event, &consumer_owned_ops, output_ops, output_host);
}

void consumers_deinit(Consumers *consumers) {
        if (!consumers->service)
                return;
        owned_sessions_deinit(&consumers->sessions);
        assert(list_is_empty(&consumers->queries));
        consumers->service = NULL;
}

static bool has_answers(const Consumers *consumers) {
        return !list_is_empty(&consumers->queries) && !service_awaits_producers(consumers->service);
}

bool consumers_are_settled(const Consumers *consumers) {
        return owned_sessions_are_settled(&consumers->sessions) && !has_answers(consumers);
}

void consumers_settle(Consumers *consumers) {
        while (owned_sessions_work(&consumers->sessions))
                ;
        while (has_answers(consumers))
                consumer_answer_query(list_first(&consumers->queries, Consumer, query_link));
}

uint64_t consumers_next_deadline(const Consumers *consumers) {
        return MIN(owned_sessions_deadline(&consumers->sessions),
                   consumers_await_deadline(consumers));
}

void consumers_tick(Consumers *consumers, uint64_t now) {
        owned_sessions_tick(&consumers->sessions, now);
        consumers_await_tick(consumers, now);
}

bool consumers_are_busy(const Consumers *consumers) {
        return !list_is_empty(&consumers->sessions.all);
}

void consumers_stop(Consumers *consumers, const char *reason) {
        owned_sessions_stop(&consumers->sessions, reason);
}

bool consumers_are_stopped(const Consumers *consumers) {
        return owned_sessions_are_stopped(&consumers->sessions);
}
