/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What became of the data sources of a session, for people. */

#include "core/model/session.h"

static size_t session_n_missing(const Session *session) {
        size_t n = 0;

        for (size_t i = 0; i < session->n_sources; i++)
                n += session->sources[i].n_instances == 0;
        return n;
}

/* Instances come first, then sources that are missing. */
size_t session_n_instances(const Session *session) {
        return session->n_instances + session_n_missing(session);
}

static void session_missing(const Session *session, size_t nth, InstanceInfo *ret) {
        for (size_t i = 0; i < session->n_sources; i++) {
                const SessionSource *source = &session->sources[i];

                if (source->n_instances > 0 || nth-- > 0)
                        continue;
                *ret = (InstanceInfo){
                        .source = source->pb->config->name,
                        .producer = "",
                        .state = INSTANCE_MISSING,
                        .why = source->why,
                };
                return;
        }
}

static void instance_info(const SourceInstance *instance, InstanceInfo *ret) {
        *ret = (InstanceInfo){
                .source = instance->source->pb->config->name,
                .producer = instance->producer_name,
                .identity = instance->identity,
                .state = instance->state,
                .why = instance->why ?: "",
                .is_cut_short = instance->is_cut_short,
                .is_suspended = instance->is_suspended,
        };
}

void session_instance(const Session *session, size_t i, InstanceInfo *ret) {
        const SourceInstance *instance;

        if (i >= session->n_instances) {
                session_missing(session, i - session->n_instances, ret);
                return;
        }
        list_for_each (instance, &session->instances, session_link)
                if (i-- == 0)
                        break;
        instance_info(instance, ret);
}

uint64_t session_n_changes(const Session *session) {
        return session->n_changes;
}

bool session_all_started(const Session *session) {
        return session->said_all_started;
}

/* The states in between follow from the session's own state. */
static bool instance_is_settled(const SourceInstance *instance) {
        return instance->state == INSTANCE_STARTED || instance->state == INSTANCE_STOPPED;
}

bool session_take_changed_instance(Session *session, InstanceInfo *ret) {
        SourceInstance *instance;

        list_for_each (instance, &session->changed_instances, changed_link) {
                list_unlink(&instance->changed_link);
                if (!instance_is_settled(instance))
                        continue;
                instance_info(instance, ret);
                return true;
        }
        return false;
}

bool session_next_instance(const Session *session, InstanceCursor *cursor, InstanceInfo *ret) {
        const size_t i = cursor->i++;

        if (i < session->n_instances) {
                cursor->at = cursor->at ? cursor->at->next : session->instances.next;
                instance_info(list_entry(cursor->at, SourceInstance, session_link), ret);
                return true;
        }
        if (i >= session_n_instances(session))
                return false;
        session_missing(session, i - session->n_instances, ret);
        return true;
}

static bool session_heard_nothing_of(const Session *session, const SourceInstance *instance) {
        return session->answering_flush ? instance->missed_flush == session->answering_flush
                                        : instance->missed_end;
}

bool session_next_silent(const Session *session, InstanceCursor *cursor, InstanceInfo *ret) {
        while (cursor->i < session->n_instances) {
                const SourceInstance *instance;

                cursor->i++;
                cursor->at = cursor->at ? cursor->at->next : session->instances.next;
                instance = list_entry(cursor->at, SourceInstance, session_link);
                if (!session_heard_nothing_of(session, instance))
                        continue;
                instance_info(instance, ret);
                return true;
        }
        return false;
}
