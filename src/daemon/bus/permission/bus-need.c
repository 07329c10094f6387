/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session needs (core/model/policy.h) as a question to polkit or to guarded producers, and refusals in words. */

#include "bus/permission/bus-need.h"
#include "config/config-details.h"
#include "config/probe-definitions.h"
#include "core/model/policy.h"
#include "owner/permission.h"
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
        /* Needs that guarded producers check; last, when everything else is granted. */
        { POLICY_NEEDS_GUARDED_SYSTEM,
          TRACING_ACTION_TRACE_SYSTEM,
          N_("recording the kernel, the system or other users' programs"),
          N_("record only your own programs (scope \"own\", no linux.* or desktrace.* source)") },
        { POLICY_NEEDS_GUARDED_DYNAMIC,
          TRACING_ACTION_TRACE_DYNAMIC,
          N_("placing your own probes (kprobe_events, uprobe_events, filters with .ustring)"),
          N_("record only the kernel's own events") },
        { POLICY_NEEDS_GUARDED_OWN,
          TRACING_ACTION_PROFILE_OWN,
          N_("recording call stacks of your own programs"),
          N_("record with \"desktrace record --standalone\" as far as the kernel allows it") },
};

/* The need's place in the table; it must be there. */
static size_t need_find(unsigned need) {
        size_t i = 0;

        while (i + 1 < ARRAY_SIZE(needs) && need != needs[i].need)
                i++;
        return i;
}

void need_refuse(AccessRefusal *ret, unsigned need, AccessAnswer answer) {
        const size_t i = need_find(need);

        switch (answer) {
        case ACCESS_NEEDS_INTERACTION:
                access_refuse(ret,
                              answer,
                              "%s needs %s, and polkit would have to ask the user: allow "
                              "interactive authorization in the call, or %s",
                              needs[i].what,
                              needs[i].action,
                              needs[i].instead);
                break;
        case ACCESS_UNAVAILABLE:
                access_refuse(ret,
                              answer,
                              "%s needs %s, and no polkit is available here to grant it: "
                              "use the system instance on the system bus, be root, or %s",
                              needs[i].what,
                              needs[i].action,
                              needs[i].instead);
                break;
        case ACCESS_ROOT_IS_SILENT:
                access_refuse(ret,
                              answer,
                              "%s for root: the probes do not take the service's word for it. "
                              "Root must be connected to them meanwhile, as \"desktrace "
                              "record\" is; or %s",
                              needs[i].what,
                              needs[i].instead);
                break;
        case ACCESS_LIMIT:
                access_refuse(ret,
                              answer,
                              "%d polkit questions to this user are pending; answer them first",
                              POLKIT_PENDING_PER_USER_MAX);
                break;
        case ACCESS_DENIED:
        case ACCESS_GRANTED:
        default:
                access_refuse(ret,
                              answer,
                              "%s needs %s, which polkit denied: ask an administrator for a rule, "
                              "or %s",
                              needs[i].what,
                              needs[i].action,
                              needs[i].instead);
        }
}

static PolkitQuestion polkit_question(const NeedQuestion *question) {
        return (PolkitQuestion){
                .subject = question->subject,
                .is_interactive = question->ask->is_interactive,
                .done = question->done,
                .userdata = question->userdata,
        };
}

/* All details are always passed: a prompt whose text names a missing detail would show the placeholder. */
static int need_ask_polkit(PolkitQuery **ret,
                           Bus *bus,
                           const NeedQuestion *question,
                           const ConfigDetails *details) {
        const PolkitDetail all[] = { { "sources", details->sources },
                                     { "duration-ms", details->duration_ms },
                                     { "session", details->session },
                                     { "probes", details->probes } };
        PolkitQuestion polkit = polkit_question(question);

        polkit.action = needs[need_find(question->ask->need)].action;
        polkit.details = all;
        polkit.n_details = ARRAY_SIZE(all);
        return polkit_ask(ret, bus, &polkit);
}

static int need_ask_guards(PolkitQuery **ret, Bus *bus, const NeedQuestion *question) {
        const PolkitQuestion polkit = polkit_question(question);

        return polkit_ask_guards(ret, bus, &polkit, question->ask->config);
}

static void details_refuse(AccessRefusal *ret, const ConfigDetails *details) {
        access_refuse(ret,
                      ACCESS_LIMIT,
                      "the config's own probes take %zu bytes to be said to polkit; at most %u "
                      "are allowed: place fewer in one session",
                      details->n_probes_bytes,
                      PROBE_DEFINITIONS_TEXT_MAX);
}

int need_ask(PolkitQuery **ret,
             Bus *bus,
             const NeedQuestion *question,
             AccessRefusal *ret_refusal) {
        _cleanup_(config_details_deinit) ConfigDetails details = {};
        const unsigned need = question->ask->need;
        int r;

        r = config_details_init(&details, question->ask->config);
        if (r < 0)
                return r;
        if (r > 0) {
                details_refuse(ret_refusal, &details);
                return ACCESS_E_REFUSED;
        }
        r = need & POLICY_NEEDS_GUARDED ? need_ask_guards(ret, bus, question)
                                        : need_ask_polkit(ret, bus, question, &details);
        if (r <= 0)
                return r;
        need_refuse(ret_refusal, need, r == POLKIT_E_LIMIT ? ACCESS_LIMIT : ACCESS_UNAVAILABLE);
        return ACCESS_E_REFUSED;
}
