/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packet rules: what a producer's packets may be about
 *
 * A set of fields of perfetto.protos.TracePacket. Nobody but the service writes what it says itself
 * (packet/packet-check.h). What a whole machine does (scheduling, processes, /proc) is written by the system's
 * producers only, so that no program can pose as the kernel; and a data source that declared its fields writes no
 * others. Fields that are not known here are for programs to use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_RULES_FIELDS     1024 /* higher ones are free */
#define PACKET_FIELDS_MAX       64   /* that one source declares */
#define PACKET_CLOCKS_BYTES_MAX 1024 /* of a program's clock_snapshot */
#define PACKET_CLOCKS_BUILTIN_MAX \
        63 /* of perfetto.protos.BuiltinClock: higher ids are programs' own */

typedef struct PacketRules {
        uint64_t allowed[PACKET_RULES_FIELDS / 64];
        /* A clock_snapshot may tie its own clocks to one of the machine's, and not those to each other. */
        bool is_system;
} PacketRules;

/* Of the system's producers, and of programs, that declared nothing. */
const PacketRules *packet_rules_default(bool is_system);

/* What a data source declares. false when it is not allowed: *ret_field is the field. */
bool packet_rules_declare(PacketRules *ret,
                          bool is_system,
                          const uint32_t *fields,
                          size_t n_fields,
                          uint32_t *ret_field);

/* What either allows. */
void packet_rules_add(PacketRules *rules, const PacketRules *more);

static inline bool packet_rules_allow(const PacketRules *rules, uint64_t field) {
        return field >= PACKET_RULES_FIELDS || (rules->allowed[field / 64] >> field % 64 & 1);
}

/* The rules of a session's producers, which outlive those, as their packets do. Zero-initialised is empty. */
typedef struct ProducerRules ProducerRules;

typedef struct SessionRules {
        ProducerRules *entries; /* by producer id */
        size_t n, n_allocated;
        size_t last; /* found: the next packet is likely to be the same one's */
} SessionRules;

/* Adds to what the producer may write. Returns 0 or -ENOMEM. */
int session_rules_add(SessionRules *rules, uint64_t producer_id, const PacketRules *more);

/* Finds a producer's rules; an unknown producer has those of an ordinary program. */
const PacketRules *session_rules_find(SessionRules *rules, uint64_t producer_id);

int session_rules_copy(SessionRules *to, const SessionRules *from);
void session_rules_deinit(SessionRules *rules);
