/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Reads the files of descriptors.d, unpacks compressed ones, and passes them to the core in the order of their names.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "build-config.h"
#include "descriptor-files.h"
#include "shared/fd.h"
#include "shared/log.h"

#define DESCRIPTORS_PATH     CONFIG_DIR "/descriptors.d:/run/desktrace/descriptors.d:" DESCRIPTORS_DIR
#define ENV_DESCRIPTORS_PATH "DESKTRACE_DESCRIPTORS_PATH" /* instead of the three directories */

static bool has_suffix(const char *name, const char *suffix) {
        size_t n = strlen(name), n_suffix = strlen(suffix);

        return n > n_suffix && streq(name + n - n_suffix, suffix);
}

static bool is_descriptor(const char *name) {
        return has_suffix(name, ".desc") || has_suffix(name, ".desc.gz");
}

static int select_descriptor(const struct dirent *entry) {
        return is_descriptor(entry->d_name);
}

static int load_file(Service *service, const char *directory, const char *name) {
        _cleanup_(freep) char *path = NULL;
        _cleanup_(freep) char *data = NULL;
        size_t n;
        int r;

        if (asprintf(&path, "%s/%s", directory, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        r = fd_read_file(&data, &n, AT_FDCWD, path, SERVICE_DESCRIPTORS_BYTES_MAX);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_warning("%s: %s", path, strerror(-r));
                return 0;
        }
        r = service_add_descriptor(service, name, data, n, has_suffix(name, ".gz"));
        if (r == SERVICE_E_INVALID)
                log_warning("%s: it is no FileDescriptorSet, and is ignored", path);
        if (r == SERVICE_E_LIMIT)
                log_warning("%s: more than %u KiB of descriptors; it is ignored",
                            path,
                            SERVICE_DESCRIPTORS_BYTES_MAX >> 10);
        return MIN(r, 0);
}

static int load_directory(Service *service, const char *directory) {
        struct dirent **entries;
        int n, r = 0;

        n = scandir(directory, &entries, select_descriptor, alphasort);
        if (n < 0)
                return errno == ENOMEM ? -ENOMEM : 0; /* nobody needs to have one */
        for (int i = 0; i < n; i++) {
                if (r >= 0 && !service_has_descriptor(service, entries[i]->d_name))
                        r = load_file(service, directory, entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        return r;
}

int descriptor_files_load(Service *service) {
        const char *path = getenv(ENV_DESCRIPTORS_PATH) ?: DESCRIPTORS_PATH;
        _cleanup_(freep) char *directories = strdup(path);
        char *state, *directory;
        int r = 0;

        if (!directories)
                return -ENOMEM;
        for (directory = strtok_r(directories, ":", &state); directory && r >= 0;
             directory = strtok_r(NULL, ":", &state))
                r = load_directory(service, directory);
        return r;
}
