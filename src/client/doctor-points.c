/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, points: which programs that run would be shown without being changed, and by what */

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build-config.h"
#include "client/doctor-bus-programs.h"
#include "client/doctor-points.h"
#include "client/say.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/process-maps.h"

#define FILE_SUFFIX    ".conf"
#define COMMON_SECTION "Points"
#define ENGINE_FILE \
        "v8_context_snapshot.bin" /* Chromium's data file, which every program made of Chromium maps */
#define NAME_BYTES_MAX 64
#define PROGRAMS_SHOWN 12
#define ELLIPSIS       ", …"

typedef struct Library {
        Showing *showing;
        char *pattern; /* of its file name: "libgtk-4.so.1*", as longer versions often follow */
} Library;

/* Libraries that show which programs the bridges are about; programs on the bus are found there. */
static const struct {
        const char *source, *pattern;
} bridge_libraries[] = {
        { "org.pipewire.profiler", "libpipewire-0.3.so.0*" },
        { "org.x.present", "libxcb-present.so.0*" },
};

/* Programs that show more of themselves if they are started with a variable. */
static const struct {
        const char *pattern, *variable;
} start_libraries[] = {
        { "libgstreamer-1.0.so.0*", "GST_TRACERS=desktrace" },
        { "libvulkan.so.1*", "DESKTRACE_VULKAN=1" },
};

static void showing_free(gpointer item) {
        Showing *showing = item;

        g_free(showing->by);
        g_ptr_array_unref(showing->programs);
        g_free(showing);
}

static Showing *get_showing(PointFacts *facts, const char *source, const char *by) {
        Showing *showing;

        for (guint i = 0; i < facts->showings->len; i++) {
                showing = facts->showings->pdata[i];
                if (streq(showing->source, source) && g_strcmp0(showing->by, by) == 0)
                        return showing;
        }
        showing = g_new0(Showing, 1);
        showing->source = source;
        showing->by = g_strdup(by);
        showing->programs = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(facts->showings, showing);
        return showing;
}

static void add_program(Showing *showing, const char *program) {
        if (showing->programs->len < POINT_PROGRAMS_MAX &&
            !g_ptr_array_find_with_equal_func(showing->programs, program, g_str_equal, NULL))
                g_ptr_array_add(showing->programs, g_strdup(program));
}

void point_facts_add(PointFacts *facts, const char *source, const char *program) {
        add_program(get_showing(facts, source, NULL), program);
}

/*
 * Libraries
 */

static void library_free(gpointer item) {
        Library *library = item;

        g_free(library->pattern);
        g_free(library);
}

static bool has_library(const PointFacts *facts, const Showing *showing, const char *pattern) {
        for (guint i = 0; i < facts->libraries->len; i++) {
                const Library *library = facts->libraries->pdata[i];

                if (library->showing == showing && streq(library->pattern, pattern))
                        return true;
        }
        return false;
}

static void add_library(PointFacts *facts, Showing *showing, const char *pattern) {
        Library *library;

        if (facts->libraries->len == POINT_LIBRARIES_MAX || has_library(facts, showing, pattern))
                return;
        library = g_new0(Library, 1);
        library->showing = showing;
        library->pattern = g_strdup(pattern);
        g_ptr_array_add(facts->libraries, library);
}

static void add_known_libraries(PointFacts *facts) {
        for (size_t i = 0; i < ARRAY_SIZE(bridge_libraries); i++)
                add_library(facts,
                            get_showing(facts, bridge_libraries[i].source, NULL),
                            bridge_libraries[i].pattern);
        for (size_t i = 0; i < ARRAY_SIZE(start_libraries); i++)
                add_library(facts,
                            get_showing(facts, POINT_AT_START, start_libraries[i].variable),
                            start_libraries[i].pattern);
}

/*
 * Points files
 */

static char *get_key(GKeyFile *file, const char *section, const char *key) {
        char *value = g_key_file_get_string(file, section, key, NULL);

        return value ?: g_key_file_get_string(file, COMMON_SECTION, key, NULL);
}

/* The category of points that are recorded by default. */
static void
add_point(PointFacts *facts, const char *file_name, GKeyFile *file, const char *section) {
        g_autofree char *group = get_key(file, section, "Group");
        g_autofree char *soname = get_key(file, section, "Library");
        g_autofree char *is_default = get_key(file, section, "Default");
        g_autofree char *pattern = soname ? g_strconcat(soname, "*", NULL) : NULL;

        if (group && pattern && (!is_default || !streq(is_default, "no"))) {
                add_library(facts, get_showing(facts, TRACING_POINTS_SOURCE, file_name), pattern);
                facts->has_points = true;
        }
}

