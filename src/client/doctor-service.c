/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The facts. Each call has a deadline of its own, and none starts anything but polkit, which is asked about this
 * process without a prompt.
 */

#include <string.h>

#include "client/bus-properties.h"
#include "client/doctor-service.h"
#include "shared/names.h"

#define SYSTEMD      "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define PROPERTIES   "org.freedesktop.DBus.Properties"
#define POLKIT       "org.freedesktop.PolicyKit1"
#define POLKIT_PATH  "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_TYPE  POLKIT ".Authority"
#define PROBES_NAME  "org.desktrace.Probes1"
#define ACTIONS_MAX  65536

typedef struct Names {
        char **running, **activatable;
} Names;

static void names_deinit(Names *names) {
        char **const lists[] = { names->running, names->activatable };

        for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
                for (char **at = lists[i]; at && *at; at++)
                        free(*at);
                free(lists[i]);
        }
}

static NameState name_state(const Names *names, const char *name) {
        if (g_strv_contains((const char *const *)names->running, name))
                return NAME_RUNNING;
        return g_strv_contains((const char *const *)names->activatable, name) ? NAME_ACTIVATABLE
                                                                              : NAME_ABSENT;
}

/* Returns 0 or an errno; the error is set when there was an answer. */
static int
call(sd_bus *bus, sd_bus_message **ret_reply, sd_bus_message *message, sd_bus_error *error) {
        return sd_bus_call(bus, message, DOCTOR_CALL_TIMEOUT_USEC, error, ret_reply);
}

/*
 * The service
 */

static void read_version(ServiceFacts *facts, const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *version;
        int r;

        r = bus_client_new_call(client, &message, TRACING_PATH, PROPERTIES, "Get");
        if (r >= 0)
                r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", TRACING_MANAGER_INTERFACE, "Version");
        if (r >= 0)
                r = call(client->bus, &reply, message, &error);
        if (r >= 0)
                r = sd_bus_message_read(reply, "v", "s", &version);
        if (r >= 0)
                facts->version = g_strdup(version);
        else
                facts->version_error = g_strdup(error.message ? error.message : g_strerror(-r));
}

/*
 * Units
 */

static int load_unit(sd_bus *bus, const char *name, char **ret_path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        const char *path;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &message, SYSTEMD, SYSTEMD_PATH, SYSTEMD ".Manager", "LoadUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", name);
        if (r >= 0)
                r = call(bus, &reply, message, NULL);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r >= 0)
                *ret_path = g_strdup(path);
        return r;
}

static int read_unit_properties(UnitFacts *unit,
                                sd_bus *bus,
                                const char *path,
                                const char *interface,
                                const PropertyRow *rows,
                                size_t n_rows) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD, path, PROPERTIES, "GetAll");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", interface);
        if (r >= 0)
                r = call(bus, &reply, message, NULL);
        return r < 0 ? r : properties_read(reply, rows, n_rows, unit);
}

static void unit_deinit(UnitFacts *unit) {
        g_free(unit->load_state);
        g_free(unit->active_state);
        g_free(unit->result);
        g_strfreev(unit->drop_ins);
}

static void read_unit(UnitFacts *unit, sd_bus *bus, const char *name, const char *type) {
        static const PropertyRow rows[] = {
                { "LoadState", "s", offsetof(UnitFacts, load_state), property_read_string },
                { "ActiveState", "s", offsetof(UnitFacts, active_state), property_read_string },
                { "DropInPaths", "as", offsetof(UnitFacts, drop_ins), property_read_strings },
        };
        static const PropertyRow type_rows[] = {
                { "Result", "s", offsetof(UnitFacts, result), property_read_string },
                { "CapabilityBoundingSet",
                  "t",
                  offsetof(UnitFacts, capabilities),
                  property_read_uint64 },
                { "ProtectKernelTunables",
                  "b",
                  offsetof(UnitFacts, protects_tunables),
                  property_read_bool },
        };
        g_autofree char *path = NULL;

        if (load_unit(bus, name, &path) < 0)
                return;
        unit->is_known =
                read_unit_properties(unit, bus, path, SYSTEMD ".Unit", rows, G_N_ELEMENTS(rows)) >=
                        0 &&
                read_unit_properties(unit, bus, path, type, type_rows, G_N_ELEMENTS(type_rows)) >=
                        0;
}

/*
 * Polkit
 */

static int read_authorization(PolkitFacts *polkit, sd_bus_message *reply) {
        int authorized, challenge, r;

        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(reply, "bb", &authorized, &challenge);
        if (r < 0)
                return r;
        polkit->has_answered = true;
        polkit->is_authorized = authorized;
        polkit->is_challenge = challenge;
        return 0;
}

