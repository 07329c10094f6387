/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>

#include "bus/bus-error.h"
#include "bus/bus-need.h"
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
          "recording the kernel, the system or other users' programs",
          "record your own programs only (scope \"own\", no linux.* or desktrace.* source)" },
        { POLICY_NEEDS_DETACH,
          TRACING_ACTION_DETACH,
          "a detached session without a deadline",
          "set a duration of at most 7 days" },
        { POLICY_NEEDS_MANAGE,
          TRACING_ACTION_MANAGE,
          "exclusive_prio, which ends the sessions of others,",
          "leave it out" },
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
                                     "%s needs %s, and polkit would have to ask the user; call "
                                     "again with interactive "
                                     "authorization allowed, or %s",
                                     needs[i].what,
                                     needs[i].action,
                                     needs[i].instead);
        case POLKIT_UNAVAILABLE:
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "%s needs %s, and there is no polkit to grant it here; use "
                                     "the system instance on "
                                     "the system bus, be root, or %s",
                                     needs[i].what,
                                     needs[i].action,
                                     needs[i].instead);
        case POLKIT_DENIED:
        case POLKIT_GRANTED:
        default:
                return bus_error_set(
                        error,
                        BUS_ERROR_NOT_AUTHORIZED,
                        "%s needs %s, which polkit denied; ask an administrator for a rule, or %s",
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

int need_ask_subject(PolkitQuery **ret,
                     Bus *bus,
                     const PolkitSubject *subject,
                     unsigned need,
                     const Config *config,
                     bool interactive,
                     PolkitDone done,
                     void *userdata,
                     sd_bus_error *error) {
        const char *name = config->pb->unique_session_name;
        _cleanup_(freep) char *sources = NULL;
        char duration_ms[DURATION_TEXT_BYTES];
        int r;

        r = sources_text(&sources, config);
        if (r < 0)
                return r;
        snprintf(duration_ms, sizeof(duration_ms), "%" PRIu32, config->pb->duration_ms);
        r = polkit_ask_subject(ret,
                               bus,
                               subject,
                               needs[need_find(need)].action,
                               (const PolkitDetail[]){ { "sources", sources },
                                                       { "duration-ms", duration_ms },
                                                       { "session", name ? name : "" } },
                               3,
                               interactive,
                               done,
                               userdata);
        if (r == POLKIT_E_UNAVAILABLE)
                return need_refuse(need, POLKIT_UNAVAILABLE, error);
        if (r == POLKIT_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "%d polkit checks of this user are pending; answer them first",
                                     POLKIT_PENDING_PER_UID_MAX);
        return error_fold(r);
}

int need_ask(PolkitQuery **ret,
             Client *client,
             unsigned need,
             const Config *config,
             bool interactive,
             PolkitDone done,
             void *userdata,
             sd_bus_error *error) {
        const PolkitSubject subject = { .uid = client->identity.uid, .name = client->name };

        if (client_is_private(client))
                return need_refuse(need, POLKIT_UNAVAILABLE, error);
        return need_ask_subject(
                ret, client->bus, &subject, need, config, interactive, done, userdata, error);
}
