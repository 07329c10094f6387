/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target over the files of directories, each in memory of exactly its size. */

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "shared/fd.h"

#define INPUT_BYTES_MAX (1u << 20)

static void replay_file(int dir_fd, const char *name) {
        _cleanup_(freep) char *data = NULL;
        _cleanup_(freep) uint8_t *exact = NULL;
        size_t n_bytes;

        if (fd_read_file(&data, &n_bytes, dir_fd, name, INPUT_BYTES_MAX) < 0) {
                fprintf(stderr, "%s: cannot be read\n", name);
                exit(EXIT_FAILURE);
        }
        exact = malloc(n_bytes ? n_bytes : 1);
        FUZZ_CHECK(exact);
        memcpy(exact, data, n_bytes);
        LLVMFuzzerTestOneInput(exact, n_bytes);
}

static size_t replay_directory(const char *path) {
        DIR *dir = opendir(path);
        struct dirent *entry;
        size_t n = 0;

        if (!dir) {
                fprintf(stderr, "%s: cannot be opened\n", path);
                exit(EXIT_FAILURE);
        }
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.') {
                        replay_file(dirfd(dir), entry->d_name);
                        n++;
                }
        closedir(dir);
        return n;
}

int main(int argc, char **argv) {
        size_t n = 0;

        for (int i = 1; i < argc; i++)
                n += replay_directory(argv[i]);
        LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
        printf("%zu inputs\n", n);
        return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
