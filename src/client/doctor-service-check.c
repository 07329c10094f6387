/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, service: whether the service, its socket, the probes and polkit are installed and answer */

#include <errno.h>
#include <glib/gi18n.h>
#include <linux/capability.h>
#include <string.h>

#include "build-config.h"
#include "client/doctor-service.h"

static bool is_user(const ServiceFacts *facts) {
        return facts->choice == BUS_CHOICE_USER;
}

/* The systemctl command for the manager of this service. */
static char *systemctl(const ServiceFacts *facts, const char *arguments) {
        return g_strconcat(
                is_user(facts) ? "systemctl --user " : "sudo systemctl ", arguments, NULL);
}

/* Returns false if nothing else can be found out. */
static bool check_bus(DoctorReport *report, const ServiceFacts *facts) {
        static const char remedy[] =
                N_("without a bus, record with \"desktrace record --standalone\"");

        if (!facts)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "bus",
                           "systemctl status dbus",
                           _("the bus, or what is on it, did not answer within %d s"),
                           DOCTOR_DEADLINE_S);
        else if (facts->bus_error < 0)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "bus",
                           facts->bus_error == -EACCES ? "systemctl status dbus" : _(remedy),
                           is_user(facts) ? _("there is no user bus here: %s")
                                          : _("there is no system bus here: %s"),
                           g_strerror(-facts->bus_error));
        else if (facts->is_point_to_point)
                doctor_add(report,
                           DOCTOR_OK,
                           "bus",
                           NULL,
                           _("none is used: the service answers on its own socket"));
        else
                doctor_add(report,
                           DOCTOR_OK,
                           "bus",
                           NULL,
                           is_user(facts) ? _("the user's bus answers")
                                          : _("the system bus answers"));
        return facts && facts->bus_error >= 0;
}

static bool unit_is(const char *state, const char *wanted) {
        return state && streq(state, wanted);
}

static void check_version(DoctorReport *report, const ServiceFacts *facts) {
        g_autofree char *restart = systemctl(facts, "restart desktraced");

        if (!facts->version)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "service",
                           restart,
                           _("the service runs, but does not report its version: %s"),
                           facts->version_error ? facts->version_error : "");
        else if (!streq(facts->version, DESKTRACE_VERSION))
                doctor_add(report,
                           DOCTOR_NOTE,
                           "service",
                           restart,
                           _("the running service is version %s, this program is %s"),
                           facts->version,
                           DESKTRACE_VERSION);
        else
                doctor_add(report,
                           DOCTOR_OK,
                           "service",
                           NULL,
                           _("runs, version %s like this program"),
                           facts->version);
}

static void check_unit(DoctorReport *report,
                       const ServiceFacts *facts,
                       const UnitFacts *unit,
                       const char *topic,
                       const char *name) {
        g_autofree char *unmask = g_strconcat("unmask ", name, NULL);
        g_autofree char *reset = g_strconcat("reset-failed ", name, NULL);
        g_autofree char *unmask_command = systemctl(facts, unmask);
        g_autofree char *reset_command = systemctl(facts, reset);

        if (!unit->is_known)
                return;
        if (unit_is(unit->load_state, "masked"))
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           topic,
                           unmask_command,
                           _("%s is masked: it is not allowed to start"),
                           name);
        else if (unit->load_state && !unit_is(unit->load_state, "loaded"))
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           topic,
                           "systemctl daemon-reload",
                           _("systemd cannot load %s: %s"),
                           name,
                           unit->load_state);
        else if (unit_is(unit->active_state, "failed"))
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           topic,
                           reset_command,
                           _("%s has failed (%s); \"journalctl -u %s\" says why"),
                           name,
                           unit->result ? unit->result : "",
                           name);
}

static void check_service(DoctorReport *report, const ServiceFacts *facts) {
        const unsigned n_problems = report->n_problems;

        check_unit(report, facts, &facts->service_unit, "service", "desktraced.service");
        if (facts->service == NAME_RUNNING || facts->is_point_to_point)
                check_version(report, facts);
        else if (report->n_problems > n_problems)
                return;
        else if (facts->service == NAME_ACTIVATABLE)
                doctor_add(report,
                           DOCTOR_OK,
                           "service",
                           NULL,
                           _("does not run; D-Bus starts it when it is used"));
        else
                doctor_add(
                        report,
                        DOCTOR_PROBLEM,
                        "service",
                        is_user(facts) ? "systemctl --user reload dbus"
                                       : "sudo systemctl reload dbus",
                        _("the bus knows no org.desktrace.Tracing1: Desktrace is not installed for "
                          "it, or was installed after the bus had started"));
}

