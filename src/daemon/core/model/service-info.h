/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What any code may ask of the service: facts about the machine and the instance, and what there is for whom
 *
 * core/service.h has what a host does with it.
 */

#include "core/model/peer.h"
#include "core/model/quota.h"
#include "shared/names.h"

/* Facts about this machine and instance, for the trace and the policy. Strings stay valid. */
typedef struct ServiceInfo {
        const char *version;
        const char *sysname, *release, *kernel_version, *machine;
        const char *boot_id, *os_id, *os_version, *cpu_model; /* "" or NULL: not known */
        int64_t hz, page_size, timezone_offset_minutes;
        uint32_t n_cpus;
        uint64_t ram_bytes;
        pid_t pid;        /* of the service itself */
        uid_t uid;        /* likewise; trusted_uid of its packets */
        uid_t probes_uid; /* may register reserved source names, like root; (uid_t)-1: none */
        bool is_private;  /* standalone: everybody who can reach it may do everything */

        /* Data sources whose producers check for themselves who may record them: NULL-terminated, or NULL for an empty
         * list. */
        const char *const *guarded;
} ServiceInfo;

/* The service's own data source, about its own work. Always there. */
#define SERVICE_SELF_SOURCE TRACING_SELF_SOURCE

/* A producer that is not running but could be, from producers.d. */
typedef struct Activatable {
        char *name;
        char **sources;         /* NULL-terminated */
        char *why;              /* why it did not come when all were asked for, or NULL */
        uint64_t awaited_until; /* 0: not asked for by service_activate_all() */
        uint64_t retry_at;      /* the earliest time to ask again */
} Activatable;

/* Whose limits count for that peer: ServiceOps.user_of. */
uid_t service_user_of(const Service *service, const Identity *identity);

/* Charges one more connection to that user, until the charge is given back. Returns 0, QUOTA_E_EXCEEDED or -ENOMEM. */
int service_charge_connection(Service *service, Charge *charge, uid_t user);
bool service_has_connection_room(const Service *service, uid_t user, size_t n);
/* The same for the bytes of waiting messages: none yet, as the charge grows and shrinks with them. */
int service_charge_messages(Service *service, Charge *charge, uid_t user);
/* And for the bytes of calls that wait for the user's programs. */
int service_charge_calls(Service *service, Charge *charge, uid_t user);

/* Copies. */
int service_add_activatable(Service *service, const char *name, const char *const sources[]);
const Activatable *service_activatables(Service *service, size_t *ret_n);

/* Whether some activatable producer offers the source. */
bool service_can_activate(Service *service, const char *source);

/* lockdown_mode: whether only the system's own producers may come. */
bool service_is_locked_down(const Service *service);

size_t service_n_sessions(Service *service);
size_t service_n_producers(Service *service);
/* The number of those that the viewer may see. */
size_t service_n_visible_sessions(const Service *service, const Identity *viewer);
size_t service_n_visible_producers(const Service *service, const Identity *viewer);
Session *service_find_session(Service *service, uint64_t id);

/* Walk: NULL starts, NULL ends. */
Session *service_next_session(Service *service, Session *after);
Producer *service_next_producer(Service *service, Producer *after);
