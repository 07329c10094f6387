/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packet rules: what each producer may write about */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/packet-rules.h"

struct ProducerRules {
        uint64_t producer_id;
        PacketRules rules;
};

/* Fields of perfetto.protos.TracePacket (protos/perfetto/trace/trace_packet.proto) whose data needs a view of the
 * whole machine. */
static const uint16_t system_fields[] = {
        1,   /* ftrace_events */
        2,   /* process_tree */
        4,   /* inode_file_map */
        7,   /* sys_stats */
        9,   /* process_stats */
        34,  /* ftrace_stats */
        38,  /* battery */
        39,  /* android_log */
        40,  /* power_rails */
        47,  /* packages_list */
        61,  /* module_symbols */
        66,  /* perf_sample */
        67,  /* cpu_info */
        68,  /* smaps_packet */
        70,  /* initial_display_state */
        71,  /* gpu_mem_total_event */
        77,  /* android_energy_estimation_breakdown */
        83,  /* android_game_intervention_list */
        84,  /* statsd_atom */
        86,  /* android_system_property */
        91,  /* entity_state_residency */
        95,  /* etw_events */
        115, /* kernel_wakelock_data */
        117, /* generic_kernel_task_state_event */
        118, /* generic_kernel_cpu_freq_event */
        119, /* cpu_per_uid_data */
        120, /* generic_kernel_task_rename_event */
        122, /* generic_kernel_process_tree */
        123, /* user_list */
        127, /* android_aflags */
        129, /* generic_gpu_frequency_event */
        130, /* interrupt_info */
        132, /* journald_event */
        135, /* stack_sample */
};

static void rules_set(PacketRules *rules, uint32_t field, bool is_allowed) {
        const uint64_t bit = UINT64_C(1) << field % 64;

        if (is_allowed)
                rules->allowed[field / 64] |= bit;
        else
                rules->allowed[field / 64] &= ~bit;
}

const PacketRules *packet_rules_default(bool is_system) {
        static PacketRules system, program;

        if (!system.is_system) {
                memset(system.allowed, 0xff, sizeof(system.allowed));
                system.is_system = true;
                memset(program.allowed, 0xff, sizeof(program.allowed));
                for (size_t i = 0; i < sizeof(system_fields) / sizeof(system_fields[0]); i++)
                        rules_set(&program, system_fields[i], false);
        }
        return is_system ? &system : &program;
}

bool packet_rules_declare(PacketRules *ret,
                          bool is_system,
                          const uint32_t *fields,
                          size_t n_fields,
                          uint32_t *ret_field) {
        const PacketRules *most = packet_rules_default(is_system);

        *ret = (PacketRules){ .is_system = is_system };
        for (size_t i = 0; i < n_fields; i++) {
                if (!packet_rules_allow(most, fields[i])) {
                        *ret_field = fields[i];
                        return false;
                }
                if (fields[i] < PACKET_RULES_FIELDS)
                        rules_set(ret, fields[i], true);
        }
        return true;
}

void packet_rules_add(PacketRules *rules, const PacketRules *more) {
        for (size_t i = 0; i < PACKET_RULES_FIELDS / 64; i++)
                rules->allowed[i] |= more->allowed[i];
        rules->is_system = rules->is_system || more->is_system;
}

/* The first entry that is not below the id. */
static size_t session_rules_place(const SessionRules *rules, uint64_t producer_id) {
        size_t low = 0, high = rules->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (rules->entries[middle].producer_id < producer_id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static int session_rules_reserve(SessionRules *rules) {
        size_t n = rules->n_allocated ? 2 * rules->n_allocated : 4;
        ProducerRules *entries;

        if (rules->n < rules->n_allocated)
                return 0;
        entries = reallocarray(rules->entries, n, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        rules->entries = entries;
        rules->n_allocated = n;
        return 0;
}

int session_rules_add(SessionRules *rules, uint64_t producer_id, const PacketRules *more) {
        size_t i = session_rules_place(rules, producer_id);
        int r;

        if (i < rules->n && rules->entries[i].producer_id == producer_id) {
                packet_rules_add(&rules->entries[i].rules, more);
                return 0;
        }
        r = session_rules_reserve(rules);
        if (r < 0)
                return r;
        memmove(&rules->entries[i + 1],
                &rules->entries[i],
                (rules->n - i) * sizeof(*rules->entries));
        rules->entries[i] = (ProducerRules){ .producer_id = producer_id, .rules = *more };
        rules->n++;
        return 0;
}

const PacketRules *session_rules_find(SessionRules *rules, uint64_t producer_id) {
        if (rules->last >= rules->n || rules->entries[rules->last].producer_id != producer_id)
                rules->last = session_rules_place(rules, producer_id);
        if (rules->last < rules->n && rules->entries[rules->last].producer_id == producer_id)
                return &rules->entries[rules->last].rules;
        return packet_rules_default(false);
}

int session_rules_copy(SessionRules *to, const SessionRules *from) {
        SessionRules copy = { .n = from->n, .n_allocated = from->n };

        if (from->n > 0) {
                copy.entries = malloc(from->n * sizeof(*copy.entries));
                if (!copy.entries)
                        return -ENOMEM;
                memcpy(copy.entries, from->entries, from->n * sizeof(*copy.entries));
        }
        session_rules_deinit(to);
        *to = copy;
        return 0;
}

void session_rules_deinit(SessionRules *rules) {
        free(rules->entries);
        *rules = (SessionRules){};
}
