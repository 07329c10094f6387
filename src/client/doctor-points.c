/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glib/gi18n.h>
#include <string.h>

#include "build-config.h"
#include "client/doctor-points.h"
#include "client/say.h"
#include "shared/fd.h"
#include "shared/process-maps.h"

#define FILE_SUFFIX    ".conf"
#define COMMON_SECTION "Points"
#define ENGINE_FILE \
        "v8_context_snapshot.bin" /* Chromium's, mapped by every program that is made of it */
#define NAME_BYTES_MAX 64
#define PROGRAMS_SHOWN 12
#define ELLIPSIS       ", …"

typedef struct Library {
        char *group;
        char *pattern; /* of names of its file: "libgtk-4.so.1*", as files are often called by longer versions */
} Library;

/*
 * Files of points
 */

static void library_free(gpointer item) {
        Library *library = item;

        g_free(library->group);
        g_free(library->pattern);
        g_free(library);
}

static char *get_key(GKeyFile *file, const char *section, const char *key) {
        char *value = g_key_file_get_string(file, section, key, NULL);

        return value ?: g_key_file_get_string(file, COMMON_SECTION, key, NULL);
}

static bool has_library(const PointFacts *facts, const char *group, const char *pattern) {
        for (guint i = 0; i < facts->libraries->len; i++) {
                const Library *library = facts->libraries->pdata[i];

                if (streq(library->group, group) && streq(library->pattern, pattern))
                        return true;
        }
        return false;
}

/* Of points that are recorded unless others are asked for. */
static void add_point(PointFacts *facts, GKeyFile *file, const char *section) {
        g_autofree char *group = get_key(file, section, "Group");
        g_autofree char *soname = get_key(file, section, "Library");
        g_autofree char *is_default = get_key(file, section, "Default");
        g_autofree char *pattern = soname ? g_strconcat(soname, "*", NULL) : NULL;
        Library *library;

        if (!group || !pattern || (is_default && streq(is_default, "no")) ||
            facts->libraries->len == POINT_LIBRARIES_MAX || has_library(facts, group, pattern))
                return;
        library = g_new0(Library, 1);
        library->group = g_steal_pointer(&group);
        library->pattern = g_steal_pointer(&pattern);
        g_ptr_array_add(facts->libraries, library);
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
                        add_point(facts, file, *section);
}

/* A file of an earlier folder replaces one of its name in a later one. */
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

static void program_clear(gpointer item) {
        PointProgram *program = item;

        g_free(program->name);
        g_ptr_array_unref(program->groups);
}

static void add_groups(const PointFacts *facts, PointProgram *program, const char *file) {
        for (guint i = 0; i < facts->libraries->len; i++) {
                const Library *library = facts->libraries->pdata[i];

                if (fnmatch(library->pattern, file, 0) == 0 &&
                    !g_ptr_array_find_with_equal_func(
                            program->groups, library->group, g_str_equal, NULL))
                        g_ptr_array_add(program->groups, library->group);
        }
}

