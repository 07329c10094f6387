/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Policy: who may do what
 *
 * Pure functions of identities and configs; asking polkit is the transport's business. Deny is the default:
 * what is not said here is not allowed.
 */

#include <stdbool.h>

#include "config/config.h"
#include "core/model/service-info.h"
#include "core/model/session-info.h"
#include "shared/confinement.h"

/* Names under "linux." and "desktrace.", and those that guarded producers have in this instance: what the machine says,
 * so only the machine may say it. */
bool policy_source_is_reserved(const ServiceInfo *info, const char *source);

/* Whether the source is of a guarded producer of this instance that shows each session no more than programs of its
 * owner: so it needs less than others of the machine, and records for sessions of any user. */
bool policy_source_is_of_owner(const ServiceInfo *info, const char *source);

/* Whether this identity may say what the machine says: register reserved names, and write packets about the kernel and
 * about other processes. */
bool policy_is_system_producer(const ServiceInfo *info, const Identity *identity);

/* Whether this identity may register the source. */
bool policy_may_register(const ServiceInfo *info, const Identity *identity, const char *source);

/* What a session needs beyond its owner's own rights, as a set of bits. The owner of a private instance needs nothing,
 * and root nothing but the word of guarded producers. */
enum {
        POLICY_NEEDS_TRACE_SYSTEM = 1 << 0,
        POLICY_NEEDS_DETACH = 1 << 1,
        POLICY_NEEDS_MANAGE = 1 << 2, /* exclusive_prio: it ends the sessions of others */
        POLICY_NEEDS_TRACE_DYNAMIC = 1
                                     << 3, /* probes of the caller's own: any memory can be read */
        /* The word of producers that look for themselves whether they may record it (ServiceInfo.guarded):
         * root needs it, too. One of these, the second instead of POLICY_NEEDS_TRACE_DYNAMIC: a password is
         * asked for once. */
        POLICY_NEEDS_GUARDED_SYSTEM = 1 << 4,
        POLICY_NEEDS_GUARDED_DYNAMIC = 1 << 5,
        POLICY_NEEDS_GUARDED_OWN = 1 << 6, /* if there is nothing else that is guarded */
        POLICY_NEEDS_GUARDED = POLICY_NEEDS_GUARDED_SYSTEM | POLICY_NEEDS_GUARDED_DYNAMIC |
                               POLICY_NEEDS_GUARDED_OWN,
};

typedef enum PolicyScope {
        POLICY_SCOPE_DEFAULT, /* own, unless the config names reserved sources or the owner is root */
        POLICY_SCOPE_OWN,
        POLICY_SCOPE_SYSTEM,
} PolicyScope;

/* Returns the bits; *ret_scope is the scope the session has once they are granted. An own-scope session that
 * names reserved sources still needs trace-system. */
unsigned policy_session_needs(const ServiceInfo *info,
                              const Identity *owner,
                              const Config *config,
                              PolicyScope wanted,
                              bool detached,
                              SessionScope *ret_scope);

/* What leaving a session alone that exists needs of the caller: POLICY_NEEDS_DETACH or 0. */
unsigned
policy_detach_needs(const ServiceInfo *info, const Identity *caller, const Session *session);

/* Whether `identity` may see, read and stop the session without manage-sessions. */
bool policy_owns_session(const ServiceInfo *info, const Identity *identity, const Session *session);

/* Whether `identity` sees the sessions of all users without it. */
bool policy_sees_all(const ServiceInfo *info, const Identity *identity);

/* Whether `identity` may have a clone without the trace filter that the session's config asks for. */
bool policy_may_skip_filter(const ServiceInfo *info, const Identity *identity);

/* Whether the identity may set lockdown_mode, and whether its producers may come while it is set: only those that may
 * say what the machine says. */
bool policy_may_lock_down(const ServiceInfo *info, const Identity *identity);
bool policy_passes_lockdown(const ServiceInfo *info, const Identity *producer);

/* Whether `identity` may see what programs of that user offer: the system's are everybody's to see. */
bool policy_may_see(const ServiceInfo *info, const Identity *identity, uid_t uid);

/* Whether `identity` may have producers started without polkit's word: root, and whose instance it is. */
bool policy_may_start_producers(const ServiceInfo *info, const Identity *identity);

/* Whether `identity` may be a consumer, which sees and records other programs, without polkit's word: who is in a
 * sandbox may only be recorded. Root is not kept out where nothing is known of a process; private instances know who
 * they are for. */
bool policy_may_consume(const ServiceInfo *info, const Identity *identity, Confinement confinement);

/* Whether packets of this producer may get into a session of that owner and scope. */
bool policy_may_record(const ServiceInfo *info,
                       const SessionOptions *session,
                       const Identity *producer);

/* Likewise from this source of the producer. */
bool policy_may_record_source(const ServiceInfo *info,
                              const SessionOptions *session,
                              const Identity *producer,
                              const char *source);
