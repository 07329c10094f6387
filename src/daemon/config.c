/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * GLib is used for its key files only; no type of GLib's is seen outside this file.
 */

#include <errno.h>
#include <glib.h>
#include <stdio.h>

/* Both define them. */
#undef MIN
#undef MAX

#include "build-config.h"
#include "config.h"
#include "shared/log.h"
#include "shared/text.h"

#define CONFIG_FILE    CONFIG_DIR "/desktraced.conf"
#define PRODUCERS_PATH CONFIG_DIR "/producers.d:/run/desktrace/producers.d:" PRODUCERS_DIR

#define ENV_CONFIG         "DESKTRACE_CONFIG"         /* instead of desktraced.conf */
#define ENV_PRODUCERS_PATH "DESKTRACE_PRODUCERS_PATH" /* instead of the three directories */

static const char *const daemon_keys[] = { "IdleTimeoutSec" };
static const char *const producer_keys[] = { "Name", "DataSources", "BusName",
                                             "Unit", "Socket",      "Instance" };

static void producer_entry_deinit(ProducerEntry *entry) {
        g_free(entry->name);
        g_strfreev(entry->sources);
        g_free(entry->bus_name);
        g_free(entry->unit);
        g_free(entry->socket);
        g_free(entry->instance);
}

void daemon_config_deinit(DaemonConfig *config) {
        for (size_t i = 0; i < config->n_producers; i++)
                producer_entry_deinit(&config->producers[i]);
        free(config->producers);
        *config = (DaemonConfig){};
}

static size_t check_keys(GKeyFile *file,
                         const char *path,
                         const char *group,
                         const char *const known[],
                         size_t n_known) {
        g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, NULL);
        size_t n_problems = 0;

        for (char **key = keys; key && *key; key++) {
                const char *nearest;
                size_t i = 0;

                while (i < n_known && !streq(*key, known[i]))
                        i++;
                if (i < n_known)
                        continue;
                nearest = text_nearest(*key, known, n_known);
                log_warning("%s: unknown key %s= in [%s]%s%s",
                            path,
                            *key,
                            group,
                            nearest ? "; did you mean " : "",
                            nearest ? nearest : "");
                n_problems++;
        }
        return n_problems;
}

static bool load_key_file(GKeyFile *file, const char *path, const char *group, size_t *n_problems) {
        g_autoptr(GError) error = NULL;

        if (g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &error) &&
            g_key_file_has_group(file, group))
                return true;
        if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
                return false;
        log_warning("%s: %s",
                    path,
                    error ? error->message : "the group is missing that it should have");
        (*n_problems)++;
        return false;
}

int daemon_config_parse_timeout(uint64_t *ret_ns, const char *text) {
        if (streq(text, "infinity")) {
                *ret_ns = UINT64_MAX;
                return 0;
        }
        return text_parse_duration(ret_ns, text);
}

static void load_daemon_file(DaemonConfig *config, size_t *n_problems) {
        const char *path = g_getenv(ENV_CONFIG) ? g_getenv(ENV_CONFIG) : CONFIG_FILE;
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autofree char *timeout = NULL;

        if (!load_key_file(file, path, "Daemon", n_problems))
                return;
        *n_problems += check_keys(file, path, "Daemon", daemon_keys, ARRAY_SIZE(daemon_keys));
        timeout = g_key_file_get_string(file, "Daemon", "IdleTimeoutSec", NULL);
        if (timeout && daemon_config_parse_timeout(&config->idle_timeout_ns, timeout) < 0) {
                log_warning(
                        "%s: IdleTimeoutSec=%s is no duration, such as 10s or 1min", path, timeout);
                (*n_problems)++;
        }
}

