/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What each identity may do: pure functions. */

#include "core/model/policy.h"
#include "config/probe-definitions.h"
#include "core/model/session.h"

static const char *const reserved_prefixes[] = { "linux.", "desktrace." };

static bool source_is_guarded(const ServiceInfo *info, const char *name) {
        for (size_t i = 0; info->guarded && info->guarded[i]; i++)
                if (streq(info->guarded[i], name))
                        return true;
        return false;
}

bool policy_source_is_reserved(const ServiceInfo *info, const char *source) {
        for (size_t i = 0; i < ARRAY_SIZE(reserved_prefixes); i++)
                if (strncmp(source, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0)
                        return true;
        return source_is_guarded(info, source);
}

bool policy_source_is_of_owner(const ServiceInfo *info, const char *source) {
        return streq(source, TRACING_OWN_STACKS_SOURCE) && source_is_guarded(info, source);
}

/* Root can do anything to the machine by other means, and so can anybody who can reach a private instance. */
static bool identity_is_privileged(const ServiceInfo *info, const Identity *identity) {
        return info->is_private || identity->uid == 0;
}

bool policy_is_system_producer(const ServiceInfo *info, const Identity *identity) {
        if (identity_is_privileged(info, identity))
                return true;
        return info->probes_uid != (uid_t)-1 && identity->uid == info->probes_uid;
}

bool policy_may_register(const ServiceInfo *info, const Identity *identity, const char *source) {
        return !policy_source_is_reserved(info, source) ||
               policy_is_system_producer(info, identity);
}

/* One is enough: a session is granted as a whole. */
static bool config_names_reserved(const ServiceInfo *info, const Config *config) {
        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;

                if (source && source->name && policy_source_is_reserved(info, source->name) &&
                    !policy_source_is_of_owner(info, source->name))
                        return true;
        }
        return false;
}

/* Such a producer is asked about the session as a whole. */
static unsigned config_guarded_needs(const ServiceInfo *info, const Config *config) {
        unsigned needs = 0;

        for (size_t i = 0; !info->is_private && i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;

                if (!source || !source->name || !source_is_guarded(info, source->name))
                        continue;
                if (!policy_source_is_of_owner(info, source->name))
                        return config_defines_probes(config) ? POLICY_NEEDS_GUARDED_DYNAMIC
                                                             : POLICY_NEEDS_GUARDED_SYSTEM;
                needs = POLICY_NEEDS_GUARDED_OWN;
        }
        return needs;
}

static bool is_deadline(uint32_t ms) {
        return ms > 0 && ms <= SESSION_DURATION_MAX_MS;
}

/* Whether the session ends without anybody's doing. One that waits for somebody to start it may wait for ever; one that
 * waits for a trigger gives up. */
static bool config_is_bounded(const Config *config, bool has_begun) {
        const Perfetto__Protos__TraceConfig__TriggerConfig *triggers = config->pb->trigger_config;
        const bool has_triggers = triggers && triggers->trigger_mode;

        if (config->pb->deferred_start && !has_begun &&
            !(has_triggers &&
              triggers->trigger_mode ==
                      PERFETTO__PROTOS__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__START_TRACING))
                return false;
        return is_deadline(has_triggers ? triggers->trigger_timeout_ms : config->pb->duration_ms);
}

unsigned
policy_detach_needs(const ServiceInfo *info, const Identity *caller, const Session *session) {
        const SessionState state = session_state(session);

        if (identity_is_privileged(info, caller) || state == SESSION_STOPPED)
                return 0;
        return config_is_bounded(session_config(session), state > SESSION_CONFIGURED)
                       ? 0
                       : POLICY_NEEDS_DETACH;
}

/* All sessions of a user's own instance are his, so there he ends nobody else's. */
unsigned policy_session_needs(const ServiceInfo *info,
                              const Identity *owner,
                              const Config *config,
                              PolicyScope wanted,
                              bool detached,
                              SessionScope *ret_scope) {
        bool privileged = identity_is_privileged(info, owner);
        bool reserved = config_names_reserved(info, config);
        bool system = wanted == POLICY_SCOPE_SYSTEM ||
                      (wanted == POLICY_SCOPE_DEFAULT && (reserved || privileged));
        unsigned needs = config_guarded_needs(info, config);

        *ret_scope = system ? SESSION_SCOPE_SYSTEM : SESSION_SCOPE_OWN;
        if (privileged)
                return needs;
        if (system || reserved)
                needs |= POLICY_NEEDS_TRACE_SYSTEM;
        if (!(needs & POLICY_NEEDS_GUARDED_DYNAMIC) && config_defines_probes(config))
                needs |= POLICY_NEEDS_TRACE_DYNAMIC;
        if (detached && !config_is_bounded(config, false))
                needs |= POLICY_NEEDS_DETACH;
        if (config->pb->exclusive_prio > 0 && owner->uid != info->uid)
                needs |= POLICY_NEEDS_MANAGE;
        return needs;
}

bool policy_may_lock_down(const ServiceInfo *info, const Identity *identity) {
        return identity_is_privileged(info, identity);
}

bool policy_passes_lockdown(const ServiceInfo *info, const Identity *producer) {
        return producer->uid == 0 || producer->uid == info->uid ||
               (info->probes_uid != (uid_t)-1 && producer->uid == info->probes_uid);
}

bool policy_sees_all(const ServiceInfo *info, const Identity *identity) {
        return identity_is_privileged(info, identity);
}

bool policy_owns_session(const ServiceInfo *info,
                         const Identity *identity,
                         const Session *session) {
        return identity_is_privileged(info, identity) ||
               identity->uid == session_options(session)->owner.uid;
}

/* Not its owner either: a filter may be what made the session harmless enough to be allowed. */
bool policy_may_skip_filter(const ServiceInfo *info, const Identity *identity) {
        return identity_is_privileged(info, identity);
}

bool policy_may_see(const ServiceInfo *info, const Identity *identity, uid_t uid) {
        return identity_is_privileged(info, identity) || identity->uid == uid || uid == 0 ||
               (info->probes_uid != (uid_t)-1 && uid == info->probes_uid);
}

bool policy_may_start_producers(const ServiceInfo *info, const Identity *identity) {
        return identity_is_privileged(info, identity) || identity->uid == info->uid;
}

bool policy_may_consume(const ServiceInfo *info,
                        const Identity *identity,
                        Confinement confinement) {
        if (info->is_private || confinement == CONFINEMENT_NONE)
                return true;
        return identity->uid == 0 && confinement == CONFINEMENT_UNKNOWN;
}

bool policy_may_record(const ServiceInfo *info,
                       const SessionOptions *session,
                       const Identity *producer) {
        return session->scope == SESSION_SCOPE_SYSTEM || producer->uid == session->owner.uid;
}

bool policy_may_record_source(const ServiceInfo *info,
                              const SessionOptions *session,
                              const Identity *producer,
                              const char *source) {
        return policy_may_record(info, session, producer) ||
               (policy_source_is_of_owner(info, source) &&
                policy_is_system_producer(info, producer));
}
