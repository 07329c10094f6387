/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A tree of small files in place of the machine's "/".
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fd.h"

typedef struct Tree {
        char path[64];
        int fd;
} Tree;

static inline Tree tree_new(void) {
        Tree tree = { .path = "/tmp/desktrace-tree-XXXXXX" };

        ck_assert_ptr_nonnull(mkdtemp(tree.path));
        tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(tree.fd, 0);
        return tree;
}

static inline void tree_free(Tree *tree) {
        char command[128];

        close(tree->fd);
        snprintf(command, sizeof(command), "rm -r %s", tree->path);
        ck_assert_int_eq(system(command), 0);
}

static inline void tree_make_parents(const Tree *tree, const char *path) {
        char parent[256];

        for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
                snprintf(parent, sizeof(parent), "%.*s", (int)(at - path), path);
                mkdirat(tree->fd, parent, 0755);
        }
}

static inline void tree_put_bytes(const Tree *tree, const char *path, const void *data, size_t n) {
        int fd;

        tree_make_parents(tree, path);
        fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fd_write_all(fd, data, n), 0);
        close(fd);
}

static inline void tree_put(const Tree *tree, const char *path, const char *text) {
        tree_put_bytes(tree, path, text, strlen(text));
}

/* What is there, but fails when it is read (EISDIR), as files of devices do that go away. */
static inline void tree_put_unreadable(const Tree *tree, const char *path) {
        tree_make_parents(tree, path);
        ck_assert_int_eq(mkdirat(tree->fd, path, 0755), 0);
}

static inline void tree_remove(const Tree *tree, const char *path) {
        ck_assert_int_eq(unlinkat(tree->fd, path, 0), 0);
}
