/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Record own: what a preset records for users who may not record the system */

#include <glib/gi18n.h>

#include "client/record-own.h"
#include "client/say.h"
#include "client/standalone.h"
#include "shared/names.h"

static bool needs_permission(const Perfetto__Protos__TraceConfig__DataSource *source) {
        const char *name = source->config ? source->config->name : NULL;

        return name && standalone_is_probe_source(name) &&
               g_strcmp0(name, TRACING_OWN_STACKS_SOURCE) != 0;
}

/* A data source of the bridges. */
static bool is_worth_it(const RecordRequest *request) {
        g_auto(GStrv) bridged = record_request_bridge_sources(request);

        return request->config && bridged[0] && request->events->len == 0 &&
               request->sources->len == 0;
}

static bool keep_own(RecordRequest *request) {
        g_autoptr(GString) left_out = g_string_new(NULL);
        g_autofree Perfetto__Protos__TraceConfig__DataSource **kept =
                g_new0(Perfetto__Protos__TraceConfig__DataSource *,
                       request->config->pb->n_data_sources + 1);
        Perfetto__Protos__TraceConfig own = *request->config->pb;
        Config *config;

        own.data_sources = kept;
        own.n_data_sources = 0;
        for (size_t i = 0; i < request->config->pb->n_data_sources; i++) {
                Perfetto__Protos__TraceConfig__DataSource *source =
                        request->config->pb->data_sources[i];

                if (needs_permission(source))
                        g_string_append_printf(left_out,
                                               "%s%s",
                                               left_out->len > 0 ? ", " : "",
                                               source->config->name);
                else
                        kept[own.n_data_sources++] = source;
        }
        if (config_new_from_message(&config, &own) < 0)
                return false;
        config_free(request->config);
        request->config = config;
        say_error(_("you may not record the system (%s), so this is left out: %s"),
                  TRACING_ACTION_TRACE_SYSTEM,
                  left_out->str);
        say_hint(_("Your own programs are recorded."));
        return true;
}

sd_bus_message *record_own_start(RecordRequest *request, const BusClient *client, int output_fd) {
        sd_bus_message *start = NULL;

        if (is_worth_it(request) && keep_own(request) &&
            record_request_to_message(request, client, output_fd, &start) < 0)
                return NULL;
        return start;
}
