/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The argument is interpreted in this order: a process by its number, a category, a file, an event, a data source, and
 * then a program by its name.
 */

#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/doctor-heap.h"
#include "client/doctor-machine.h"
#include "client/doctor-names.h"
#include "client/doctor-points.h"
#include "client/doctor-process.h"
#include "client/doctor-service.h"
#include "client/say.h"
#include "client/verbs.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/text.h"

#define NAMES_DEADLINE_S 20 /* the service may have to start, and to ask polkit */

typedef struct Patient {
        DoctorReport *report;
        const NameFacts *names;
        bool has_perfetto_socket;
        int root;
} Patient;

/*
 * Gathering facts, each on a thread of its own
 */

static void *gather_machine(void *argument) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return machine_facts_new(root, getuid());
}

static void *gather_output(void *argument) {
        g_autofree char *path = g_get_current_dir();

        return output_facts_new(path);
}

static void *gather_process(void *argument) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return process_facts_new(root, (pid_t)GPOINTER_TO_INT(argument));
}

/* About a program, which may be running. */
typedef struct HeapPatient {
        char *program, *flatpak;
        pid_t pid;
} HeapPatient;

static void *gather_heap(void *argument) {
        HeapPatient *patient = argument;
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        HeapFacts *facts = heap_facts_new(root, patient->program, patient->pid, patient->flatpak);

        g_free(patient->program);
        g_free(patient->flatpak);
        g_free(patient);
        return facts;
}

static void check_heap(DoctorReport *report, const char *program, pid_t pid, const char *flatpak) {
        HeapPatient *patient = g_new0(HeapPatient, 1);
        _cleanup_(heap_facts_freep) HeapFacts *facts = NULL;

        *patient = (HeapPatient){ g_strdup(program), g_strdup(flatpak), pid };
        facts = doctor_within(DOCTOR_DEADLINE_S, gather_heap, patient);
        heap_check(report, facts);
}

static void *gather_program(void *argument) {
        g_autofree char *path = argument;
        ProgramFacts *facts = g_new0(ProgramFacts, 1);

        program_facts_read(facts, AT_FDCWD, path);
        return facts;
}

/*
 * What the user asked for
 */

static void check_pid(const Patient *patient, pid_t pid) {
        _cleanup_(process_facts_freep) ProcessFacts *facts =
                doctor_within(DOCTOR_DEADLINE_S, gather_process, GINT_TO_POINTER((int)pid));
        g_autofree char *sources = name_sources_of(patient->names, (uint32_t)pid);
        const ProcessOnService service = {
                .service_is_known = patient->names->is_known,
                .sources = sources,
                .has_perfetto_socket = patient->has_perfetto_socket,
        };

        process_check(patient->report, facts, &service);
        if (facts && facts->program && facts->state != 'Z')
                check_heap(patient->report, facts->program, pid, facts->flatpak);
}

/* Returns false if no process of that name is running. */
static bool check_running(const Patient *patient, const char *program) {
        g_autoptr(GArray) pids = process_find(patient->root, program);

        for (guint i = 0; i < pids->len; i++)
                check_pid(patient, g_array_index(pids, pid_t, i));
        return pids->len > 0;
}

static void check_file(const Patient *patient, const char *path) {
        g_autofree char *absolute = g_canonicalize_filename(path, NULL);
        g_autofree ProgramFacts *facts = NULL;

        if (check_running(patient, absolute))
                return;
        facts = doctor_within(DOCTOR_DEADLINE_S, gather_program, g_strdup(path));
        program_check(patient->report, path, facts ? facts : &(ProgramFacts){ 0 });
        if (facts && facts->is_readable)
                check_heap(patient->report, absolute, 0, NULL);
}

