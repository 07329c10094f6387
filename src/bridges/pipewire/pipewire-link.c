/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* PipeWire link: a connection to the PipeWire of the session, with libpipewire */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Some versions of the profiler's header leave out what they use. */
#ifndef PIPEWIRE_MODULE_PREFIX
#define PIPEWIRE_MODULE_PREFIX "libpipewire-"
#endif

#include <pipewire/impl.h>
#include <pipewire/pipewire.h>
#include <spa/pod/pod.h>

#include <pipewire/extensions/profiler.h>

#include "bridges/pipewire/pipewire-link.h"
#include "shared/macro.h"
#include "shared/text.h"

#define FACTORY_OF_ITS_OWN "adapter"

struct PipewireLink {
        struct pw_loop *loop;
        struct pw_context *context;
        struct pw_core *core;         /* NULL: not connected */
        struct pw_registry *registry; /* these three go away with it */
        struct pw_proxy *profiler;    /* NULL: not found */
        struct spa_hook core_hook, registry_hook, profiler_hook;
        int asked; /* the number of the sync request whose answer follows everything that exists */
        PipewireState state;
        NodeTable *nodes; /* borrowed */
        PipewireProfile *profile;
        void *userdata;
};

bool pipewire_link_is_built(void) {
        return true;
}

/*
 * What PipeWire tells
 */

static void on_profile(void *data, const struct spa_pod *pod) {
        const PipewireLink *link = data;

        link->profile(link->userdata, pod, SPA_POD_SIZE(pod));
}

static const struct pw_profiler_events profiler_events = {
        .version = PW_VERSION_PROFILER_EVENTS,
        .profile = on_profile,
};

static uint32_t number_of(const struct spa_dict *properties, const char *key) {
        const char *text = properties ? spa_dict_lookup(properties, key) : NULL;
        uint64_t number;

        return text && text_parse_uint(&number, text, INT32_MAX) >= 0 ? (uint32_t)number
                                                                      : NODE_ID_UNKNOWN;
}

static void add_client(NodeTable *nodes, uint32_t id, const struct spa_dict *properties) {
        const uint32_t pid = number_of(properties, PW_KEY_SEC_PID);
        NodeObject *object = node_table_set(nodes, id, NODE_CLIENT);

        if (object && pid != NODE_ID_UNKNOWN)
                object->pid = (pid_t)pid;
}

static void add_node(NodeTable *nodes, uint32_t id, const struct spa_dict *properties) {
        NodeObject *object = node_table_set(nodes, id, NODE_NODE);

        if (!object)
                return;
        object->client = number_of(properties, PW_KEY_CLIENT_ID);
        object->factory = number_of(properties, PW_KEY_FACTORY_ID);
        object->is_device = number_of(properties, PW_KEY_DEVICE_ID) != NODE_ID_UNKNOWN;
}

static void add_factory(NodeTable *nodes, uint32_t id, const struct spa_dict *properties) {
        const char *name = properties ? spa_dict_lookup(properties, PW_KEY_FACTORY_NAME) : NULL;

        if (name && streq(name, FACTORY_OF_ITS_OWN))
                (void)node_table_set(nodes, id, NODE_FACTORY);
}

static void add_profiler(PipewireLink *link, uint32_t id) {
        if (link->profiler)
                return;
        link->profiler = pw_registry_bind(
                link->registry, id, PW_TYPE_INTERFACE_Profiler, PW_VERSION_PROFILER, 0);
        if (!link->profiler)
                return;
        pw_proxy_add_object_listener(link->profiler, &link->profiler_hook, &profiler_events, link);
        link->state = PIPEWIRE_LISTENING;
}

static void on_global(void *data,
                      uint32_t id,
                      uint32_t permissions,
                      const char *type,
                      uint32_t version,
                      const struct spa_dict *properties) {
        PipewireLink *link = data;

        if (streq(type, PW_TYPE_INTERFACE_Client))
                add_client(link->nodes, id, properties);
        else if (streq(type, PW_TYPE_INTERFACE_Node))
                add_node(link->nodes, id, properties);
        else if (streq(type, PW_TYPE_INTERFACE_Factory))
                add_factory(link->nodes, id, properties);
        else if (streq(type, PW_TYPE_INTERFACE_Profiler))
                add_profiler(link, id);
}

static void on_global_remove(void *data, uint32_t id) {
        (void)node_table_set(((PipewireLink *)data)->nodes, id, NODE_NONE);
}

