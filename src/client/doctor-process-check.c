/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, process: the checks of a program that should be among the producers, from the facts of doctor-process.c */

#include <glib/gi18n.h>
#include <string.h>

#include "build-config.h"
#include "client/doctor-process.h"

#define TOPIC "program"

static bool has_library(const ProcessFacts *facts) {
        return facts->library || facts->file.has_own_library;
}

/* false: there is nothing more to look at. */
static bool check_is_there(DoctorReport *report, const ProcessFacts *facts) {
        if (!facts)
                doctor_add(
                        report,
                        DOCTOR_PROBLEM,
                        TOPIC,
                        NULL,
                        _("the process could not be inspected within %d s: it hangs in the kernel"),
                        DOCTOR_DEADLINE_S);
        else if (!facts->exists)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           TOPIC,
                           "ps -e",
                           _("there is no process %d that you may see"),
                           (int)facts->pid);
        else
                doctor_add(report,
                           DOCTOR_OK,
                           TOPIC,
                           NULL,
                           _("%s is process %d of uid %u: %s"),
                           facts->name,
                           (int)facts->pid,
                           (unsigned)facts->uid,
                           facts->program ? facts->program : _("you may not see its file"));
        return facts && facts->exists;
}

static void check_state(DoctorReport *report, const ProcessFacts *facts) {
        g_autofree char *remedy = g_strdup_printf("kill -CONT %d", (int)facts->pid);

        if (facts->state == 'T' || facts->state == 't')
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           TOPIC,
                           remedy,
                           _("it is stopped: it cannot answer, and nothing waits for it"));
        if (facts->state == 'Z')
                doctor_add(report, DOCTOR_PROBLEM, TOPIC, NULL, _("it has ended (a zombie)"));
}

/* "0.1.0" of ".../libdesktrace.so.0.1.0"; NULL for a bare ".so.0". */
static const char *library_version(const char *path) {
        const char *name = strrchr(path, '/');
        const char *version = name ? strstr(name, ".so.") : NULL;

        return version && strchr(version + 4, '.') ? version + 4 : NULL;
}

static void check_library(DoctorReport *report, const ProcessFacts *facts) {
        const char *version = library_version(facts->library);

        if (facts->library_is_deleted)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "library",
                           _("restart the program"),
                           _("%s was replaced after the program had started, which still uses the "
                             "old one"),
                           facts->library);
        else if (version && !streq(version, DESKTRACE_VERSION))
                doctor_add(report,
                           DOCTOR_NOTE,
                           "library",
                           NULL,
                           _("uses %s, this is version %s; old libraries work, with the features "
                             "that they had"),
                           facts->library,
                           DESKTRACE_VERSION);
        else
                doctor_add(report, DOCTOR_OK, "library", NULL, _("uses %s"), facts->library);
}

static void check_perfetto(DoctorReport *report, const ProcessOnService *service) {
        if (service->has_perfetto_socket)
                doctor_add(report,
                           DOCTOR_OK,
                           "library",
                           NULL,
                           _("has Perfetto's SDK in it, and there is a socket for it"));
        else
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "library",
                           "sudo systemctl enable --now desktraced-perfetto-producer.socket",
                           _("has Perfetto's SDK in it, which finds no service at "
                             "/run/perfetto/traced-producer.sock"));
}

static void check_instrumentation(DoctorReport *report,
                                  const ProcessFacts *facts,
                                  const ProcessOnService *service) {
        g_autofree char *sudo = g_strdup_printf("sudo desktrace doctor %d", (int)facts->pid);

        if (facts->library)
                check_library(report, facts);
        else if (facts->file.has_own_library)
                doctor_add(report, DOCTOR_OK, "library", NULL, _("has libdesktrace in it"));
        else if (facts->file.has_perfetto)
                check_perfetto(report, service);
        else if (service->sources)
                return;
        else if (!facts->has_maps)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "library",
                           sudo,
                           _("you may not look into this process, so what it uses is not known"));
        else
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "library",
                           _("see docs/INSTRUMENT.md; \"desktrace record sched/*\" shows when it "
                             "runs"),
                           facts->file.is_readable && facts->file.is_static
                                   ? _("is linked statically, and has neither libdesktrace nor "
                                       "Perfetto's SDK in it: only the kernel's view of it can be "
                                       "recorded")
                                   : _("uses neither libdesktrace nor Perfetto's SDK: only the "
                                       "kernel's view of it can be recorded"));
}

