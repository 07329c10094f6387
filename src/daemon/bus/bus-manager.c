/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The vtable of the Manager: getters of its properties, and calls that are answered at once. */

#include <errno.h>

#include "bus/bus-manager.h"
#include "bus/link/bus-counts.h"
#include "bus/link/bus-error.h"
#include "bus/link/bus-property.h"
#include "bus/object/bus-access.h"
#include "bus/object/bus-session.h"
#include "bus/object/bus-sources.h"
#include "bus/producer/bus-activate.h"
#include "bus/producer/bus-events.h"
#include "bus/producer/bus-formats.h"
#include "bus/producer/bus-register.h"
#include "bus/session/bus-start.h"
#include "bus/session/bus-trigger.h"
#include "config/preset.h"
#include "core/model/session-names.h"
#include "shared/text.h"

typedef struct PresetList {
        Preset *presets;
        size_t n;
} PresetList;

static void preset_list_deinit(PresetList *list) {
        presets_free(list->presets, list->n);
}

static int method_list_presets(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(preset_list_deinit) PresetList list = {};
        int r;

        r = presets_list(&list.presets, &list.n);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ss)");
        for (size_t i = 0; r >= 0 && i < list.n; i++)
                r = sd_bus_message_append(
                        reply, "(ss)", list.presets[i].name, list.presets[i].description);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int append_session(sd_bus_message *reply, const BusSession *session) {
        return sd_bus_message_append(reply,
                                     "(otsus)",
                                     session->path,
                                     session_id(session->owned.session),
                                     session_name(session->owned.session),
                                     (uint32_t)session_options(session->owned.session)->owner.uid,
                                     session_state_name(session_state(session->owned.session)));
}

