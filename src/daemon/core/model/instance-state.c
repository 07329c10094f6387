/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The states of an instance. What a change means for the session is decided by its caller, who marks it.
 */

#include <assert.h>

#include "core/model/session.h"

static const uint8_t instance_successors[_INSTANCE_STATE_N] = {
        [INSTANCE_CONFIGURED] =
                1 << INSTANCE_STARTING | 1 << INSTANCE_STOPPING | 1 << INSTANCE_STOPPED,
        [INSTANCE_STARTING] =
                1 << INSTANCE_STARTED | 1 << INSTANCE_STOPPING | 1 << INSTANCE_STOPPED,
        [INSTANCE_STARTED] = 1 << INSTANCE_STOPPING | 1 << INSTANCE_STOPPED,
        [INSTANCE_STOPPING] = 1 << INSTANCE_STOPPED,
};

static const char *const instance_state_names[_INSTANCE_STATE_N] = {
        [INSTANCE_CONFIGURED] = "configured", [INSTANCE_STARTING] = "starting",
        [INSTANCE_STARTED] = "started",       [INSTANCE_STOPPING] = "stopping",
        [INSTANCE_STOPPED] = "stopped",       [INSTANCE_MISSING] = "missing",
};

const char *instance_state_name(InstanceState state) {
        return instance_state_names[state];
}

/* So the session knows how many are in each state, and how many it need not wait for, without a loop over them. */
void instance_count(const SourceInstance *instance, int by) {
        Session *session = instance->session;

        session->n_in_state[instance->state] += (size_t)by;
        if (instance->state == INSTANCE_STARTING && instance->is_suspended)
                session->n_asleep += (size_t)by;
}

/* The only writer of instance->state. */
void instance_enter(SourceInstance *instance, InstanceState state) {
        assert(instance_successors[instance->state] & 1 << state);

        instance_count(instance, -1);
        instance->state = state;
        instance_count(instance, 1);
        if (!list_is_linked(&instance->changed_link))
                list_append(&instance->session->changed_instances, &instance->changed_link);
        session_changed(instance->session);
}

void instance_set_suspended(SourceInstance *instance, bool is_suspended) {
        if (instance->is_suspended == is_suspended)
                return;
        instance_count(instance, -1);
        instance->is_suspended = is_suspended;
        instance_count(instance, 1);
        session_changed(instance->session);
}

bool instance_can_be_left(const SourceInstance *instance) {
        return session_can_be_left(instance->session);
}

void instance_started(SourceInstance *instance) {
        instance_enter(instance, INSTANCE_STARTED);
}
