/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* systemd reader: follows a manager's signals */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "managers/systemd-message.h"
#include "managers/systemd-reader.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FROM_SYSTEMD    "type='signal',sender='" SYSTEMD_NAME "',"
#define PROPERTIES_RULE "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"

uint64_t monotonic_now_us(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A question about a unit or a job. It holds the name, as the answer may come after the unit or job was forgotten. */
typedef struct Question {
        SystemdReader *reader;
        uint32_t job;
        char *unit;
} Question;

static Question *question_free(Question *question) {
        if (!question)
                return NULL;
        free(question->unit);
        free(question);
        return NULL;
}
DEFINE_CLEANUP(Question *, question_free)

static void question_destroy(void *userdata) {
        question_free(userdata);
}

static int on_after(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const Question *question = userdata;
        Unit *unit;

        manager_bus_answered(question->reader->bus);
        if (sd_bus_message_is_method_error(answer, NULL))
                return 0; /* it has already gone */
        unit = unit_recorder_unit(question->reader->recorder, question->unit);
        if (unit)
                (void)systemd_read_after(answer, unit);
        return 0;
}

static int on_job_type(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const Question *question = userdata;
        const char *type;

        manager_bus_answered(question->reader->bus);
        if (!sd_bus_message_is_method_error(answer, NULL) && property_read(answer, 's', &type))
                unit_recorder_set_job_type(question->reader->recorder, question->job, type);
        return 0;
}

/* Asks nothing if no more calls may wait for answers. */
static void ask(SystemdReader *reader,
                const char *path,
                const char *interface,
                const char *property,
                uint32_t job,
                const char *unit,
                sd_bus_message_handler_t answered) {
        _cleanup_(question_freep) Question *question = NULL;

        if (!manager_bus_has_room(reader->bus))
                return;
        question = calloc(1, sizeof(*question));
        if (!question)
                return;
        *question = (Question){ .reader = reader, .job = job, .unit = strdup(unit) };
        if (question->unit && manager_bus_get(reader->bus,
                                              SYSTEMD_NAME,
                                              path,
                                              interface,
                                              property,
                                              answered,
                                              question,
                                              question_destroy) >= 0)
                question = NULL;
}

/*
 * Signals
 */

static void ask_about_job(SystemdReader *reader, uint32_t id, const char *job, const char *unit) {
        _cleanup_(freep) char *path = NULL;
        const Unit *known = unit_recorder_unit(reader->recorder, unit);

        ask(reader, job, SYSTEMD_JOB, "JobType", id, unit, on_job_type);
        if (known && !known->knows_after && sd_bus_path_encode(SYSTEMD_UNIT_PATH, unit, &path) >= 0)
                ask(reader, path, SYSTEMD_UNIT, "After", id, unit, on_after);
}

static int on_job_new(SystemdReader *reader, sd_bus_message *message) {
        const char *path, *name;
        uint32_t id;
        Unit *unit;
        int r;

        r = sd_bus_message_read(message, "uos", &id, &path, &name);
        unit = r < 0 || !reader->wants_jobs ? NULL : unit_recorder_unit(reader->recorder, name);
        if (!unit)
                return r;
        unit_recorder_add_job(reader->recorder, id, unit, NULL, monotonic_now_us());
        ask_about_job(reader, id, path, name);
        return 0;
}

static int on_job_removed(SystemdReader *reader, sd_bus_message *message) {
        const char *path, *name, *result;
        uint32_t id;
        int r;

        r = sd_bus_message_read(message, "uoss", &id, &path, &name, &result);
        if (r >= 0)
                unit_recorder_end_job(reader->recorder, id, result, monotonic_now_us());
        return r;
}

static int on_unit_removed(SystemdReader *reader, sd_bus_message *message) {
        const char *name;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r >= 0)
                unit_recorder_remove(reader->recorder, name);
        return r;
}

static int on_startup_finished(SystemdReader *reader, sd_bus_message *message) {
        UnitRecorder *recorder = reader->recorder;

        track_instant(recorder->tracks,
                      track_group(recorder->tracks, unit_recorder_group(recorder), "Boot"),
                      monotonic_now_us() * 1000,
                      "startup finished",
                      NULL,
                      0);
        return 0;
}

static int on_reloading(SystemdReader *reader, sd_bus_message *message) {
        UnitRecorder *recorder = reader->recorder;
        uint64_t track = track_group(recorder->tracks, unit_recorder_group(recorder), "Manager");
        int is_active, r;

        r = sd_bus_message_read(message, "b", &is_active);
        if (r < 0)
                return r;
        if (is_active)
                track_begin(recorder->tracks, track, monotonic_now_us() * 1000, "reloading");
        else
                track_end(recorder->tracks, track, monotonic_now_us() * 1000);
        unit_table_forget_after(&recorder->units);
        return 0;
}

