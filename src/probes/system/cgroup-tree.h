/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup tree: the directories of cgroup v2, as they come and go
 *
 * A walk looks at each directory that is known. The kernel counts a cgroup's children in its number of links, so only
 * where that has changed is a directory read, and one without children never is: a walk in which nothing has changed
 * costs one system call for each cgroup. A cgroup that was removed and made again is another one; its inode tells.
 *
 * Outer cgroups come first, so that those of a user's own session cannot push the system's over a limit. What is
 * beyond one is counted, and looked for again when there is room.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/system/cgroup-name.h"
#include "shared/list.h"

#define CGROUPS_MAX     1024 /* that are recorded by one instance */
#define CGROUP_DIRS_MAX 2048 /* that are looked at, as there may be wanted ones below them */
#define CGROUP_DEPTH_DEFAULT \
        10 /* user.slice/user-1000.slice/user@1000.service/app.slice/x.scope is 5 deep */
#define CGROUP_DEPTH_MAX 32
#define CGROUP_PATH_BYTES_MAX \
        3840 /* so that with a file's name behind it, it is a path that the kernel accepts */

typedef struct Cgroup Cgroup;

struct Cgroup {
        Cgroup *parent; /* NULL: the top */
        List children;
        List siblings; /* in parent->children */
        List queue;    /* in that of a walk */
        uint64_t inode;
        nlink_t n_links; /* when it was last read; 0: read it */
        unsigned depth;
        size_t n_beyond;   /* of its children, that a limit left out; CGROUP_DIRS_MAX: or more */
        size_t n_retitled; /* of its children, whose title is not their name */
        char *title;       /* what a reader sees; no sibling has the same */
        const char *name;  /* within the path */
        void *unit;        /* of the owner; NULL: not recorded */
        uint64_t group;    /* of the owner: its track */
        uint64_t group_ns; /* of the owner: when it was asked for */
        char path[];       /* from the top on; "." for that */
};

typedef struct CgroupTreeOps {
        /* A wanted cgroup was found. The owner's record of it, or NULL without memory. */
        void *(*added)(Cgroup *cgroup, void *userdata);
        /* It is gone, or the tree is being taken down; cgroup->unit is what added() returned. */
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
        size_t n_beyond;   /* groups that a limit left out, with all groups below them */
        bool is_walked;    /* what is found from now on is new */
} CgroupTree;

/* Fills *ret, which has nothing but the top. 0, -ENOMEM. */
int cgroup_tree_init(CgroupTree *ret,
                     int root,
                     const CgroupSelect *select,
                     unsigned max_depth,
                     const CgroupTreeOps *ops,
                     void *userdata);
void cgroup_tree_deinit(CgroupTree *tree);

/* Finds what came and what went. */
void cgroup_tree_walk(CgroupTree *tree);

/* The next cgroup, parents before their children; NULL to begin with, and at the end. */
Cgroup *cgroup_tree_next(const CgroupTree *tree, const Cgroup *cgroup);