/* What the file still has to contain, in words; NULL: it is complete. */
static const char *producer_entry_problem(const ProducerEntry *entry) {
        if (!entry->name || !entry->name[0])
                return "Name= is missing";
        if (!entry->sources || !entry->sources[0])
                return "DataSources= is missing; list them, separated by ;";
        if (!!entry->bus_name + !!entry->unit + !!entry->socket != 1)
                return "exactly one of BusName=, Unit= and Socket= must say how to start it";
        if (entry->socket && entry->socket[0] != '/')
                return "Socket= must be a path from the root";
        if (entry->instance && !streq(entry->instance, "user") && !streq(entry->instance, "system"))
                return "Instance= must be user or system";
        return NULL;
}

static void load_producer_file(DaemonConfig *config, const char *path, size_t *n_problems) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        ProducerEntry *entries, entry;
        const char *problem;

        if (!load_key_file(file, path, "Producer", n_problems))
                return;
        *n_problems += check_keys(file, path, "Producer", producer_keys, ARRAY_SIZE(producer_keys));
        entry = (ProducerEntry){
                .name = g_key_file_get_string(file, "Producer", "Name", NULL),
                .sources = g_key_file_get_string_list(file, "Producer", "DataSources", NULL, NULL),
                .bus_name = g_key_file_get_string(file, "Producer", "BusName", NULL),
                .unit = g_key_file_get_string(file, "Producer", "Unit", NULL),
                .socket = g_key_file_get_string(file, "Producer", "Socket", NULL),
                .instance = g_key_file_get_string(file, "Producer", "Instance", NULL),
        };
        problem = producer_entry_problem(&entry);
        entries = problem ? NULL
                          : reallocarray(
                                    config->producers, config->n_producers + 1, sizeof(*entries));
        if (!entries) {
                log_warning("%s: %s", path, problem ? problem : "out of memory");
                (*n_problems)++;
                producer_entry_deinit(&entry);
                return;
        }
        config->producers = entries;
        config->producers[config->n_producers++] = entry;
}

/* File name -> path of the first directory that has it. */
static void collect_producer_files(GTree *files, const char *directory) {
        g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                if (g_str_has_suffix(name, ".conf") && !g_tree_lookup(files, name))
                        g_tree_insert(
                                files, g_strdup(name), g_build_filename(directory, name, NULL));
}

static int compare_names(const void *a, const void *b, void *userdata) {
        return strcmp(a, b);
}

typedef struct LoadState {
        DaemonConfig *config;
        size_t *n_problems;
} LoadState;

static gboolean on_producer_file(void *name, void *path, void *userdata) {
        LoadState *state = userdata;

        if (state->config->n_producers >= DAEMON_PRODUCER_ENTRIES_MAX) {
                log_warning("%s: more than %d producers; it and the rest is ignored",
                            (const char *)path,
                            DAEMON_PRODUCER_ENTRIES_MAX);
                (*state->n_problems)++;
                return TRUE;
        }
        load_producer_file(state->config, path, state->n_problems);
        return FALSE;
}

int daemon_config_load(DaemonConfig *ret, size_t *ret_n_problems) {
        const char *path =
                g_getenv(ENV_PRODUCERS_PATH) ? g_getenv(ENV_PRODUCERS_PATH) : PRODUCERS_PATH;
        g_autoptr(GTree) files = g_tree_new_full(compare_names, NULL, g_free, g_free);
        g_auto(GStrv) directories = g_strsplit(path, ":", -1);
        LoadState state = { .config = ret, .n_problems = ret_n_problems };

        *ret_n_problems = 0;
        *ret = (DaemonConfig){ .idle_timeout_ns = DAEMON_IDLE_TIMEOUT_NS };
        load_daemon_file(ret, ret_n_problems);
        for (char **directory = directories; *directory; directory++)
                collect_producer_files(files, *directory);
        g_tree_foreach(files, on_producer_file, &state);
        return 0;
}

void daemon_config_choose(DaemonConfig *config, bool is_user) {
        size_t n = 0;

        for (size_t i = 0; i < config->n_producers; i++) {
                ProducerEntry *entry = &config->producers[i];

                if (!entry->instance || streq(entry->instance, "user") == is_user)
                        config->producers[n++] = *entry;
                else
                        producer_entry_deinit(entry);
        }
        config->n_producers = n;
}