static int method_list_sessions(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Bus *bus = userdata;
        BusSession *session;
        int r;

        if (!client_sees_all(bus->caller)) {
                r = access_ask_manage(bus->caller, message, false, error);
                if (r)
                        return r;
        }
        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(otsus)");
        list_for_each (session, &bus->sessions.all, owned.link) {
                if (r >= 0 && bus_session_is_visible(session, bus->caller))
                        r = append_session(reply, session);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static BusSession *bus_session_of(Bus *bus, const Session *wanted) {
        BusSession *session;

        list_for_each (session, &bus->sessions.all, owned.link) {
                if (session->owned.session == wanted)
                        return session;
        }
        return NULL;
}

/* Finds a session by number or name among those that the caller may see. Returns 0 or SESSION_NAMES_E_AMBIGUOUS;
 * *ret is NULL if no session matches. */
static int find_session(BusSession **ret, const Client *caller, const char *name) {
        Service *service = caller->bus->service;
        Session *session;
        uint64_t id;
        int r = 0;

        if (text_parse_uint(&id, name, UINT64_MAX) >= 0)
                session = service_find_session(service, id);
        else if (client_sees_all(caller))
                r = session_find_any(&session, service, caller->identity.uid, name);
        else
                session = session_find_own(service, caller->identity.uid, name);
        *ret = session ? bus_session_of(caller->bus, session) : NULL;
        if (*ret && !bus_session_is_visible(*ret, caller))
                *ret = NULL;
        return r;
}

static int method_get_session(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        BusSession *session;
        const char *name;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = find_session(&session, bus->caller, name);
        if (r == SESSION_NAMES_E_AMBIGUOUS)
                return bus_error_set(error,
                                     BUS_ERROR_AMBIGUOUS_NAME,
                                     "several users have a session named \"%s\"; say which by its "
                                     "number, see ListSessions()",
                                     name);
        if (!session && !client_sees_all(bus->caller)) {
                r = access_ask_manage(bus->caller,
                                      message,
                                      sd_bus_message_get_allow_interactive_authorization(message) >
                                              0,
                                      error);
                if (r)
                        return r;
        }
        if (!session)
                return bus_error_set(error,
                                     BUS_ERROR_NO_SUCH_SESSION,
                                     "no session that you may see has the name or number \"%s\"; "
                                     "see ListSessions()",
                                     name);
        return sd_bus_reply_method_return(message, "o", session->path);
}

PROPERTY(get_version) {
        Bus *bus = userdata;

        return sd_bus_message_append(reply, "s", bus->info->version);
}

PROPERTY(get_n_sessions) {
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "u", (uint32_t)bus_n_sessions(bus, bus->caller));
}

PROPERTY(get_n_producers) {
        const Bus *bus = userdata;

        return sd_bus_message_append(reply, "u", (uint32_t)bus_n_producers(bus, bus->caller));
}

/* sd-bus lets everybody call; the access gate (bus-access.h) decides. */
#define GATED SD_BUS_VTABLE_UNPRIVILEGED

const sd_bus_vtable bus_manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_NAMES("StartSession",
                                 "a{sv}",
                                 SD_BUS_PARAM(options),
                                 "o",
                                 SD_BUS_PARAM(session),
                                 bus_method_start_session,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("ListSources",
                                 "",
                                 ,
                                 "a(saoa{sv})",
                                 SD_BUS_PARAM(sources),
                                 bus_method_list_sources,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("ListCategories",
                                 "",
                                 ,
                                 "a(saoa{sv})",
                                 SD_BUS_PARAM(categories),
                                 bus_method_list_categories,
                                 GATED),
        SD_BUS_METHOD("ActivateProducers", "", "", bus_method_activate_producers, GATED),
        SD_BUS_METHOD_WITH_NAMES("ListEvents",
                                 "a{sv}",
                                 SD_BUS_PARAM(options),
                                 "asa{sv}",
                                 SD_BUS_PARAM(events) SD_BUS_PARAM(details),
                                 bus_method_list_events,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("GetEventFormats",
                                 "as",
                                 SD_BUS_PARAM(events),
                                 "a(ss)",
                                 SD_BUS_PARAM(formats),
                                 bus_method_get_event_formats,
                                 GATED),
        SD_BUS_METHOD("AwaitProducers", "", "", bus_method_await_producers, GATED),
        SD_BUS_METHOD_WITH_NAMES("ListPresets",
                                 "",
                                 ,
                                 "a(ss)",
                                 SD_BUS_PARAM(presets),
                                 method_list_presets,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("ListSessions",
                                 "",
                                 ,
                                 "a(otsus)",
                                 SD_BUS_PARAM(sessions),
                                 method_list_sessions,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("GetSession",
                                 "s",
                                 SD_BUS_PARAM(name),
                                 "o",
                                 SD_BUS_PARAM(session),
                                 method_get_session,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("ActivateTriggers",
                                 "asa{sv}",
                                 SD_BUS_PARAM(names) SD_BUS_PARAM(options),
                                 "u",
                                 SD_BUS_PARAM(n_sessions),
                                 bus_method_activate_triggers,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("RegisterProducer",
                                 "sa(sa{sv})a{sv}",
                                 SD_BUS_PARAM(name) SD_BUS_PARAM(sources) SD_BUS_PARAM(options),
                                 "o",
                                 SD_BUS_PARAM(producer),
                                 bus_method_register_producer,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("RegisterDataSource",
                                 "sa{sv}",
                                 SD_BUS_PARAM(name) SD_BUS_PARAM(options),
                                 "",
                                 ,
                                 bus_method_register_source,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("UnregisterDataSource",
                                 "s",
                                 SD_BUS_PARAM(name),
                                 "",
                                 ,
                                 bus_method_unregister_source,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("AddNotes",
                                 "tas",
                                 SD_BUS_PARAM(instance) SD_BUS_PARAM(notes),
                                 "",
                                 ,
                                 bus_method_add_notes,
                                 GATED),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("NumSessions", "u", get_n_sessions, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("NumProducers",
                        "u",
                        get_n_producers,
                        0,
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};
