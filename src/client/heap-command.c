/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Heap command: how a program is started so that its heap can be recorded */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "build-config.h"
#include "client/heap-command.h"
#include "client/heap-program.h"
#include "client/say.h"
#include "client/standalone.h"
#include "shared/names.h"
#include "shared/text.h"

/* The place at which Flatpak shows the system's /usr to apps with "--filesystem=host-os". */
#define FLATPAK_HOST "/run/host"

/* The library's thread makes the program multi-threaded, and then glibc's malloc() takes a lock for every block that
 * the calling thread has not cached. A thread caches 7 blocks of a size by default. With as many as every version of
 * glibc allows, the lock is rare enough for a program that used to have one thread. */
#define TUNABLE       "glibc.malloc.tcache_count"
#define TUNABLE_VALUE TUNABLE "=127"

void heap_command_deinit(HeapCommand *command) {
        g_clear_pointer(&command->preload, g_free);
        g_clear_pointer(&command->interval, g_free);
        g_clear_pointer(&command->tunables, g_free);
        g_clear_pointer(&command->app_preload, g_free);
        g_clear_pointer(&command->app_folder, g_free);
}

static ExitStatus parse_interval(uint64_t *ret_interval, const char *text) {
        *ret_interval = HEAP_INTERVAL_DEFAULT;
        if (!*text)
                return STATUS_OK;
        if (text_parse_size(ret_interval, text) == 0 && *ret_interval > 0 &&
            *ret_interval <= HEAP_INTERVAL_MAX)
                return STATUS_OK;
        say_error(_("'%s' is not a number of bytes for each sample: try --heap=32K"), text);
        return STATUS_USAGE;
}

/* Flatpak's own options may stand before "run". 0: the command is another one. */
static size_t find_flatpak_run(const char *const *command) {
        g_autofree char *base = g_path_get_basename(command[0]);

        if (!streq(base, "flatpak"))
                return 0;
        for (size_t i = 1; command[i]; i++)
                if (command[i][0] != '-')
                        return streq(command[i], "run") ? i : 0;
        return 0;
}

static ExitStatus check_library(const char *library) {
        if (!g_file_test(library, G_FILE_TEST_EXISTS)) {
                say_error(_("%s is not installed, so allocations cannot be recorded"), library);
                return STATUS_FAILED;
        }
        if (strpbrk(library, " :")) {
                say_error(_("%s cannot be loaded into programs: its path has a blank or a colon"),
                          library);
                return STATUS_FAILED;
        }
        return STATUS_OK;
}

/* The library needs libdesktrace, which no runtime has: the dynamic linker finds what is loaded already by its name. */
static void prepare_app(HeapCommand *ret, const char *library) {
        const bool is_of_system = g_str_has_prefix(library, "/usr/");
        const char *root = is_of_system ? FLATPAK_HOST : "";

        ret->app_preload =
                g_strdup_printf("%s%s:%s%s", root, DESKTRACE_LIBRARY_PATH, root, library);
        if (!is_of_system) {
                g_autofree char *folder = g_path_get_dirname(library);

                ret->app_folder = g_path_get_dirname(folder);
        }
}

/* A value that the user has set is kept. */
static char *find_tunables(void) {
        const char *set = g_getenv("GLIBC_TUNABLES");

        if (!set || !*set)
                return g_strdup(TUNABLE_VALUE);
        return strstr(set, TUNABLE) ? NULL : g_strdup_printf("%s:%s", set, TUNABLE_VALUE);
}

/* Libraries that the user preloads may come from anywhere, so they stay in front. */
static ExitStatus prepare(HeapCommand *ret, uint64_t interval, const char *const *command) {
        const char *others = g_getenv("LD_PRELOAD");
        g_autofree char *library = standalone_heap_library();
        ExitStatus status = check_library(library);

        if (!status && find_flatpak_run(command)) {
                prepare_app(ret, library);
        } else if (!status) {
                status = heap_program_check(command[0], library);
                ret->preload = others && *others ? g_strdup_printf("%s:%s", library, others)
                                                 : g_strdup(library);
        }
        ret->interval = g_strdup_printf("%" PRIu64, interval);
        ret->tunables = find_tunables();
        return status;
}

ExitStatus heap_command_build(HeapCommand *ret,
                              RecordRequest *request,
                              const char *option,
                              const char *const *command,
                              bool is_standalone) {
        uint64_t interval;
        ExitStatus status = parse_interval(&interval, option);

        if (!status && !command && is_standalone) {
                say_error(_("--heap with --standalone requires a command: running programs only "
                            "know the regular services"));
                return STATUS_USAGE;
        }
        if (!status && command)
                status = prepare(ret, interval, command);
        return status ? status : record_request_add_heap(request, interval);
}

/*
 * Apps of Flatpak
 */

static void add_variable(GStrvBuilder *words, const char *name, const char *value) {
        g_autofree char *word = g_strdup_printf("--env=%s=%s", name, value);

        if (value)
                g_strv_builder_add(words, word);
}

static void add_filesystem(GStrvBuilder *words, const char *path, const char *mode) {
        g_autofree char *word = g_strconcat("--filesystem=", path, mode, NULL);

        g_strv_builder_add(words, word);
}

static const char *value_of(const ProcessVariable *variables, const char *name) {
        for (; variables->name; variables++)
                if (streq(variables->name, name))
                        return variables->value;
        return NULL;
}

/* The socket works with any version of Flatpak's proxy of the bus. */
static void add_service(GStrvBuilder *words, const ProcessVariable *variables) {
        const char *socket = value_of(variables, TRACING_ENV_SOCKET);

        if (!socket)
                socket = g_getenv(TRACING_ENV_SOCKET);
        if (!socket && g_file_test(TRACING_SOCKET_SYSTEM, G_FILE_TEST_EXISTS))
                socket = TRACING_SOCKET_SYSTEM;
        if (socket) {
                add_variable(words, TRACING_ENV_SOCKET, socket);
                add_filesystem(words, socket, "");
        } else {
                g_strv_builder_add(words, "--system-talk-name=" TRACING_BUS_NAME);
        }
}

static void
add_options(GStrvBuilder *words, const HeapCommand *heap, const ProcessVariable *variables) {
        add_variable(words, TRACING_ENV_PRELOAD, heap->app_preload);
        add_variable(words, TRACING_ENV_HEAP, heap->interval);
        add_variable(words, TRACING_ENV_TUNABLES, heap->tunables);
        add_variable(words, TRACING_ENV_WAIT, value_of(variables, TRACING_ENV_WAIT));
        add_filesystem(words, heap->app_folder ? heap->app_folder : "host-os", ":ro");
        add_service(words, variables);
}

char **heap_command_line(const HeapCommand *heap,
                         const char *const *command,
                         const ProcessVariable *variables) {
        g_autoptr(GStrvBuilder) words = g_strv_builder_new();
        size_t run;

        if (!heap->app_preload || !command)
                return g_strdupv((char **)command);
        run = find_flatpak_run(command);
        for (size_t i = 0; command[i]; i++) {
                g_strv_builder_add(words, command[i]);
                if (i == run)
                        add_options(words, heap, variables);
        }
        return g_strv_builder_end(words);
}
