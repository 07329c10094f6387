/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Presets: predefined configs, found by name */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#include "build-config.h"
#include "config/preset.h"
#include "shared/fd.h"
#include "shared/text.h"

#define PRESET_SUFFIX   ".pbtxt"
#define PRESET_PATH_ENV "DESKTRACE_PRESET_PATH"
#define PRESET_PATH     "/etc/desktrace/presets:/run/desktrace/presets:" PRESET_DIR
#define PRESETS_MAX     256 /* files considered in one directory */
#define DESCRIPTION_MAX 200

typedef struct PresetTable {
        Preset *presets;
        size_t n;
} PresetTable;

static void preset_table_deinit(PresetTable *table) {
        presets_free(table->presets, table->n);
}

void presets_free(Preset *presets, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(presets[i].name);
                free(presets[i].description);
        }
        free(presets);
}

static bool name_is_valid(const char *name, size_t n) {
        if (n == 0 || n > PRESET_NAME_MAX)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= 'A' && name[i] <= 'Z') &&
                    !(name[i] >= '0' && name[i] <= '9') && name[i] != '-' && name[i] != '_')
                        return false;
        return true;
}

const char *presets_path(void) {
        const char *path = secure_getenv(PRESET_PATH_ENV);

        return path && *path ? path : PRESET_PATH;
}

/* Opens the next existing directory of a colon-separated path; -ENOENT at the path's end. */
static int next_directory(const char **path) {
        while (**path) {
                size_t n = strcspn(*path, ":");
                _cleanup_(freep) char *name = strndup(*path, n);
                int fd;

                if (!name)
                        return -ENOMEM;
                *path += n + ((*path)[n] == ':');
                fd = n > 0 ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
                if (fd >= 0)
                        return fd;
        }
        return -ENOENT;
}

/* The text of the first line if that is a comment, else "". Returns NULL if memory has run out. */
static char *description_of(const char *text) {
        size_t n;

        if (*text != '#')
                return strdup("");
        text += 1 + strspn(text + 1, " \t");
        n = strcspn(text, "\r\n");
        return strndup(text, MIN(n, (size_t)DESCRIPTION_MAX));
}

static bool table_has(const PresetTable *table, const char *name, size_t n_name) {
        for (size_t i = 0; i < table->n; i++)
                if (strlen(table->presets[i].name) == n_name &&
                    !strncmp(table->presets[i].name, name, n_name))
                        return true;
        return false;
}

/* Unreadable files are skipped here; preset_load() reports what is wrong with them. */
static int table_add(PresetTable *table, int dir_fd, const char *file, size_t n_name) {
        _cleanup_(freep) char *text = NULL, *name = NULL, *description = NULL;
        Preset *grown;
        int r;

        r = fd_read_file(&text, NULL, dir_fd, file, CONFIG_BYTES_MAX);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;
        name = strndup(file, n_name);
        description = description_of(text);
        grown = reallocarray(table->presets, table->n + 1, sizeof(*grown));
        if (grown)
                table->presets = grown;
        if (!name || !description || !grown)
                return -ENOMEM;
        grown[table->n++] = (Preset){ TAKE(name), TAKE(description) };
        return 0;
}

static int table_scan(PresetTable *table, int dir_fd) {
        DIR *dir = fdopendir(dir_fd);
        struct dirent *entry;
        size_t n_seen = 0;
        int r = 0;

        if (!dir) {
                r = -errno;
                fd_close(dir_fd);
                return r;
        }
        while (!r && n_seen < PRESETS_MAX && (entry = readdir(dir))) {
                size_t n = strlen(entry->d_name), n_suffix = strlen(PRESET_SUFFIX);

                if (n <= n_suffix || !streq(entry->d_name + n - n_suffix, PRESET_SUFFIX) ||
                    !name_is_valid(entry->d_name, n - n_suffix))
                        continue;
                n_seen++;
                if (!table_has(table, entry->d_name, n - n_suffix))
                        r = table_add(table, dirfd(dir), entry->d_name, n - n_suffix);
        }
        closedir(dir);
        return r;
}

static int preset_compare(const void *a, const void *b) {
        return strcmp(((const Preset *)a)->name, ((const Preset *)b)->name);
}

int presets_list(Preset **ret, size_t *ret_n) {
        _cleanup_(preset_table_deinit) PresetTable table = {};
        const char *path = presets_path();
        int fd;

        while ((fd = next_directory(&path)) >= 0) {
                int r = table_scan(&table, fd);

                if (r < 0)
                        return r;
        }
        if (fd != -ENOENT)
                return fd;
        if (table.n > 0)
                qsort(table.presets, table.n, sizeof(*table.presets), preset_compare);
        *ret = TAKE(table.presets);
        *ret_n = table.n;
        table.n = 0;
        return 0;
}

static int refuse_unknown(const char *name, ConfigError *error) {
        _cleanup_(preset_table_deinit) PresetTable table = {};
        const char *names[PRESETS_MAX], *nearest;
        size_t n = 0;
        int r;

        r = presets_list(&table.presets, &table.n);
        if (r < 0)
                return r;
        for (; n < table.n && n < PRESETS_MAX; n++)
                names[n] = table.presets[n].name;
        nearest = text_nearest(name, names, n);
        if (nearest)
                config_error_set(
                        error, 0, 0, "There is no preset '%.64s'; did you mean %s?", name, nearest);
        else
                config_error_set(error, 0, 0, "There is no preset '%.64s'", name);
        return PRESET_E_UNKNOWN;
}

/* The text of the first file of that name; -ENOENT when no directory has one. */
static int read_preset(char **ret, const char *name) {
        char file[PRESET_NAME_MAX + sizeof(PRESET_SUFFIX)];
        const char *path = presets_path();
        int fd, r = -ENOENT;

        snprintf(file, sizeof(file), "%s%s", name, PRESET_SUFFIX);
        while (r == -ENOENT && (fd = next_directory(&path)) != -ENOENT) {
                if (fd < 0)
                        return fd;
                r = fd_read_file(ret, NULL, fd, file, CONFIG_BYTES_MAX);
                fd_close(fd);
        }
        return r;
}

int preset_load(Config **ret, const char *name, ConfigError *error) {
        _cleanup_(freep) char *text = NULL;
        int r;

        if (!name_is_valid(name, strlen(name)))
                return refuse_unknown(name, error);
        r = read_preset(&text, name);
        if (r == -ENOENT)
                return refuse_unknown(name, error);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                config_error_set(error, 0, 0, "Cannot read preset %s: %s", name, strerror(-r));
                return PRESET_E_INVALID;
        }
        r = config_new_from_text(ret, text, error);
        return r == CONFIG_E_INVALID ? PRESET_E_INVALID : r;
}
