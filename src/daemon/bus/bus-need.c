/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>

#include "bus/bus-error.h"
#include "bus/bus-need.h"
#include "config/probe-definitions.h"
#include "core/policy.h"
#include "shared/bytes.h"
#include "shared/error.h"
#include "shared/names.h"

#define DURATION_TEXT_BYTES sizeof("4294967295")

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

/* All of them: a rule that allows what it sees must see everything. */
static int sources_text(char **ret, const Config *config) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r;

        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;
                const char *name = source && source->name ? source->name : "";

                r = bytes_append(&text, ",", i > 0);
                if (r >= 0)
                        r = bytes_append(&text, name, strlen(name));
                if (r < 0)
                        return r;
        }
        r = bytes_append(&text, "", 1);
        if (r < 0)
                return r;
        *ret = (char *)TAKE(text.data);
        return 0;
}

/* Of a size that a person can look at: what could not be shown is not asked about. */
static int probes_text(char **ret, const Config *config, sd_bus_error *error) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r;

        r = config_append_probe_definitions(&text, config);
        if (r < 0)
                return r;
        if (text.n > PROBE_DEFINITIONS_TEXT_MAX)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "the config's own probes take %zu bytes to be said to polkit; "
                                     "at most %u are allowed: place fewer in one session",
                                     text.n,
                                     PROBE_DEFINITIONS_TEXT_MAX);
        if (text.n > 0)
                text.n--; /* the last one's end */
        r = bytes_append(&text, "", 1);
        if (r < 0)
                return r;
        *ret = (char *)TAKE(text.data);
        return 0;
}

/* All details are there always: a prompt's text that names one that is not shows its name. */
static int
need_ask_polkit(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, const char *probes) {
        const Config *config = question->config;
        const char *name = config->pb->unique_session_name;
        _cleanup_(freep) char *sources = NULL;
        char duration_ms[DURATION_TEXT_BYTES];
        int r;

        r = sources_text(&sources, config);
        if (r < 0)
                return r;
        snprintf(duration_ms, sizeof(duration_ms), "%" PRIu32, config->pb->duration_ms);
        return polkit_ask(
                ret,
                bus,
                &(PolkitQuestion){
                        .subject = question->subject,
                        .action = needs[need_find(question->need)].action,
                        .details = (const PolkitDetail[]){ { "sources", sources },
                                                           { "duration-ms", duration_ms },
                                                           { "session", name ? name : "" },
                                                           { "probes", probes } },
                        .n_details = 4,
                        .is_interactive = question->is_interactive,
                        .done = question->done,
                        .userdata = question->userdata,
                });
}

int need_ask(PolkitQuery **ret, Bus *bus, const NeedQuestion *question, sd_bus_error *error) {
        _cleanup_(freep) char *probes = NULL;
        int r;

        r = probes_text(&probes, question->config, error);
        if (r < 0)
                return r;
        r = need_ask_polkit(ret, bus, question, probes);
        if (r == POLKIT_E_UNAVAILABLE)
                return need_refuse(question->need, POLKIT_UNAVAILABLE, error);
        if (r == POLKIT_E_LIMIT)
                return polkit_refuse(error);
        return error_fold(r);
}