static const struct pw_registry_events registry_events = {
        .version = PW_VERSION_REGISTRY_EVENTS,
        .global = on_global,
        .global_remove = on_global_remove,
};

static void on_done(void *data, uint32_t id, int number) {
        PipewireLink *link = data;

        if (id == PW_ID_CORE && number == link->asked && link->state == PIPEWIRE_ASKED)
                link->state = PIPEWIRE_NO_PROFILER;
}

/* The connection is not closed here, as it is the one that calls. */
static void on_error(void *data, uint32_t id, int number, int error, const char *message) {
        if (id == PW_ID_CORE && error == -EPIPE)
                ((PipewireLink *)data)->state = PIPEWIRE_CLOSED;
}

static const struct pw_core_events core_events = {
        .version = PW_VERSION_CORE_EVENTS,
        .done = on_done,
        .error = on_error,
};

/*
 * The connection
 */

static void link_close(PipewireLink *link) {
        if (link->profiler)
                pw_proxy_destroy(link->profiler);
        if (link->registry)
                pw_proxy_destroy((struct pw_proxy *)link->registry);
        if (link->core)
                pw_core_disconnect(link->core);
        link->profiler = NULL;
        link->registry = NULL;
        link->core = NULL;
        link->state = PIPEWIRE_CLOSED;
        node_table_clear(link->nodes);
}

int pipewire_link_open(PipewireLink *link) {
        link_close(link);
        link->core = pw_context_connect(link->context, NULL, 0);
        if (!link->core)
                return errno > 0 ? -errno : -EIO;
        link->state = PIPEWIRE_ASKED;
        pw_core_add_listener(link->core, &link->core_hook, &core_events, link);
        link->registry = pw_core_get_registry(link->core, PW_VERSION_REGISTRY, 0);
        if (!link->registry) {
                link_close(link);
                return -EIO;
        }
        pw_registry_add_listener(link->registry, &link->registry_hook, &registry_events, link);
        link->asked = pw_core_sync(link->core, PW_ID_CORE, 0);
        return 0;
}

PipewireState pipewire_link_state(const PipewireLink *link) {
        return link->state;
}

int pipewire_link_fd(const PipewireLink *link) {
        return pw_loop_get_fd(link->loop);
}

void pipewire_link_turn(PipewireLink *link) {
        pw_loop_enter(link->loop);
        (void)pw_loop_iterate(link->loop, 0);
        pw_loop_leave(link->loop);
        if (link->core && link->state == PIPEWIRE_CLOSED)
                link_close(link);
}

PipewireLink *pipewire_link_free(PipewireLink *link) {
        if (!link)
                return NULL;
        if (link->context) {
                link_close(link);
                pw_context_destroy(link->context);
        }
        if (link->loop)
                pw_loop_destroy(link->loop);
        free(link);
        return NULL;
}
DEFINE_CLEANUP(PipewireLink *, pipewire_link_free)

/* libpipewire's own log is for its own users. */
static void init_library(void) {
        static bool is_done;

        if (is_done)
                return;
        pw_init(NULL, NULL);
        pw_log_set_level(SPA_LOG_LEVEL_NONE);
        is_done = true;
}

/* Loads only the modules that are needed, and none that the user's configuration names. */
static int make_context(PipewireLink *link) {
        link->context =
                pw_context_new(link->loop, pw_properties_new(PW_KEY_CONFIG_NAME, "null", NULL), 0);
        if (!link->context)
                return -EIO;
        if (!pw_context_load_module(
                    link->context, "libpipewire-module-protocol-native", NULL, NULL) ||
            !pw_context_load_module(link->context, PW_EXTENSION_MODULE_PROFILER, NULL, NULL))
                return -EIO;
        return 0;
}

int pipewire_link_new(PipewireLink **ret,
                      NodeTable *nodes,
                      PipewireProfile *profile,
                      void *userdata) {
        _cleanup_(pipewire_link_freep) PipewireLink *link = calloc(1, sizeof(*link));
        int r;

        if (!link)
                return -ENOMEM;
        link->nodes = nodes;
        link->profile = profile;
        link->userdata = userdata;
        init_library();
        link->loop = pw_loop_new(NULL);
        if (!link->loop)
                return -EIO;
        r = make_context(link);
        if (r < 0)
                return r;
        *ret = TAKE(link);
        return 0;
}
