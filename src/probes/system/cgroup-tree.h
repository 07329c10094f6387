/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup tree: the directories of cgroup v2, as they come and go
 *
 * A walk looks at each known directory. The kernel counts a cgroup's children in its number of links. So a directory is
 * only read if that number has changed, and a directory without children is never read: a walk in which nothing has
 * changed costs one system call for each cgroup. If a cgroup was removed and made again, it is another one, as its
 * inode tells.
 *
 * Outer cgroups come first, so that those of a user's own session cannot push the system's over a limit. Cgroups beyond
 * a limit are counted, and looked for again when there is room.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/system/cgroup-name.h"
#include "shared/list.h"

#define CGROUPS_MAX     1024 /* recorded by one instance */
#define CGROUP_DIRS_MAX 2048 /* looked at, as there may be wanted ones below them */
#define CGROUP_DEPTH_DEFAULT \
        10 /* user.slice/user-1000.slice/user@1000.service/app.slice/x.scope is 5 deep */
#define CGROUP_DEPTH_MAX 32
#define CGROUP_PATH_BYTES_MAX \
        3840 /* with a file's name added, it is still a path that the kernel accepts */

typedef struct Cgroup Cgroup;

struct Cgroup {
        Cgroup *parent; /* NULL: the top */
        List children;
        List siblings; /* in parent->children */
        List queue;    /* links it into the queue of a walk */
        uint64_t inode;
        nlink_t n_links; /* when it was last read; 0: it has to be read */
        unsigned depth;
        size_t n_beyond; /* of its children, those that a limit left out; CGROUP_DIRS_MAX: or more */
        size_t n_retitled; /* of its children, those whose title is not their name */
        char *title;       /* the name that a reader sees; siblings have different ones */
        const char *name;  /* within the path */
        void *unit;        /* the owner's; NULL: not recorded */
        uint64_t group;    /* the owner's: its track */
        uint64_t group_ns; /* the owner's: when it was asked for */
        char path[];       /* from the top on; the top is "." */
};

typedef struct CgroupTreeOps {
        /* A wanted cgroup was found. Returns the owner's record of it, or NULL if memory has run out. */
        void *(*added)(Cgroup *cgroup, void *userdata);
        /* It has gone, or the tree is being taken down. cgroup->unit is what added() returned. */
        void (*removed)(Cgroup *cgroup, void *userdata);
} CgroupTreeOps;

typedef struct CgroupTree {
        int root; /* borrowed: the directory of the top */
        const CgroupSelect *select;
        unsigned max_depth;
        const CgroupTreeOps *ops;
        void *userdata;
        Cgroup *top;
        size_t n_dirs;     /* below the top */
        size_t n_recorded; /* of them */
        size_t n_beyond;   /* cgroups that a limit left out, with all cgroups below them */
        bool is_walked;    /* whatever is found from now on is new */
} CgroupTree;

/* Fills *ret, which only has the top. Returns 0 or -ENOMEM. */
int cgroup_tree_init(CgroupTree *ret,
                     int root,
                     const CgroupSelect *select,
                     unsigned max_depth,
                     const CgroupTreeOps *ops,
                     void *userdata);
void cgroup_tree_deinit(CgroupTree *tree);

/* Finds what has come and what has gone. */
void cgroup_tree_walk(CgroupTree *tree);

/* Returns the next cgroup, parents before their children. Begin with NULL, which is also the end. */
Cgroup *cgroup_tree_next(const CgroupTree *tree, const Cgroup *cgroup);
