/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Which data sources of which producers take part in a session: those of the config's name, of a producer that
 * its filters let through and that the session's owner may record. The same question is asked when a session
 * comes and when a source comes.
 */

#include <errno.h>
#include <stdio.h>

#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/model/source-index.h"
#include "core/requests/session-match.h"
#include "core/requests/source-instance.h"

/* There is no other: producers of all machines that are named run here, or nowhere. */
static bool source_takes_this_machine(const SessionSource *source) {
        const Perfetto__Protos__TraceConfig__DataSource *pb = source->pb;

        for (size_t i = 0; i < pb->n_machine_name_filter; i++)
                if (streq(pb->machine_name_filter[i], SESSION_MACHINE_NAME))
                        return true;
        return pb->n_machine_name_filter == 0;
}

/* Perfetto's rule: one filter of either kind suffices, and no filter lets all through. */
static bool source_takes_producer(const SessionSource *source, const char *producer) {
        const Perfetto__Protos__TraceConfig__DataSource *pb = source->pb;

        if (!source_takes_this_machine(source))
                return false;
        if (pb->n_producer_name_filter == 0 && source->n_filters == 0)
                return true;
        for (size_t i = 0; i < pb->n_producer_name_filter; i++)
                if (streq(pb->producer_name_filter[i], producer))
                        return true;
        for (size_t i = 0; i < source->n_filters; i++)
                if (pattern_match(source->filters[i], producer, strlen(producer)) == 1)
                        return true;
        return false;
}

/* Ended instances are kept for people to see, but not for ever: programs come and go. */
static void session_prune_instances(Session *session) {
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                if (session->n_in_state[INSTANCE_STOPPED] <= SESSION_GONE_MAX)
                        return;
                if (instance->state == INSTANCE_STOPPED)
                        instance_free(instance);
        }
}

/* Joins the source; a failure of one is told in its place and does not end the session. */
static void source_join(SessionSource *source, Producer *producer, ProducerSource *offered) {
        Session *session = source->session;
        SourceInstance *instance;
        int r;

        if (session->n_instances - session->n_in_state[INSTANCE_STOPPED] >= SESSION_INSTANCES_MAX) {
                snprintf(source->why,
                         sizeof(source->why),
                         N_("some producers are left out: the session has reached the limit "
                            "SESSION_INSTANCES_MAX"));
                return;
        }
        session_prune_instances(session);
        r = instance_new(&instance, session, source, producer, offered);
        if (r < 0) {
                snprintf(source->why, sizeof(source->why), "%s", strerror(-r));
                return;
        }
        source->awaited = -1;
        source->why[0] = 0;
        if (session_is_running(session) && instance_is_live(instance))
                instance_start(instance);
        session_changed(session);
}

/* A lockdown applies from now on: producers that are recording already continue. */
static bool
session_may_record(const Session *session, const Producer *producer, const char *source) {
        const Service *service = session->service;

        if (service->is_locked_down && !policy_passes_lockdown(&service->info, &producer->identity))
                return false;
        return policy_may_record_source(
                &service->info, &session->options, &producer->identity, source);
}

/* Matches a source with one that a producer offers under the same name. */
static void
match_one(SessionSource *source, Producer *producer, ProducerSource *offered, bool may) {
        if (may && source_takes_producer(source, producer->name)) {
                source_join(source, producer, offered);
        } else if (source->awaited >= 0) {
                /* The producer registered but may not join this session; stop waiting for it. */
                source->awaited = -1;
                snprintf(source->why,
                         sizeof(source->why),
                         may ? N_("its producer does not match the filters")
                             : N_("its producer runs as another user, which requires scope "
                                  "\"system\""));
        }
}

void session_match_source(Session *session, Producer *producer, ProducerSource *offered) {
        bool may = session_may_record(session, producer, offered->name);

        if (!session_is_open(session))
                return;
        for (size_t i = 0; i < session->n_sources; i++)
                if (streq(session->sources[i].pb->config->name, offered->name))
                        match_one(&session->sources[i], producer, offered, may);
}

void session_match_newcomers(SessionSource *source, const SessionSource *before) {
        const Session *session = source->session;
        Producer *producer;

        list_for_each (producer, &session->service->producers, link) {
                if (source_takes_producer(before, producer->name) ||
                    !source_takes_producer(source, producer->name) ||
                    !session_may_record(session, producer, source->pb->config->name))
                        continue;
                for (size_t i = 0; i < producer->n_sources; i++)
                        if (streq(source->pb->config->name, producer->sources[i]->name))
                                source_join(source, producer, producer->sources[i]);
        }
}

static void match_indexed(Session *session,
                          const SourceIndex *index,
                          Producer *producer,
                          ProducerSource *offered) {
        size_t entry = source_index_first(index, offered->name);
        bool may;

        if (entry == index->n)
                return;
        may = session_may_record(session, producer, offered->name);
        for (; source_index_is(index, entry, offered->name); entry++)
                match_one(&session->sources[index->all[entry].at], producer, offered, may);
}

void session_match_all(Session *session) {
        SourceIndex index = {};
        Producer *producer;

        if (!session_is_open(session))
                return;
        for (size_t i = 0; i < session->n_sources; i++)
                source_index_add(&index, session->sources[i].pb->config->name, i);
        source_index_sort(&index);
        list_for_each (producer, &session->service->producers, link)
                for (size_t i = 0; i < producer->n_sources; i++)
                        match_indexed(session, &index, producer, producer->sources[i]);
}

/* Asks once for each activatable producer, however many of its sources are wanted. */
void session_activate_missing(Session *session) {
        Service *service = session->service;

        for (size_t i = 0; i < session->n_sources; i++) {
                SessionSource *source = &session->sources[i];

                if (!source_takes_this_machine(source))
                        snprintf(source->why,
                                 sizeof(source->why),
                                 N_("its machine_name_filter names other machines; this one is "
                                    "\"%s\""),
                                 SESSION_MACHINE_NAME);
                else if (source->n_instances == 0)
                        source->awaited =
                                service_find_activatable(service, source->pb->config->name);
        }
        for (size_t at = 0; at < service->n_activatables; at++)
                for (size_t i = 0; i < session->n_sources; i++) {
                        if (session->sources[i].awaited != (ssize_t)at)
                                continue;
                        service->ops->activate(service->userdata, at);
                        break;
                }
}

/* A start waits for producers that are known to be coming, and only for those. */
bool session_awaits_producer(const Session *session) {
        for (size_t i = 0; i < session->n_sources; i++)
                if (session->sources[i].awaited >= 0)
                        return true;
        return false;
}

/* On one activatable producer, or (-1) on all. */
void session_give_up_on(Session *session, ssize_t activatable, const char *why) {
        for (size_t i = 0; i < session->n_sources; i++) {
                SessionSource *source = &session->sources[i];

                if (source->awaited < 0 || (activatable >= 0 && source->awaited != activatable))
                        continue;
                source->awaited = -1;
                snprintf(source->why, sizeof(source->why), "%s", why);
                session_changed(session);
        }
}