static void read_points(PointFacts *facts, int folder, const char *name) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        _cleanup_(freep) char *text = NULL;
        g_auto(GStrv) sections = NULL;
        size_t n;

        if (fd_read_file(&text, &n, folder, name, POINT_FILE_BYTES_MAX) < 0 ||
            !g_key_file_load_from_data(file, text, n, G_KEY_FILE_NONE, NULL))
                return;
        sections = g_key_file_get_groups(file, NULL);
        for (char **section = sections; *section; section++)
                if (!streq(*section, COMMON_SECTION))
                        add_point(facts, name, file, *section);
}

/* A file in an earlier folder replaces a file of the same name in a later one. */
static void read_folder(PointFacts *facts, GHashTable *seen, int root, const char *path) {
        int fd = openat(root, path + (*path == '/'), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!folder)
                return;
        while ((entry = readdir(folder)))
                if (g_str_has_suffix(entry->d_name, FILE_SUFFIX) &&
                    g_hash_table_add(seen, g_strdup(entry->d_name)))
                        read_points(facts, fd, entry->d_name);
        closedir(folder);
}

/*
 * Programs
 */

typedef struct Process {
        const char *name;
        bool is_own; /* bridges only record the user's own programs */
} Process;

static void engine_clear(gpointer item) {
        PointEngine *engine = item;

        g_free(engine->program);
        g_free(engine->path);
}

static void add_engine(PointFacts *facts, const char *program, const char *path) {
        PointEngine engine;

        for (guint i = 0; i < facts->engines->len; i++)
                if (streq(g_array_index(facts->engines, PointEngine, i).program, program))
                        return;
        if (facts->engines->len == POINT_PROGRAMS_MAX)
                return;
        engine = (PointEngine){ g_strdup(program), g_strdup(path) };
        g_array_append_val(facts->engines, engine);
}

static void add_process(const PointFacts *facts, const Process *process, const char *file) {
        for (guint i = 0; i < facts->libraries->len; i++) {
                const Library *library = facts->libraries->pdata[i];

                if ((process->is_own || streq(library->showing->source, TRACING_POINTS_SOURCE)) &&
                    fnmatch(library->pattern, file, 0) == 0)
                        add_program(library->showing, process->name);
        }
}

static void read_mappings(PointFacts *facts, const Process *process, char *maps) {
        char *state = NULL;

        for (char *line = strtok_r(maps, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                ProcessMapping mapping;
                const char *name;

                if (!process_mapping_parse(&mapping, line) || *mapping.path != '/')
                        continue;
                name = strrchr(mapping.path, '/') + 1;
                if (mapping.is_executable)
                        add_process(facts, process, name);
                if (streq(name, ENGINE_FILE))
                        add_engine(facts, process->name, mapping.path);
        }
}

static void read_process(PointFacts *facts, int proc, const char *pid) {
        g_autofree char *maps_path = g_strconcat(pid, "/maps", NULL);
        g_autofree char *name_path = g_strconcat(pid, "/comm", NULL);
        _cleanup_(freep) char *maps = NULL, *name = NULL;
        struct stat info;

        if (fstatat(proc, pid, &info, 0) < 0 ||
            fd_read_file(&maps, NULL, proc, maps_path, PROCESS_MAPS_BYTES_MAX) < 0 ||
            fd_read_file(&name, NULL, proc, name_path, NAME_BYTES_MAX) < 0)
                return;
        name[strcspn(name, "\n")] = '\0';
        read_mappings(facts, &(Process){ name, info.st_uid == geteuid() }, maps);
}

static void read_processes(PointFacts *facts, int root) {
        int fd = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *proc = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!proc)
                return;
        for (unsigned n = 0; n < POINT_PROCESSES_MAX && (entry = readdir(proc));)
                if (isdigit((unsigned char)entry->d_name[0])) {
                        read_process(facts, fd, entry->d_name);
                        n++;
                }
        closedir(proc);
}

PointFacts *point_facts_new(int root) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        PointFacts *facts = g_new0(PointFacts, 1);

        facts->libraries = g_ptr_array_new_with_free_func(library_free);
        facts->showings = g_ptr_array_new_with_free_func(showing_free);
        facts->engines = g_array_new(FALSE, FALSE, sizeof(PointEngine));
        g_array_set_clear_func(facts->engines, engine_clear);
        facts->has_chromium_folder = faccessat(root, "etc/chromium.d", F_OK, 0) == 0;
        read_folder(facts, seen, root, CONFIG_DIR "/points.d");
        read_folder(facts, seen, root, POINTS_DIR);
        add_known_libraries(facts);
        read_processes(facts, root);
        return facts;
}