static void read_mappings(const PointFacts *facts, PointProgram *program, char *maps) {
        char *state = NULL;

        for (char *line = strtok_r(maps, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                ProcessMapping mapping;
                const char *name;

                if (!process_mapping_parse(&mapping, line) || *mapping.path != '/')
                        continue;
                name = strrchr(mapping.path, '/') + 1;
                if (mapping.is_executable)
                        add_groups(facts, program, name);
                program->has_own_engine |= streq(name, ENGINE_FILE);
        }
}

static PointProgram *find_program(const PointFacts *facts, const char *name) {
        for (guint i = 0; i < facts->programs->len; i++) {
                PointProgram *program = &g_array_index(facts->programs, PointProgram, i);

                if (streq(program->name, name))
                        return program;
        }
        return NULL;
}

static void keep(PointFacts *facts, PointProgram *program) {
        PointProgram *known = find_program(facts, program->name);

        if (program->groups->len == 0 && !program->has_own_engine) {
                program_clear(program);
        } else if (!known && facts->programs->len < POINT_PROGRAMS_MAX) {
                g_array_append_val(facts->programs, *program);
        } else {
                if (known)
                        known->has_own_engine |= program->has_own_engine;
                program_clear(program);
        }
}

static void read_process(PointFacts *facts, int proc, const char *pid) {
        g_autofree char *maps_path = g_strconcat(pid, "/maps", NULL);
        g_autofree char *name_path = g_strconcat(pid, "/comm", NULL);
        _cleanup_(freep) char *maps = NULL, *name = NULL;
        PointProgram program;

        if (fd_read_file(&maps, NULL, proc, maps_path, PROCESS_MAPS_BYTES_MAX) < 0 ||
            fd_read_file(&name, NULL, proc, name_path, NAME_BYTES_MAX) < 0)
                return;
        program = (PointProgram){
                .name = g_strndup(name, strcspn(name, "\n")),
                .groups = g_ptr_array_new(),
        };
        read_mappings(facts, &program, maps);
        keep(facts, &program);
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
        facts->programs = g_array_new(FALSE, FALSE, sizeof(PointProgram));
        g_array_set_clear_func(facts->programs, program_clear);
        read_folder(facts, seen, root, CONFIG_DIR "/points.d");
        read_folder(facts, seen, root, POINTS_DIR);
        read_processes(facts, root);
        return facts;
}

PointFacts *point_facts_free(PointFacts *facts) {
        if (!facts)
                return NULL;
        g_array_unref(facts->programs);
        g_ptr_array_unref(facts->libraries);
        g_free(facts);
        return NULL;
}

static void *gather(void *argument) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return point_facts_new(root);
}

PointFacts *point_facts_within_time(void) {
        return doctor_within(DOCTOR_DEADLINE_S, gather, NULL);
}

/*
 * Checks
 */

static void list_program(GString *list, const PointProgram *program) {
        g_string_append_printf(list, "%s%s (", list->len > 0 ? ", " : "", program->name);
        for (guint i = 0; i < program->groups->len; i++)
                g_string_append_printf(
                        list, "%s%s", i > 0 ? ", " : "", (const char *)program->groups->pdata[i]);
        g_string_append_c(list, ')');
}

char *point_facts_list(const PointFacts *facts) {
        g_autoptr(GString) list = g_string_new(NULL);
        guint n = 0;

        for (guint i = 0; i < facts->programs->len && n <= PROGRAMS_SHOWN; i++) {
                const PointProgram *program = &g_array_index(facts->programs, PointProgram, i);

                if (program->groups->len == 0)
                        continue;
                if (n++ < PROGRAMS_SHOWN)
                        list_program(list, program);
                else
                        g_string_append(list, ELLIPSIS);
        }
        return say_clean(list->str, list->len);
}

static void check_engines(DoctorReport *report, const PointFacts *facts) {
        for (guint i = 0; i < facts->programs->len; i++) {
                const PointProgram *program = &g_array_index(facts->programs, PointProgram, i);

                if (program->has_own_engine)
                        doctor_add(
                                report,
                                DOCTOR_NOTE,
                                "programs",
                                _("see \"To see more\" in docs/DESKTOP.md: a switch at its start "
                                  "shows what it does"),
                                _("%s is made of Chromium and has libraries of its own: only "
                                  "what a Wayland compositor says of it is shown"),
                                program->name);
        }
}

void point_check(DoctorReport *report, const PointFacts *facts) {
        g_autofree char *shown = facts ? point_facts_list(facts) : NULL;

        if (!facts || facts->libraries->len == 0)
                return; /* the probes are not installed: that is said elsewhere */
        if (*shown)
                doctor_add(report,
                           DOCTOR_OK,
                           "programs",
                           NULL,
                           _("linux.program_points would show %s"),
                           shown);
        else
                doctor_add(report,
                           DOCTOR_OK,
                           "programs",
                           NULL,
                           _("none of those that you may look at has a library that "
                             "linux.program_points knows"));
        check_engines(report, facts);
}
