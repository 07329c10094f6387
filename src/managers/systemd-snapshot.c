/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* systemd snapshot: what a manager remembers of the time before */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "managers/systemd-snapshot.h"
#include "shared/log.h"
#include "shared/macro.h"

/* In the order of `properties`. */
typedef enum Answer {
        ANSWER_INACTIVE_EXIT,
        ANSWER_ACTIVE_ENTER,
        ANSWER_ACTIVE_EXIT,
        ANSWER_INACTIVE_ENTER,
        ANSWER_AFTER,
        _ANSWER_N,
} Answer;

static const char *const properties[_ANSWER_N] = {
        [ANSWER_INACTIVE_EXIT] = "InactiveExitTimestampMonotonic",
        [ANSWER_ACTIVE_ENTER] = "ActiveEnterTimestampMonotonic",
        [ANSWER_ACTIVE_EXIT] = "ActiveExitTimestampMonotonic",
        [ANSWER_INACTIVE_ENTER] = "InactiveEnterTimestampMonotonic",
        [ANSWER_AFTER] = "After",
};

#define ANSWERS_LATER (_ANSWER_N - 1)

typedef struct SnapshotUnit SnapshotUnit;

/* The userdata of a call: a place in SnapshotUnit.questions. */
typedef struct SnapshotQuestion {
        SnapshotUnit *unit;
} SnapshotQuestion;

struct SnapshotUnit {
        SystemdSnapshot *snapshot;
        char *name, *path;
        UnitTimes times;
        unsigned n_waiting; /* for answers */
        bool is_missing;
        SnapshotQuestion questions[_ANSWER_N];
};

struct SystemdSnapshot {
        ManagerBus *bus;
        UnitRecorder *recorder;
        SnapshotUnit *units;
        size_t n_units, n_allocated;
        size_t n_asked;      /* for the first answer */
        SnapshotUnit **more; /* units that are to be asked for the rest */
        size_t n_more, n_more_asked;
        unsigned n_calls; /* that wait */
        size_t n_missing;
        bool is_broken; /* the manager has not answered in time, and is not asked again */
};

SystemdSnapshot *systemd_snapshot_free(SystemdSnapshot *snapshot) {
        if (!snapshot)
                return NULL;
        for (size_t i = 0; i < snapshot->n_units; i++) {
                free(snapshot->units[i].name);
                free(snapshot->units[i].path);
        }
        free(snapshot->units);
        free(snapshot->more);
        free(snapshot);
        return NULL;
}

bool systemd_snapshot_is_done(const SystemdSnapshot *snapshot) {
        return snapshot->n_calls == 0 &&
               (snapshot->is_broken || (snapshot->n_asked == snapshot->n_units &&
                                        snapshot->n_more_asked == snapshot->n_more));
}

size_t systemd_snapshot_n_missing(const SystemdSnapshot *snapshot) {
        return snapshot->n_missing + snapshot->n_units - snapshot->n_asked + snapshot->n_more -
               snapshot->n_more_asked;
}

static void snapshot_continue(SystemdSnapshot *snapshot);

/* A manager that is slow to answer this will be slow the next time. */
static bool take_answer(SystemdSnapshot *snapshot, sd_bus_message *answer) {
        const sd_bus_error *error = sd_bus_message_get_error(answer);

        manager_bus_answered(snapshot->bus);
        snapshot->n_calls--;
        if (error && (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) ||
                      sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT) ||
                      sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                      sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER)))
                snapshot->is_broken = true;
        return !error;
}

/*
 * Units
 */

static void unit_complete(SnapshotUnit *unit) {
        UnitRecorder *recorder = unit->snapshot->recorder;
        Unit *known = unit_recorder_unit(recorder, unit->name);

        if (unit->is_missing)
                unit->snapshot->n_missing++;
        else if (known)
                unit_recorder_change(recorder, known, &unit->times);
}

static void read_after(SnapshotUnit *unit, sd_bus_message *answer) {
        Unit *known = unit_recorder_unit(unit->snapshot->recorder, unit->name);

        if (known)
                (void)systemd_read_after(answer, known);
}

static void read_value(SnapshotUnit *unit, Answer which, sd_bus_message *answer) {
        uint64_t *const times[] = {
                [ANSWER_INACTIVE_EXIT] = &unit->times.inactive_exit_us,
                [ANSWER_ACTIVE_ENTER] = &unit->times.active_enter_us,
                [ANSWER_ACTIVE_EXIT] = &unit->times.active_exit_us,
                [ANSWER_INACTIVE_ENTER] = &unit->times.inactive_enter_us,
        };

        if (which == ANSWER_AFTER)
                read_after(unit, answer);
        else
                (void)property_read(answer, 't', times[which]);
}

static int on_answer(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        SnapshotQuestion *question = userdata;
        SnapshotUnit *unit = question->unit;
        SystemdSnapshot *snapshot = unit->snapshot;
        Answer which = (Answer)(question - unit->questions);

        unit->n_waiting--;
        if (take_answer(snapshot, answer))
                read_value(unit, which, answer);
        else
                unit->is_missing = true;
        if (which == ANSWER_INACTIVE_EXIT && unit->times.inactive_exit_us)
                snapshot->more[snapshot->n_more++] = unit;
        else if (unit->n_waiting == 0 && (which != ANSWER_INACTIVE_EXIT || unit->is_missing))
                unit_complete(unit);
        snapshot_continue(snapshot);
        return 0;
}

