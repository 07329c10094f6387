/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>

#include "consumer-private.h"

int consumers_init(Consumers *consumers,
                   sd_event *event,
                   Service *service,
                   const ServiceInfo *info,
                   const OutputOps *output_ops,
                   void *output_host) {
        *consumers = (Consumers){ .event = event, .service = service, .info = info };
        list_init(&consumers->sessions);
        list_init(&consumers->dirty);
        list_init(&consumers->queries);
        return output_pump_init(&consumers->pump, event, output_ops, output_host);
}

void consumers_deinit(Consumers *consumers) {
        ConsumerSession *session;

        if (!consumers->event)
                return;
        while ((session = list_first(&consumers->sessions, ConsumerSession, link)))
                consumer_session_free(session);
        assert(list_is_empty(&consumers->dirty) && list_is_empty(&consumers->queries));
        output_pump_deinit(&consumers->pump);
        consumers->event = NULL;
}

static bool has_answers(const Consumers *consumers) {
        return !list_is_empty(&consumers->queries) && !service_awaits_producers(consumers->service);
}

bool consumers_are_settled(const Consumers *consumers) {
        return list_is_empty(&consumers->dirty) && !has_answers(consumers);
}

void consumers_settle(Consumers *consumers) {
        ConsumerSession *session;

        while ((session = list_first(&consumers->dirty, ConsumerSession, dirty_link))) {
                list_unlink(&session->dirty_link);
                consumer_session_work(session);
        }
        while (has_answers(consumers))
                consumer_answer_query(list_first(&consumers->queries, Consumer, query_link));
}

uint64_t consumers_next_deadline(const Consumers *consumers) {
        const ConsumerSession *session;
        uint64_t deadline = UINT64_MAX;

        list_for_each (session, &consumers->sessions, link) {
                deadline = MIN(deadline, consumer_session_deadline(session));
                deadline = MIN(deadline, session_stream_deadline(&session->stream));
        }
        return deadline;
}

void consumers_tick(Consumers *consumers, uint64_t now) {
        ConsumerSession *session;

        list_for_each (session, &consumers->sessions, link) {
                session_stream_tick(&session->stream, now);
                if (consumer_session_deadline(session) <= now)
                        consumer_session_free(session);
        }
}

bool consumers_are_busy(const Consumers *consumers) {
        return !list_is_empty(&consumers->sessions);
}

void consumers_stop(Consumers *consumers, const char *reason) {
        ConsumerSession *session;

        list_for_each (session, &consumers->sessions, link) {
                session_stop(session->session, reason, consumers_now(consumers));
                consumer_session_mark(session);
        }
}

bool consumers_are_stopped(const Consumers *consumers) {
        const ConsumerSession *session;

        list_for_each (session, &consumers->sessions, link)
                if (!session_stream_is_settled(&session->stream))
                        return false;
        return true;
}
