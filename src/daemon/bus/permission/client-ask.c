/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What polkit is asked about clients. */

#include "bus/permission/client-ask.h"
#include "shared/confinement.h"
#include "shared/names.h"

int client_ask_manage(PolkitQuery **ret,
                      Client *client,
                      bool is_interactive,
                      PolkitDone done,
                      void *userdata) {
        return polkit_ask(ret,
                          client->bus,
                          &(PolkitQuestion){
                                  .subject = polkit_subject_of(client),
                                  .action = TRACING_ACTION_MANAGE,
                                  .is_interactive = is_interactive,
                                  .done = done,
                                  .userdata = userdata,
                          });
}

int client_ask_sandbox(PolkitQuery **ret,
                       Client *client,
                       bool is_interactive,
                       PolkitDone done,
                       void *userdata) {
        const PolkitDetail details[] = { { "sandbox", confinement_name(client->confinement) } };

        return polkit_ask(ret,
                          client->bus,
                          &(PolkitQuestion){
                                  .subject = polkit_subject_of(client),
                                  .action = TRACING_ACTION_TRACE_SANDBOX,
                                  .details = details,
                                  .n_details = ARRAY_SIZE(details),
                                  .is_interactive = is_interactive,
                                  .done = done,
                                  .userdata = userdata,
                          });
}

int client_ask_to_start(PolkitQuery **ret, Client *client, PolkitDone done, void *userdata) {
        const PolkitDetail details[] = { { "sources", TRACING_EVENTS_SOURCE } };

        return polkit_ask(ret,
                          client->bus,
                          &(PolkitQuestion){
                                  .subject = polkit_subject_of(client),
                                  .action = TRACING_ACTION_TRACE_SYSTEM,
                                  .details = details,
                                  .n_details = ARRAY_SIZE(details),
                                  .done = done,
                                  .userdata = userdata,
                          });
}