PointFacts *point_facts_free(PointFacts *facts) {
        if (!facts)
                return NULL;
        g_array_unref(facts->engines);
        g_ptr_array_unref(facts->libraries);
        g_ptr_array_unref(facts->showings);
        g_free(facts);
        return NULL;
}

static void *gather(void *argument) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return point_facts_new(root);
}

PointFacts *point_facts_within_time(void) {
        PointFacts *facts = doctor_within(DOCTOR_DEADLINE_S, gather, NULL);
        g_autoptr(GArray) programs = bus_programs_within_time();

        for (guint i = 0; facts && i < programs->len; i++) {
                const BusProgram *program = &g_array_index(programs, BusProgram, i);

                point_facts_add(facts, program->source, program->name);
        }
        return facts;
}

/*
 * Checks
 */

static char *list_programs(const Showing *showing) {
        g_autoptr(GString) list = g_string_new(NULL);

        for (guint i = 0; i < showing->programs->len && i <= PROGRAMS_SHOWN; i++)
                g_string_append_printf(list,
                                       "%s%s",
                                       i > 0 ? ", " : "",
                                       i < PROGRAMS_SHOWN ? (char *)showing->programs->pdata[i]
                                                          : "…");
        return say_clean(list->str, list->len);
}

static bool is_to_be_said(const Showing *showing) {
        return showing->programs->len > 0 && !streq(showing->source, POINT_AT_START);
}

char *showing_sentence(const Showing *showing) {
        g_autofree char *programs = NULL, *by = NULL;

        if (!is_to_be_said(showing))
                return NULL;
        programs = list_programs(showing);
        if (!showing->by)
                return g_strdup_printf(_("%s would show %s"), showing->source, programs);
        by = say_clean(showing->by, strlen(showing->by));
        return g_strdup_printf(_("%s would show by %s: %s"), showing->source, by, programs);
}

static void check_showing(DoctorReport *report, const Showing *showing) {
        g_autofree char *sentence = showing_sentence(showing);
        g_autofree char *programs = NULL;

        if (sentence) {
                doctor_add(report, DOCTOR_OK, "programs", NULL, "%s", sentence);
        } else if (showing->programs->len > 0) {
                programs = list_programs(showing);
                doctor_add(
                        report,
                        DOCTOR_NOTE,
                        "programs",
                        showing->by,
                        _("%s would show more if they were started with an environment variable"),
                        programs);
        }
}

#define CHROMIUM_SWITCH "--enable-features=EnablePerfettoSystemTracing"

/* Where the switch is set for good, by where the engine is. */
static const char *engine_remedy(const PointFacts *facts, const char *path) {
        static const struct {
                const char *prefix, *remedy;
        } places[] = {
                { "/usr/lib/chromium/",
                  "echo " CHROMIUM_SWITCH " >>~/.config/chromium-flags.conf" },
                { "/usr/lib64/chromium",
                  "echo " CHROMIUM_SWITCH " >>~/.config/chromium-flags.conf" },
                { "/usr/lib/electron", "echo " CHROMIUM_SWITCH " >>~/.config/electron-flags.conf" },
                { "/app/chromium/",
                  "echo " CHROMIUM_SWITCH
                  " >>~/.var/app/org.chromium.Chromium/config/chromium-flags.conf" },
        };

        if (facts->has_chromium_folder && g_str_has_prefix(path, places[0].prefix))
                return "echo 'CHROMIUM_FLAGS=\"$CHROMIUM_FLAGS " CHROMIUM_SWITCH
                       "\"' | sudo tee /etc/chromium.d/desktrace";
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (g_str_has_prefix(path, places[i].prefix))
                        return places[i].remedy;
        return _("start it with --enable-features=EnablePerfettoSystemTracing; docs/DESKTOP.md "
                 "says where that can stay");
}

static void check_engines(DoctorReport *report, const PointFacts *facts) {
        for (guint i = 0; i < facts->engines->len; i++) {
                const PointEngine *engine = &g_array_index(facts->engines, PointEngine, i);

                doctor_add(report,
                           DOCTOR_NOTE,
                           "programs",
                           engine_remedy(facts, engine->path),
                           _("%s is made of Chromium and has libraries of its own: only "
                             "what a Wayland compositor says of it is shown"),
                           engine->program);
        }
}

void point_check(DoctorReport *report, const PointFacts *facts) {
        const guint n_before = report->findings->len;

        if (!facts)
                return;
        for (guint i = 0; i < facts->showings->len; i++)
                check_showing(report, facts->showings->pdata[i]);
        /* Without points the probes are not installed, which is reported elsewhere. */
        if (facts->has_points && report->findings->len == n_before)
                doctor_add(report,
                           DOCTOR_OK,
                           "programs",
                           NULL,
                           _("no program that you may inspect uses a library that a data source "
                             "knows"));
        check_engines(report, facts);
}