static void ask_polkit(PolkitFacts *polkit, sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *name;
        int r;

        r = sd_bus_get_unique_name(bus, &name);
        if (r >= 0)
                r = sd_bus_message_new_method_call(
                        bus, &message, POLKIT, POLKIT_PATH, POLKIT_TYPE, "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(message,
                                          "(sa{sv})sa{ss}us",
                                          "system-bus-name",
                                          1,
                                          "name",
                                          "s",
                                          name,
                                          TRACING_ACTION_TRACE_SYSTEM,
                                          0,
                                          UINT32_C(0),
                                          "");
        if (r >= 0)
                r = call(bus, &reply, message, &error);
        if (r >= 0)
                r = read_authorization(polkit, reply);
        if (r < 0)
                polkit->error = g_strdup(error.message ? error.message : g_strerror(-r));
}

/* One of polkit's actions: id, description, message, vendor, vendor's address, icon, three defaults, annotations. */
static int read_action(PolkitFacts *polkit, sd_bus_message *reply) {
        const char *id;
        uint32_t defaults[3];
        int r;

        r = sd_bus_message_read(reply, "s", &id);
        if (r >= 0)
                r = sd_bus_message_skip(reply, "sssss");
        if (r >= 0)
                r = sd_bus_message_read(reply, "uuu", &defaults[0], &defaults[1], &defaults[2]);
        if (r >= 0)
                r = sd_bus_message_skip(reply, "a{ss}");
        if (r >= 0 && streq(id, TRACING_ACTION_TRACE_SYSTEM)) {
                polkit->has_action = true;
                memcpy(polkit->defaults, defaults, sizeof(defaults));
        }
        return r;
}

static void find_action(PolkitFacts *polkit, sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &message, POLKIT, POLKIT_PATH, POLKIT_TYPE, "EnumerateActions");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "");
        if (r >= 0)
                r = call(bus, &reply, message, NULL);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssuuua{ss})");
        for (unsigned n = 0; r >= 0 && n < ACTIONS_MAX && !polkit->has_action; n++) {
                r = sd_bus_message_enter_container(reply, 'r', "ssssssuuua{ss}");
                if (r <= 0)
                        return;
                r = read_action(polkit, reply);
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
}

static void read_polkit(PolkitFacts *polkit, sd_bus *bus) {
        if (polkit->state == NAME_ABSENT)
                return;
        ask_polkit(polkit, bus);
        find_action(polkit, bus);
}

/*
 * All facts
 */

static int read_names(ServiceFacts *facts, sd_bus *bus) {
        _cleanup_(names_deinit) Names names = { 0 };
        int r;

        r = sd_bus_list_names(bus, &names.running, &names.activatable);
        if (r < 0)
                return r;
        facts->service = name_state(&names, TRACING_BUS_NAME);
        facts->probes = name_state(&names, PROBES_NAME);
        facts->systemd = name_state(&names, SYSTEMD);
        facts->polkit.state = name_state(&names, POLKIT);
        return 0;
}

static void read_bus(ServiceFacts *facts, const BusClient *client) {
        facts->bus_error = read_names(facts, client->bus);
        if (facts->bus_error < 0)
                return;
        if (facts->service == NAME_RUNNING)
                read_version(facts, client);
        if (facts->systemd == NAME_RUNNING) {
                read_unit(&facts->service_unit,
                          client->bus,
                          "desktraced.service",
                          SYSTEMD ".Service");
                read_unit(&facts->socket_unit, client->bus, "desktraced.socket", SYSTEMD ".Socket");
        }
        if (facts->choice == BUS_CHOICE_USER)
                return;
        if (facts->systemd == NAME_RUNNING) {
                read_unit(&facts->probes_unit,
                          client->bus,
                          "desktrace-probes.service",
                          SYSTEMD ".Service");
                read_unit(&facts->probes_socket_unit,
                          client->bus,
                          "desktrace-probes.socket",
                          SYSTEMD ".Socket");
        }
        read_polkit(&facts->polkit, client->bus);
}

void *service_facts_new(void *argument) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        ServiceFacts *facts = g_new0(ServiceFacts, 1);

        facts->choice = (BusChoice)GPOINTER_TO_INT(argument);
        facts->bus_error = bus_client_try_open(&client, facts->choice);
        if (facts->bus_error < 0)
                return facts;
        facts->is_point_to_point = !client.destination;
        if (client.destination)
                read_bus(facts, &client);
        else
                read_version(facts, &client);
        return facts;
}

ServiceFacts *service_facts_free(ServiceFacts *facts) {
        if (!facts)
                return NULL;
        g_free(facts->version);
        g_free(facts->version_error);
        g_free(facts->polkit.error);
        unit_deinit(&facts->service_unit);
        unit_deinit(&facts->probes_unit);
        unit_deinit(&facts->socket_unit);
        unit_deinit(&facts->probes_socket_unit);
        g_free(facts);
        return NULL;
}