static void unit_ask(SnapshotUnit *unit, Answer which) {
        SystemdSnapshot *snapshot = unit->snapshot;

        if (manager_bus_get(snapshot->bus,
                            SYSTEMD_NAME,
                            unit->path,
                            SYSTEMD_UNIT,
                            properties[which],
                            on_answer,
                            &unit->questions[which],
                            NULL) < 0) {
                snapshot->is_broken = true;
                return;
        }
        snapshot->n_calls++;
        unit->n_waiting++;
}

static void unit_ask_more(SnapshotUnit *unit) {
        for (Answer which = ANSWER_INACTIVE_EXIT + 1; which < _ANSWER_N; which++)
                if (!unit->snapshot->is_broken)
                        unit_ask(unit, which);
}

/* Units whose questions have begun are finished first. */
static void snapshot_continue(SystemdSnapshot *snapshot) {
        while (!snapshot->is_broken && snapshot->n_calls + ANSWERS_LATER <= SNAPSHOT_CALLS_MAX)
                if (snapshot->n_more_asked < snapshot->n_more)
                        unit_ask_more(snapshot->more[snapshot->n_more_asked++]);
                else if (snapshot->n_asked < snapshot->n_units)
                        unit_ask(&snapshot->units[snapshot->n_asked++], ANSWER_INACTIVE_EXIT);
                else
                        return;
}

/*
 * The list
 */

static int
add_unit(SystemdSnapshot *snapshot, const char *name, const char *path, const char *phase) {
        SnapshotUnit *units = snapshot->units, *unit;
        size_t n = MAX(snapshot->n_allocated * 2, (size_t)64);

        if (snapshot->n_units == UNITS_MAX)
                return 0;
        if (snapshot->n_units == snapshot->n_allocated) {
                units = reallocarray(units, n, sizeof(*units));
                if (!units)
                        return -ENOMEM;
                snapshot->units = units;
                snapshot->n_allocated = n;
        }
        unit = &units[snapshot->n_units];
        *unit = (SnapshotUnit){
                .snapshot = snapshot,
                .name = strdup(name),
                .path = strdup(path),
                .times = { .phase = unit_phase_from_name(phase) },
        };
        snapshot->n_units++;
        return unit->name && unit->path ? 0 : -ENOMEM;
}

/* The units no longer move in memory from here on. */
static int prepare_questions(SystemdSnapshot *snapshot) {
        snapshot->more = calloc(MAX(snapshot->n_units, (size_t)1), sizeof(SnapshotUnit *));
        if (!snapshot->more)
                return -ENOMEM;
        for (size_t i = 0; i < snapshot->n_units; i++)
                for (size_t j = 0; j < _ANSWER_N; j++)
                        snapshot->units[i].questions[j].unit = &snapshot->units[i];
        return 0;
}

static int read_units(SystemdSnapshot *snapshot, sd_bus_message *answer) {
        const char *name, *phase, *path;
        int r;

        r = sd_bus_message_enter_container(answer, 'a', "(ssssssouso)");
        while (r >= 0 && (r = sd_bus_message_read(answer,
                                                  "(ssssssouso)",
                                                  &name,
                                                  NULL,
                                                  NULL,
                                                  &phase,
                                                  NULL,
                                                  NULL,
                                                  &path,
                                                  NULL,
                                                  NULL,
                                                  NULL)) > 0)
                r = add_unit(snapshot, name, path, phase);
        return r < 0 ? r : prepare_questions(snapshot);
}

static int on_units(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        SystemdSnapshot *snapshot = userdata;
        int r = -EIO;

        if (take_answer(snapshot, answer))
                r = read_units(snapshot, answer);
        if (r < 0) {
                log_notice("systemd does not list its units: %s", strerror(-r));
                snapshot->is_broken = true;
        }
        snapshot_continue(snapshot);
        return 0;
}

static int on_boot(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        SystemdSnapshot *snapshot = userdata;
        UnitRecorder *recorder = snapshot->recorder;
        BootTimes times;

        if (take_answer(snapshot, answer) && systemd_read_boot(answer, &times) >= 0)
                boot_stages_write(recorder->tracks, unit_recorder_group(recorder), &times);
        return 0;
}

int systemd_snapshot_new(SystemdSnapshot **ret, ManagerBus *bus, UnitRecorder *recorder) {
        SystemdSnapshot *snapshot = calloc(1, sizeof(*snapshot));
        int r;

        if (!snapshot)
                return -ENOMEM;
        *snapshot = (SystemdSnapshot){ .bus = bus, .recorder = recorder };
        r = manager_bus_get(
                bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, NULL, on_boot, snapshot, NULL);
        snapshot->n_calls += r >= 0;
        if (r >= 0)
                r = manager_bus_call(bus,
                                     SYSTEMD_NAME,
                                     SYSTEMD_PATH,
                                     SYSTEMD_MANAGER,
                                     "ListUnits",
                                     on_units,
                                     snapshot);
        snapshot->n_calls += r >= 0;
        *ret = snapshot; /* even if that failed, as calls may have been made */
        return r;
}