static void check_socket(DoctorReport *report, const ServiceFacts *facts) {
        check_unit(report, facts, &facts->socket_unit, "socket", "desktraced.socket");
}

/*
 * The probes
 */

static void check_sandbox(DoctorReport *report, const UnitFacts *unit) {
        static const char revert[] = "sudo systemctl revert desktrace-probes.service";
        g_autofree char *files = unit->drop_ins ? g_strjoinv(", ", unit->drop_ins) : NULL;

        if (!(unit->capabilities & UINT64_C(1) << CAP_DAC_OVERRIDE))
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "probes",
                           revert,
                           _("CapabilityBoundingSet= of desktrace-probes.service lacks "
                             "CAP_DAC_OVERRIDE: they cannot open tracefs"));
        if (unit->protects_tunables)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "probes",
                           revert,
                           _("ProtectKernelTunables= of desktrace-probes.service makes tracefs "
                             "read-only for them"));
        if (files && *files)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "probes",
                           revert,
                           _("desktrace-probes.service is changed on this machine: %s"),
                           files);
}

static void check_probes(DoctorReport *report, const ServiceFacts *facts) {
        const unsigned n_problems = report->n_problems;
        const UnitFacts *unit = &facts->probes_unit;

        if (is_user(facts) || facts->is_point_to_point)
                return;
        check_unit(report, facts, unit, "probes", "desktrace-probes.service");
        check_unit(report, facts, &facts->probes_socket_unit, "probes", "desktrace-probes.socket");
        if (unit->is_known && unit_is(unit->load_state, "loaded"))
                check_sandbox(report, unit);
        if (report->n_problems > n_problems)
                return;
        doctor_add(report,
                   DOCTOR_OK,
                   "probes",
                   NULL,
                   facts->probes == NAME_RUNNING
                           ? _("run")
                           : _("do not run; they are started when they are recorded"));
}

/*
 * Polkit
 */

static const char *default_text(uint32_t implicit) {
        static const char *const texts[] = {
                N_("no"),
                N_("the user's password"),
                N_("an administrator's password"),
                N_("the user's password, kept for a while"),
                N_("an administrator's password, kept for a while"),
                N_("yes"),
        };

        return implicit < G_N_ELEMENTS(texts) ? _(texts[implicit]) : "?";
}

#define RULE_REMEDY                                                                       \
        N_("an administrator can copy desktrace-example.rules from the documentation to " \
           "/etc/polkit-1/rules.d")

static void check_authorization(DoctorReport *report, const PolkitFacts *polkit) {
        if (polkit->is_authorized)
                doctor_add(report,
                           DOCTOR_OK,
                           "polkit",
                           NULL,
                           _("you may record the system without being asked"));
        else if (polkit->is_challenge)
                doctor_add(
                        report,
                        DOCTOR_NOTE,
                        "polkit",
                        _(RULE_REMEDY),
                        _("to record the system you are asked for a password, by the desktop's "
                          "agent or on the terminal (on a seat: %s; else: %s); your own programs "
                          "need none"),
                        default_text(polkit->defaults[2]),
                        default_text(polkit->defaults[0]));
        else
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "polkit",
                           _(RULE_REMEDY),
                           _("you may not record the system, only your own programs"));
}

static void check_polkit(DoctorReport *report, const ServiceFacts *facts, uint32_t uid) {
        const PolkitFacts *polkit = &facts->polkit;

        if (is_user(facts) || facts->is_point_to_point)
                return;
        if (uid == 0) {
                doctor_add(report, DOCTOR_OK, "polkit", NULL, _("root is not asked"));
                return;
        }
        if (polkit->state == NAME_ABSENT)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "polkit",
                           "sudo apt install polkitd  # or: sudo desktrace record ...",
                           _("there is no polkit: only root may record the system, and you may "
                             "record your own programs"));
        else if (polkit->error && !polkit->has_action)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "polkit",
                           "sudo systemctl restart polkit",
                           _("polkit does not know "
                             "org.desktrace.tracing1.trace-system: %s"),
                           polkit->error);
        else if (!polkit->has_answered)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "polkit",
                           "sudo systemctl restart polkit",
                           _("polkit does not answer: %s"),
                           polkit->error ? polkit->error : "");
        else
                check_authorization(report, polkit);
}

void service_check(DoctorReport *report, const ServiceFacts *facts, uint32_t uid) {
        if (!check_bus(report, facts))
                return;
        check_service(report, facts);
        check_socket(report, facts);
        check_probes(report, facts);
        check_polkit(report, facts, uid);
}
