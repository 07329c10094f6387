/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus/permission/bus-need.h"
#include "bus/link/bus-error.h"
#include "config/config-details.h"
#include "config/probe-definitions.h"
#include "core/model/policy.h"
#include "shared/error.h"
#include "shared/names.h"

/* What each need is called in polkit, and what to do without it. */
static const struct {
        unsigned need;
        const char *action;
        const char *what;
        const char *instead;
} needs[] = {
        { POLICY_NEEDS_TRACE_SYSTEM,
          TRACING_ACTION_TRACE_SYSTEM,
          N_("recording the kernel, the system or other users' programs"),
          N_("record only your own programs (scope \"own\", no linux.* or desktrace.* source)") },
        { POLICY_NEEDS_DETACH,
          TRACING_ACTION_DETACH,
          N_("a detached session without a time limit"),
          N_("set a duration of at most 7 days") },
        { POLICY_NEEDS_MANAGE,
          TRACING_ACTION_MANAGE,
          N_("exclusive_prio, which ends other sessions,"),
          N_("leave it out of the config") },
        { POLICY_NEEDS_TRACE_DYNAMIC,
          TRACING_ACTION_TRACE_DYNAMIC,
          N_("placing your own probes (kprobe_events, uprobe_events, filters with .ustring)"),
          N_("record only the kernel's own events") },
        /* What the probes ask about themselves; last, when the service has been granted the rest. */
        { POLICY_NEEDS_GUARDED_SYSTEM,
          TRACING_ACTION_TRACE_SYSTEM,
          N_("recording the kernel, the system or other users' programs"),
          N_("record only your own programs (scope \"own\", no linux.* or desktrace.* source)") },
        { POLICY_NEEDS_GUARDED_DYNAMIC,
          TRACING_ACTION_TRACE_DYNAMIC,
          N_("placing your own probes (kprobe_events, uprobe_events, filters with .ustring)"),
          N_("record only the kernel's own events") },
};

/* The place of the first of them in the table. */
static size_t need_find(unsigned mask) {
        size_t i = 0;

        while (i + 1 < ARRAY_SIZE(needs) && !(mask & needs[i].need))
                i++;
        return i;
}

unsigned need_first(unsigned mask) {
        return needs[need_find(mask)].need;
}

int need_refuse(unsigned need, PolkitAnswer answer, sd_bus_error *error) {
        const size_t i = need_find(need);

        switch (answer) {
        case POLKIT_NEEDS_INTERACTION:
                return bus_error_set(error,
                                     BUS_ERROR_AUTHORIZATION_NEEDED,
                                     "%s needs %s, and polkit would have to ask the user: allow "
                                     "interactive authorization in the call, or %s",
                                     needs[i].what,
                                     needs[i].action,
                                     needs[i].instead);
        case POLKIT_UNAVAILABLE:
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "%s needs %s, and no polkit is available here to grant it: "
                                     "use the system instance on the system bus, be root, or %s",
                                     needs[i].what,
                                     needs[i].action,
                                     needs[i].instead);
        case POLKIT_ROOT_IS_SILENT:
                return bus_error_set(
                        error,
                        BUS_ERROR_ROOT_IS_SILENT,
                        "%s for root: the probes do not take the service's word for it. "
                        "Root must be connected to them meanwhile, as \"desktrace "
                        "record\" is; or %s",
                        needs[i].what,
                        needs[i].instead);
        case POLKIT_DENIED:
        case POLKIT_GRANTED:
        default:
                return bus_error_set(
                        error,
                        BUS_ERROR_NOT_AUTHORIZED,
                        "%s needs %s, which polkit denied: ask an administrator for a rule, or %s",
                        needs[i].what,
                        needs[i].action,
                        needs[i].instead);
        }
}

/* All details are there always: a prompt's text that names one that is not shows its name. */
static int need_ask_polkit(PolkitQuery **ret,
                           Bus *bus,
                           const NeedQuestion *question,
                           const ConfigDetails *details) {
        return polkit_ask(
                ret,
                bus,
                &(PolkitQuestion){
                        .subject = question->subject,
                        .action = needs[need_find(question->need)].action,
                        .details = (const PolkitDetail[]){ { "sources", details->sources },
                                                           { "duration-ms", details->duration_ms },
                                                           { "session", details->session },
                                                           { "probes", details->probes } },
                        .n_details = 4,
                        .is_interactive = question->is_interactive,
                        .done = question->done,
                        .userdata = question->userdata,
                });
}

static int need_ask_guards(PolkitQuery **ret, Bus *bus, const NeedQuestion *question) {
        return polkit_ask_guards(ret,
                                 bus,
                                 &(PolkitQuestion){
                                         .subject = question->subject,
                                         .is_interactive = question->is_interactive,
                                         .done = question->done,
                                         .userdata = question->userdata,
                                 },
                                 question->config);
}

static int details_refuse(const ConfigDetails *details, sd_bus_error *error) {
        return bus_error_set(
                error,
                BUS_ERROR_LIMIT_EXCEEDED,
                "the config's own probes take %zu bytes to be said to polkit; at most %u "
                "are allowed: place fewer in one session",
                details->n_probes_bytes,
                PROBE_DEFINITIONS_TEXT_MAX);
}

int need_ask(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, sd_bus_error *error) {
        _cleanup_(config_details_deinit) ConfigDetails details = {};
        int r;

        r = config_details_init(&details, question->config);
        if (r)
                return r < 0 ? r : details_refuse(&details, error);
        r = question->need & POLICY_NEEDS_GUARDED ? need_ask_guards(ret, bus, question)
                                                  : need_ask_polkit(ret, bus, question, &details);
        if (r == POLKIT_E_UNAVAILABLE)
                return need_refuse(question->need, POLKIT_UNAVAILABLE, error);
        if (r == POLKIT_E_LIMIT)
                return polkit_refuse(error);
        return error_fold(r);
}