/* Each check with what follows from it. */
static void check_variable(DoctorReport *report, const char *variable) {
        static const struct {
                const char *name;
                const char *what;
        } rows[] = {
                { "DESKTRACE_SOCKET=",
                  N_("it is recorded by that service only, not by the system's") },
                { "DESKTRACE_WAIT=", N_("its start waits this long for a recording") },
                { "DESKTRACE_STARTUP=", N_("it keeps its first events until it is recorded") },
                { "DBUS_SYSTEM_BUS_ADDRESS=",
                  N_("if that is not the machine's bus, the system's service does not see it") },
                { "PERFETTO_PRODUCER_SOCK_NAME=",
                  N_("Perfetto's SDK in it looks for a service there only") },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_str_has_prefix(variable, rows[i].name))
                        doctor_add(report,
                                   DOCTOR_NOTE,
                                   "environment",
                                   _("start the program without the variable"),
                                   "%.200s: %s",
                                   variable,
                                   _(rows[i].what));
}

static void check_environment(DoctorReport *report, const ProcessFacts *facts) {
        for (char **variable = facts->variables; variable && *variable; variable++)
                check_variable(report, *variable);
}

static void check_place(DoctorReport *report, const ProcessFacts *facts) {
        g_autofree char *app = facts->flatpak ? g_shell_quote(facts->flatpak) : NULL;
        g_autofree char *talk = app ? g_strdup_printf("flatpak override --user --system-talk-name="
                                                      "org.desktrace.Tracing1 %s",
                                                      app)
                                    : NULL;

        if (facts->flatpak)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "sandbox",
                           talk,
                           _("it is the Flatpak app %s, which must be allowed to talk to "
                             "org.desktrace.Tracing1"),
                           facts->flatpak);
        else if (facts->is_elsewhere)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "sandbox",
                           _("see docs/CONTAINERS.md"),
                           _("it is in a container of its own, which must have the bus or "
                             "/run/desktrace/native.sock"));
}

static void check_registration(DoctorReport *report,
                               const ProcessFacts *facts,
                               const ProcessOnService *service) {
        if (service->sources)
                doctor_add(report,
                           DOCTOR_OK,
                           "service",
                           NULL,
                           _("the service knows it, with %s"),
                           service->sources);
        else if (!service->service_is_known)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "service",
                           NULL,
                           _("the service could not be asked whether it knows this program"));
        else if (facts->library && !facts->has_thread)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "library",
                           _("call dt_init() at the start of main(); see docs/INSTRUMENT.md"),
                           _("it has libdesktrace, but has not called dt_init(), or not in this "
                             "process after a fork()"));
        else if (has_library(facts))
                doctor_add(
                        report,
                        DOCTOR_PROBLEM,
                        "service",
                        _("look at the environment and the sandbox above, then restart the "
                          "program"),
                        _("the service does not know it, although it has libdesktrace: it cannot "
                          "reach the service, or is another user's"));
        else if (facts->file.has_perfetto)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "service",
                           _("restart the program; docs/PERFETTO.md has what Chromium needs"),
                           _("the service does not know it: Perfetto's SDK has not connected"));
}

void process_check(DoctorReport *report,
                   const ProcessFacts *facts,
                   const ProcessOnService *service) {
        if (!check_is_there(report, facts))
                return;
        check_state(report, facts);
        check_instrumentation(report, facts, service);
        check_environment(report, facts);
        check_place(report, facts);
        check_registration(report, facts, service);
}

void program_check(DoctorReport *report, const char *path, const ProgramFacts *facts) {
        g_autofree char *quoted = g_shell_quote(path);
        g_autofree char *run = g_strconcat("desktrace record -- ", quoted, NULL);
        const bool is_instrumented =
                facts->names_library || facts->has_own_library || facts->has_perfetto;

        if (!facts->is_readable)
                doctor_add(report, DOCTOR_PROBLEM, TOPIC, NULL, _("%s cannot be read"), path);
        else if (is_instrumented)
                doctor_add(report,
                           DOCTOR_NOTE,
                           TOPIC,
                           run,
                           facts->names_library || facts->has_own_library
                                   ? _("%s uses libdesktrace, and is not running")
                                   : _("%s has Perfetto's SDK in it, and is not running"),
                           path);
        else
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           TOPIC,
                           _("see docs/INSTRUMENT.md; libraries that it loads are not looked at "
                             "before it runs"),
                           facts->is_static
                                   ? _("%s is linked statically, and has neither libdesktrace nor "
                                       "Perfetto's SDK in it")
                                   : _("%s itself uses neither libdesktrace nor Perfetto's SDK"),
                           path);
}
