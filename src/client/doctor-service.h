/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, service: the bus, the service on it, its units, the probes' unit, and polkit
 */

#include <stdint.h>

#include "client/bus-client.h"
#include "client/doctor.h"

#define DOCTOR_CALL_TIMEOUT_USEC (UINT64_C(3) * 1000000)

typedef enum NameState {
        NAME_ABSENT,
        NAME_ACTIVATABLE,
        NAME_RUNNING,
} NameState;

/* What systemd says of a unit. */
typedef struct UnitFacts {
        bool is_known; /* systemd has answered */
        char *load_state, *active_state, *result;
        char **drop_ins;
        uint64_t capabilities;  /* CapabilityBoundingSet= */
        bool protects_tunables; /* ProtectKernelTunables= */
} UnitFacts;

typedef struct PolkitFacts {
        NameState state;
        bool has_answered; /* about trace-system */
        bool is_authorized, is_challenge;
        bool has_action;
        char *error;
        uint32_t defaults[3]; /* any, inactive, active: polkit's numbers */
} PolkitFacts;

typedef struct ServiceFacts {
        BusChoice choice;
        int bus_error; /* 0: it answers */
        bool is_point_to_point;
        NameState service, probes, systemd;
        char *version; /* NULL: the service is not running, or does not tell */
        char *version_error;
        UnitFacts service_unit, probes_unit, socket_unit, probes_socket_unit;
        PolkitFacts polkit;
} ServiceFacts;

/* Starts neither the service nor the probes. For doctor_within(): `argument` is a BusChoice by GINT_TO_POINTER(). */
void *service_facts_new(void *argument);
ServiceFacts *service_facts_free(ServiceFacts *facts);
DEFINE_CLEANUP(ServiceFacts *, service_facts_free)

/* Pure. `facts` NULL: the bus did not answer in time. */
void service_check(DoctorReport *report, const ServiceFacts *facts, uint32_t uid);
