/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unit table: what is known of the units of one manager
 *
 * A unit's times are those that systemd keeps: when it last left "inactive", became active, ceased to be active and
 * became inactive again (µs, CLOCK_MONOTONIC; 0: never). Names come from a bus and may be anything; they are copied as
 * one line of at most UNIT_NAME_BYTES_MAX bytes, and two that are the same then are one unit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/list.h"

#define UNITS_MAX           8192
#define UNIT_NAME_BYTES_MAX 255  /* systemd's own limit */
#define UNIT_AFTER_MAX      1024 /* units after which one unit is ordered */
#define UNIT_BUCKETS        1024

typedef enum UnitPhase {
        UNIT_INACTIVE,
        UNIT_ACTIVATING,
        UNIT_ACTIVE,
        UNIT_RELOADING,
        UNIT_DEACTIVATING,
        UNIT_MAINTENANCE,
        UNIT_FAILED,
        _UNIT_PHASE_N,
} UnitPhase;

typedef struct UnitTimes {
        uint64_t inactive_exit_us, active_enter_us, active_exit_us, inactive_enter_us;
        uint64_t change_us; /* of the phase */
        UnitPhase phase;
} UnitTimes;

typedef struct UnitEvent UnitEvent;

typedef struct Unit {
        List bucket;
        uint64_t hash; /* of its name */
        char *name;
        uint64_t *after; /* hashes of the names of the units after which it is ordered */
        size_t n_after;
        bool knows_after, is_removed;
        UnitPhase phase;     /* the phase after the last known change */
        uint64_t seen_us;    /* when that was */
        UnitPhase shown;     /* in the trace */
        uint64_t shown_us;   /* since when */
        uint64_t job_end_us; /* the end of its last job in the trace */
        unsigned n_users;    /* events and jobs that are not in the trace yet */
        UnitEvent *started;  /* the last of these after which other units could start; NULL: none */
} Unit;

typedef struct UnitTable {
        List buckets[UNIT_BUCKETS];
        size_t n_units;
        uint64_t n_refused;
} UnitTable;

void unit_table_init(UnitTable *table);
void unit_table_deinit(UnitTable *table);

/* Makes the unit if it is not in the table. Returns NULL if memory has run out, or there are UNITS_MAX. */
Unit *unit_table_get(UnitTable *table, const char *name);
/* Returns NULL if there is no such unit. */
Unit *unit_table_find(UnitTable *table, uint64_t hash);

/* Forgets units that the manager has removed, unless something about them is still to be written. */
void unit_table_sweep(UnitTable *table);
/* Call it when the manager has read its files again: the order of units may have changed. */
void unit_table_forget_after(UnitTable *table);

void unit_begin_after(Unit *unit);
/* Names that do not fit are left out. */
void unit_add_after(Unit *unit, const char *name);

const char *unit_phase_name(UnitPhase phase);
/* UNIT_INACTIVE if it is not known. */
UnitPhase unit_phase_from_name(const char *name);

/* The beginning of a phase. */
typedef struct UnitStep {
        UnitPhase phase;
        uint64_t at_us;
        bool is_start; /* from inactive */
        bool is_done;  /* directly from activating, as the unit had only one thing to do */
} UnitStep;

#define UNIT_STEPS_MAX 5

/* What has happened since unit->seen_us, oldest first, by the times that are known now; phases of no length are left
 * out. Returns how many there are. */
size_t unit_step(Unit *unit, const UnitTimes *times, UnitStep ret[static UNIT_STEPS_MAX]);