static const struct {
        const char *member;
        int (*handle)(SystemdReader *reader, sd_bus_message *message);
} signals[] = {
        { "JobNew", on_job_new },           { "JobRemoved", on_job_removed },
        { "UnitRemoved", on_unit_removed }, { "StartupFinished", on_startup_finished },
        { "Reloading", on_reloading },
};

static int on_manager_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(message) ?: "";
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                if (streq(signals[i].member, member))
                        r = signals[i].handle(userdata, message);
        if (r < 0)
                log_debug("cannot read %s of systemd: %s", member, strerror(-r));
        return 0;
}

static int on_unit_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(freep) char *name = NULL;
        SystemdReader *reader = userdata;
        UnitTimes times;
        Unit *unit;

        if (sd_bus_path_decode(sd_bus_message_get_path(message), SYSTEMD_UNIT_PATH, &name) <= 0 ||
            sd_bus_message_skip(message, "s") < 0 || systemd_read_unit(message, &times) < 0)
                return 0;
        unit = unit_recorder_unit(reader->recorder, name);
        if (unit)
                unit_recorder_change(reader->recorder, unit, &times);
        return 0;
}

static int on_job_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *path = sd_bus_message_get_path(message);
        SystemdReader *reader = userdata;
        uint32_t id;
        bool runs;

        if (sscanf(path, SYSTEMD_JOB_PATH "/%" SCNu32, &id) == 1 &&
            sd_bus_message_skip(message, "s") >= 0 && systemd_read_job(message, &runs) >= 0 && runs)
                unit_recorder_run_job(reader->recorder, id, monotonic_now_us());
        return 0;
}

/* One element of ListJobs(): id, unit, type, state, and two paths. */
static int read_listed_job(SystemdReader *reader, sd_bus_message *message) {
        const char *name, *type, *state;
        uint32_t id;
        Unit *unit;
        int r;

        r = sd_bus_message_read(message, "(usssoo)", &id, &name, &type, &state, NULL, NULL);
        unit = r <= 0 ? NULL : unit_recorder_unit(reader->recorder, name);
        if (!unit)
                return r;
        unit_recorder_add_job(reader->recorder, id, unit, type, monotonic_now_us());
        if (streq(state, "running"))
                unit_recorder_run_job(reader->recorder, id, monotonic_now_us());
        return r;
}

static int on_jobs(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        SystemdReader *reader = userdata;
        int r;

        manager_bus_answered(reader->bus);
        if (!manager_bus_is_answer(answer, "systemd does not list its jobs"))
                return 0;
        r = sd_bus_message_enter_container(answer, 'a', "(usssoo)");
        while (r > 0)
                r = read_listed_job(reader, answer);
        return 0;
}

static int on_subscribed(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        SystemdReader *reader = userdata;

        manager_bus_answered(reader->bus);
        (void)manager_bus_is_answer(answer, "systemd does not tell of units");
        return 0;
}

int systemd_reader_begin(SystemdReader *reader,
                         ManagerBus *bus,
                         UnitRecorder *recorder,
                         bool wants_jobs) {
        int r;

        *reader = (SystemdReader){ .bus = bus, .recorder = recorder, .wants_jobs = wants_jobs };
        r = manager_bus_follow(bus, SYSTEMD_NAME);
        if (r >= 0)
                r = manager_bus_match(bus,
                                      FROM_SYSTEMD "path='" SYSTEMD_PATH
                                                   "',interface='" SYSTEMD_MANAGER "'",
                                      on_manager_signal,
                                      reader);
        if (r >= 0)
                r = manager_bus_match(bus,
                                      FROM_SYSTEMD PROPERTIES_RULE
                                      "path_namespace='" SYSTEMD_UNIT_PATH "',arg0='" SYSTEMD_UNIT
                                      "'",
                                      on_unit_changed,
                                      reader);
        if (r >= 0 && wants_jobs)
                r = manager_bus_match(bus,
                                      FROM_SYSTEMD PROPERTIES_RULE
                                      "path_namespace='" SYSTEMD_JOB_PATH "',arg0='" SYSTEMD_JOB
                                      "'",
                                      on_job_changed,
                                      reader);
        if (r >= 0)
                r = manager_bus_call(bus,
                                     SYSTEMD_NAME,
                                     SYSTEMD_PATH,
                                     SYSTEMD_MANAGER,
                                     "Subscribe",
                                     on_subscribed,
                                     reader);
        if (r >= 0 && wants_jobs)
                r = manager_bus_call(bus,
                                     SYSTEMD_NAME,
                                     SYSTEMD_PATH,
                                     SYSTEMD_MANAGER,
                                     "ListJobs",
                                     on_jobs,
                                     reader);
        return r;
}