static void check_name(const Patient *patient, const char *name) {
        g_autofree char *path = NULL;

        if (name_is_source(patient->names, name)) {
                source_check(patient->report, patient->names, name);
                return;
        }
        if (check_running(patient, name))
                return;
        path = g_find_program_in_path(name);
        if (path)
                check_file(patient, path);
        else if (name_is_event(patient->names, name))
                event_check(patient->report, patient->names, name);
        else if (strchr(name, '.') || strchr(name, '_'))
                source_check(patient->report, patient->names, name);
        else
                doctor_add(patient->report,
                           DOCTOR_PROBLEM,
                           "program",
                           "ps -e; desktrace list sources; desktrace list events",
                           _("no program, data source or event is called \"%s\""),
                           name);
}

static void check_target(const Patient *patient, const char *target) {
        uint64_t pid;

        if (text_parse_uint(&pid, target, INT_MAX) == 0)
                check_pid(patient, (pid_t)pid);
        else if (g_str_has_prefix(target, CATEGORY_PREFIX))
                category_check(patient->report, patient->names, target + strlen(CATEGORY_PREFIX));
        else if (target[0] == '/' || target[0] == '.')
                check_file(patient, target);
        else if (strchr(target, '/'))
                event_check(patient->report, patient->names, target);
        else
                check_name(patient, target);
}

/*
 * The whole
 */

/* The environment of this shell affects which service is asked. */
static void check_own_environment(DoctorReport *report, BusChoice choice) {
        const char *socket = g_getenv(TRACING_ENV_SOCKET);

        if (choice == BUS_CHOICE_DEFAULT && socket && *socket)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "environment",
                           "unset " TRACING_ENV_SOCKET,
                           _("%s=%s is set: only that service is asked, not the system's"),
                           TRACING_ENV_SOCKET,
                           socket);
}

static void examine_target(DoctorReport *report,
                           const char *target,
                           BusChoice choice,
                           bool has_service,
                           bool has_perfetto_socket) {
        _cleanup_(name_facts_freep) NameFacts *names =
                has_service
                        ? doctor_within(NAMES_DEADLINE_S, name_facts_new, GINT_TO_POINTER(choice))
                        : NULL;
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const NameFacts nothing = { 0 };
        const Patient patient = {
                .report = report,
                .names = names ? names : &nothing,
                .has_perfetto_socket = has_perfetto_socket,
                .root = root,
        };

        check_target(&patient, target);
}

static bool has_service(const ServiceFacts *facts) {
        return facts && facts->bus_error >= 0 &&
               (facts->is_point_to_point || facts->service != NAME_ABSENT);
}

static void examine(DoctorReport *report, const char *target, BusChoice choice) {
        _cleanup_(service_facts_freep) ServiceFacts *service =
                doctor_within(DOCTOR_DEADLINE_S, service_facts_new, GINT_TO_POINTER(choice));
        _cleanup_(machine_facts_freep) MachineFacts *machine =
                doctor_within(DOCTOR_DEADLINE_S, gather_machine, NULL);
        _cleanup_(point_facts_freep) PointFacts *points = point_facts_within_time();
        _cleanup_(output_facts_freep) OutputFacts *output =
                doctor_within(DOCTOR_DEADLINE_S, gather_output, NULL);

        check_own_environment(report, choice);
        service_check(report, service, getuid());
        if (machine) {
                machine->is_user_service = choice == BUS_CHOICE_USER;
                machine_check(report, machine);
        }
        point_check(report, points);
        output_check(report, output);
        if (target)
                examine_target(report,
                               target,
                               choice,
                               has_service(service),
                               machine && machine->has_producer_socket);
}

ExitStatus verb_doctor(Invocation *invocation) {
        _cleanup_(doctor_report_deinit) DoctorReport report = { 0 };
        ExitStatus status;

        status = invocation_parse(invocation, NULL);
        if (!status)
                status = invocation_expect(invocation, 0, 1);
        if (status)
                return status;
        doctor_report_init(&report);
        say_set_bus_option(invocation_bus_option(invocation));
        examine(&report, invocation->arguments[0], invocation->bus);
        if (invocation->json == JSON_OFF)
                doctor_print_text(&report, invocation->is_quiet);
        else
                doctor_print_json(&report, invocation->json);
        return report.n_problems > 0 ? STATUS_PROBLEM : STATUS_OK;
}
