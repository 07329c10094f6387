/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packet rules: what a producer's packets may be about
 *
 * A set of fields of perfetto.protos.TracePacket. Only the service writes its own fields (packet/packet-check.h).
 * Only the system's producers write about the whole machine (scheduling, processes, /proc), so that no program can
 * pose as the kernel. A data source that has declared its fields writes no others. Programs may use fields that are
 * not known here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_RULES_FIELDS     1024 /* higher numbers are free for all */
#define PACKET_FIELDS_MAX       64   /* fields that one source may declare */
#define PACKET_CLOCKS_BYTES_MAX 1024 /* clocks in a program's clock_snapshot */
#define PACKET_CLOCKS_BUILTIN_MAX \
        63 /* of perfetto.protos.BuiltinClock: higher ids are programs' own */

typedef struct PacketRules {
        uint64_t allowed[PACKET_RULES_FIELDS / 64];
        /* A program's clock_snapshot may relate its own clocks to one of the machine's, but not the machine's
         * clocks to each other. */
        bool is_system;
} PacketRules;

/* The rules for a system's producer, or for a program, that has declared nothing. */
const PacketRules *packet_rules_default(bool is_system);

/* Adds the fields that a data source declares. Returns false if one is not allowed, which *ret_field names. */
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

/* The rules of a session's producers. They outlive the producers, as packets do. Zero-initialised is empty. */
typedef struct ProducerRules ProducerRules;

typedef struct SessionRules {
        ProducerRules *entries; /* by producer id */
        size_t n, n_allocated;
        size_t last; /* the last one found, as the next packet is likely to be from the same producer */
} SessionRules;

/* Adds to what the producer may write. Returns 0 or -ENOMEM. */
int session_rules_add(SessionRules *rules, uint64_t producer_id, const PacketRules *more);

/* Finds a producer's rules; an unknown producer has those of an ordinary program. */
const PacketRules *session_rules_find(SessionRules *rules, uint64_t producer_id);

int session_rules_copy(SessionRules *to, const SessionRules *from);
void session_rules_deinit(SessionRules *rules);
