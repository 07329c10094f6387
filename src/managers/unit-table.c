/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unit table: what is known of the units of one manager */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "managers/unit-table.h"
#include "shared/macro.h"
#include "shared/siphash.h"
#include "shared/utf8.h"

static const char *const phase_names[_UNIT_PHASE_N] = {
        [UNIT_INACTIVE] = "inactive",
        [UNIT_ACTIVATING] = "activating",
        [UNIT_ACTIVE] = "active",
        [UNIT_RELOADING] = "reloading",
        [UNIT_DEACTIVATING] = "deactivating",
        [UNIT_MAINTENANCE] = "maintenance",
        [UNIT_FAILED] = "failed",
};

const char *unit_phase_name(UnitPhase phase) {
        return phase_names[phase];
}

UnitPhase unit_phase_from_name(const char *name) {
        if (streq(name, "refreshing")) /* since systemd 258: likewise */
                return UNIT_RELOADING;
        for (size_t i = 0; i < ARRAY_SIZE(phase_names); i++)
                if (streq(phase_names[i], name))
                        return (UnitPhase)i;
        return UNIT_INACTIVE;
}

/* A hash of the significant part of the name. It alone identifies a unit, and a USB stick of anybody can name
 * units, so it must not be possible to find two names with the same hash. */
static uint64_t name_hash(const char *name) {
        return siphash_keyed(name, strnlen(name, UNIT_NAME_BYTES_MAX));
}

void unit_table_init(UnitTable *table) {
        *table = (UnitTable){};
        for (size_t i = 0; i < UNIT_BUCKETS; i++)
                list_init(&table->buckets[i]);
}

static Unit *unit_free(Unit *unit) {
        assert(unit->n_users == 0);
        list_unlink(&unit->bucket);
        free(unit->after);
        free(unit->name);
        free(unit);
        return NULL;
}

void unit_table_deinit(UnitTable *table) {
        Unit *unit;

        for (size_t i = 0; i < UNIT_BUCKETS; i++)
                list_for_each (unit, &table->buckets[i], bucket)
                        unit_free(unit);
        *table = (UnitTable){};
}

Unit *unit_table_find(UnitTable *table, uint64_t hash) {
        Unit *unit;

        list_for_each (unit, &table->buckets[hash % UNIT_BUCKETS], bucket)
                if (unit->hash == hash)
                        return unit;
        return NULL;
}

static Unit *unit_new(UnitTable *table, const char *name, uint64_t hash) {
        Unit *unit = calloc(1, sizeof(*unit));

        if (!unit)
                return NULL;
        list_init(&unit->bucket);
        unit->hash = hash;
        unit->name = utf8_copy_line(name, UNIT_NAME_BYTES_MAX);
        if (!unit->name)
                return unit_free(unit);
        list_append(&table->buckets[hash % UNIT_BUCKETS], &unit->bucket);
        table->n_units++;
        return unit;
}

Unit *unit_table_get(UnitTable *table, const char *name) {
        uint64_t hash = name_hash(name);
        Unit *unit = unit_table_find(table, hash);

        if (!unit && table->n_units < UNITS_MAX)
                unit = unit_new(table, name, hash);
        if (unit)
                unit->is_removed = false;
        else
                table->n_refused++;
        return unit;
}

void unit_table_sweep(UnitTable *table) {
        Unit *unit;

        for (size_t i = 0; i < UNIT_BUCKETS; i++)
                list_for_each (unit, &table->buckets[i], bucket)
                        if (unit->is_removed && unit->n_users == 0) {
                                unit_free(unit);
                                table->n_units--;
                        }
}

void unit_table_forget_after(UnitTable *table) {
        Unit *unit;

        for (size_t i = 0; i < UNIT_BUCKETS; i++)
                list_for_each (unit, &table->buckets[i], bucket)
                        unit->knows_after = false;
}

void unit_begin_after(Unit *unit) {
        unit->n_after = 0;
        unit->knows_after = true;
}

void unit_add_after(Unit *unit, const char *name) {
        size_t n = unit->n_after;

        if (n >= UNIT_AFTER_MAX)
                return;
        if ((n & (n - 1)) == 0) { /* it is full at powers of two */
                uint64_t *after = reallocarray(unit->after, n ? n * 2 : 1, sizeof(*after));

                if (!after)
                        return;
                unit->after = after;
        }
        unit->after[unit->n_after++] = name_hash(name);
}

/*
 * Steps
 */

static bool phase_is_over(UnitPhase phase) {
        return phase == UNIT_INACTIVE || phase == UNIT_FAILED;
}

/* Sorts by time, and equal times in the order of a unit's life. */
static size_t sort_times(const UnitTimes *times, UnitStep ret[static UNIT_STEPS_MAX]) {
        const UnitStep steps[] = {
                { .phase = UNIT_ACTIVATING, .at_us = times->inactive_exit_us },
                { .phase = UNIT_ACTIVE, .at_us = times->active_enter_us },
                { .phase = UNIT_DEACTIVATING, .at_us = times->active_exit_us },
                { .phase = phase_is_over(times->phase) ? times->phase : UNIT_INACTIVE,
                  .at_us = times->inactive_enter_us },
        };
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                size_t at = n++;

                for (; at > 0 && ret[at - 1].at_us > steps[i].at_us; at--)
                        ret[at] = ret[at - 1];
                ret[at] = steps[i];
        }
        return n;
}

/* Leaves out events that were known, and events that this phase rules out: a unit that fails to start is never
 * active. */
static size_t drop_seen(Unit *unit, UnitStep *steps, size_t n_steps) {
        UnitPhase phase = unit->phase;
        size_t n = 0;

        for (size_t i = 0; i < n_steps; i++) {
                UnitStep step = steps[i];

                if (step.at_us <= unit->seen_us || step.phase == phase)
                        continue;
                step.is_start = phase_is_over(phase);
                step.is_done = phase == UNIT_ACTIVATING;
                phase = step.phase;
                steps[n++] = step;
        }
        unit->phase = phase;
        if (n > 0)
                unit->seen_us = steps[n - 1].at_us;
        return n;
}

/* The phase that the manager itself reports, where the times do not show it. */
static size_t add_phase(Unit *unit, const UnitTimes *times, UnitStep *steps, size_t n) {
        if (times->phase == unit->phase || times->change_us == 0)
                return n;
        steps[n] = (UnitStep){
                .phase = times->phase,
                .at_us = MAX(times->change_us, unit->seen_us + 1), /* the order is kept */
                .is_start = phase_is_over(unit->phase),
                .is_done = unit->phase == UNIT_ACTIVATING,
        };
        unit->phase = times->phase;
        unit->seen_us = steps[n].at_us;
        return n + 1;
}

static size_t drop_empty(UnitStep *steps, size_t n_steps) {
        bool is_start = false;
        size_t n = 0;

        for (size_t i = 0; i < n_steps; i++) {
                is_start |= steps[i].is_start;
                if (i + 1 < n_steps && steps[i + 1].at_us == steps[i].at_us)
                        continue;
                steps[n] = steps[i];
                steps[n++].is_start = is_start && !phase_is_over(steps[i].phase);
                is_start = false;
        }
        return n;
}

size_t unit_step(Unit *unit, const UnitTimes *times, UnitStep ret[static UNIT_STEPS_MAX]) {
        size_t n = sort_times(times, ret);

        n = drop_seen(unit, ret, n);
        n = add_phase(unit, times, ret, n);
        return drop_empty(ret, n);
}
