/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which control groups exist, and which of them are recorded. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "probes/system/cgroup-tree.h"
#include "shared/fd.h"

static Cgroup *cgroup_free(Cgroup *cgroup) {
        if (!cgroup)
                return NULL;
        list_unlink(&cgroup->siblings);
        list_unlink(&cgroup->queue);
        free(cgroup->title);
        free(cgroup);
        return NULL;
}

DEFINE_CLEANUP(Cgroup *, cgroup_free)

/* Two names may look the same. Then the later one also gets its inode's number, which no other has. */
static int cgroup_set_title(Cgroup *cgroup) {
        char title[CGROUP_TITLE_BYTES];
        bool is_retitled;

        cgroup_title(title, cgroup->name);
        is_retitled = !streq(title, cgroup->name);
        if (cgroup->parent && (is_retitled || cgroup->parent->n_retitled > 0)) {
                Cgroup *other;

                list_for_each (other, &cgroup->parent->children, siblings)
                        if (streq(other->title, title))
                                return asprintf(&cgroup->title,
                                                "%s (%llu)",
                                                title,
                                                (unsigned long long)cgroup->inode) < 0
                                               ? -ENOMEM
                                               : 0;
        }
        cgroup->title = strdup(title);
        return cgroup->title ? 0 : -ENOMEM;
}

static int stat_dir(int root, const char *path, struct stat *ret) {
        if (fstatat(root, path, ret, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return S_ISDIR(ret->st_mode) ? 0 : -ENOTDIR;
}

static void cgroup_set_path(Cgroup *cgroup, const char *above, const char *name, size_t n_bytes) {
        const char *slash;

        snprintf(cgroup->path, n_bytes, "%s%s%s", above, *above ? "/" : "", name);
        slash = strrchr(cgroup->path, '/');
        cgroup->name = slash ? slash + 1 : cgroup->path;
}

/* The top has no parent, and is called ".". */
static int cgroup_new(Cgroup **ret, int root, Cgroup *parent, const char *name) {
        const char *above = parent && parent->parent ? parent->path : "";
        size_t n_bytes = strlen(above) + strlen(name) + 2;
        _cleanup_(cgroup_freep) Cgroup *cgroup = NULL;
        struct stat st;
        int r;

        if (n_bytes > CGROUP_PATH_BYTES_MAX)
                return -ENAMETOOLONG;
        cgroup = calloc(1, sizeof(*cgroup) + n_bytes);
        if (!cgroup)
                return -ENOMEM;
        list_init(&cgroup->children);
        list_init(&cgroup->siblings);
        list_init(&cgroup->queue);
        cgroup->parent = parent;
        cgroup->depth = parent ? parent->depth + 1 : 0;
        cgroup_set_path(cgroup, above, name, n_bytes);
        r = stat_dir(root, cgroup->path, &st);
        if (r < 0)
                return r;
        cgroup->inode = st.st_ino;
        r = cgroup_set_title(cgroup);
        if (r < 0)
                return r;
        *ret = TAKE(cgroup);
        return 0;
}

int cgroup_tree_init(CgroupTree *ret,
                     int root,
                     const CgroupSelect *select,
                     unsigned max_depth,
                     const CgroupTreeOps *ops,
                     void *userdata) {
        *ret = (CgroupTree){
                .root = root,
                .select = select,
                .max_depth = max_depth,
                .ops = ops,
                .userdata = userdata,
        };
        return cgroup_new(&ret->top, root, NULL, ".");
}

/*
 * Coming and going
 */

static void count_beyond(CgroupTree *tree, Cgroup *parent, size_t n) {
        tree->n_beyond += n - parent->n_beyond;
        parent->n_beyond = n;
}

/* Frees it with everything below it, which is no deeper than CGROUP_DEPTH_MAX. */
static void tree_remove(CgroupTree *tree, Cgroup *cgroup) {
        Cgroup *child;

        while ((child = list_first(&cgroup->children, Cgroup, siblings)))
                tree_remove(tree, child);
        count_beyond(tree, cgroup, 0);
        if (cgroup->unit) {
                tree->ops->removed(cgroup, tree->userdata);
                tree->n_recorded--;
        }
        if (cgroup->parent) {
                cgroup->parent->n_retitled -= !streq(cgroup->title, cgroup->name);
                tree->n_dirs--;
        }
        cgroup_free(cgroup);
}

void cgroup_tree_deinit(CgroupTree *tree) {
        if (tree->top)
                tree_remove(tree, tree->top);
        *tree = (CgroupTree){ .root = -1 };
}

static bool tree_has_room(const CgroupTree *tree) {
        return tree->n_dirs < CGROUP_DIRS_MAX && tree->n_recorded < CGROUPS_MAX;
}

/* Whether there is no need to look for it again, because it exists or is known to be gone. */
static bool tree_add(CgroupTree *tree, Cgroup *parent, const char *name) {
        Cgroup *cgroup;
        int r;

        if (!tree_has_room(tree))
                return false;
        r = cgroup_new(&cgroup, tree->root, parent, name);
        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR;
        if (cgroup_is_selected(tree->select, cgroup->path, cgroup->title)) {
                cgroup->unit = tree->ops->added(cgroup, tree->userdata);
                if (!cgroup->unit)
                        return cgroup_free(cgroup);
                tree->n_recorded++;
        }
        list_append(&parent->children, &cgroup->siblings);
        parent->n_retitled += !streq(cgroup->title, cgroup->name);
        tree->n_dirs++;
        return true;
}

/*
 * The walk
 */

/* A directory is read in the same order each time, so the next one usually comes after the one that was found last. */
static Cgroup *find_child(Cgroup *parent, const char *name, List **cursor) {
        for (List *at = (*cursor)->next; at != *cursor; at = at->next) {
                Cgroup *child = list_entry(at, Cgroup, siblings);

                if (at != &parent->children && streq(child->name, name)) {
                        *cursor = at;
                        return child;
                }
        }
        return NULL;
}

static void closedirp(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

static DIR *open_dir(const CgroupTree *tree, const Cgroup *cgroup) {
        int fd = openat(tree->root, cgroup->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (!dir)
                fd_close(fd);
        return dir;
}

/* Adds the children that are not known yet. Children that have gone are noticed when they are looked at. Anybody may
 * make very many cgroups, so those for which there is no room are not all counted. */
static void read_children(CgroupTree *tree, Cgroup *cgroup) {
        _cleanup_(closedirp) DIR *dir = open_dir(tree, cgroup);
        List *cursor = &cgroup->children;
        const struct dirent *entry;
        size_t n_beyond = 0;

        while (dir && n_beyond < CGROUP_DIRS_MAX && (entry = readdir(dir))) {
                bool is_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;

                if (is_dir && entry->d_name[0] != '.' &&
                    !find_child(cgroup, entry->d_name, &cursor))
                        n_beyond += !tree_add(tree, cgroup, entry->d_name);
        }
        count_beyond(tree, cgroup, n_beyond);
}

static bool has_new_children(const CgroupTree *tree, const Cgroup *cgroup, nlink_t n_links) {
        if (cgroup->depth >= tree->max_depth)
                return false;
        /* Below 2: this file system does not count. */
        return n_links != cgroup->n_links || n_links < 2 ||
               (cgroup->n_beyond > 0 && tree_has_room(tree));
}

/* Sets what is now in the place of a cgroup. Returns NULL if it has gone. */
static Cgroup *replace(CgroupTree *tree, Cgroup *cgroup, bool is_there) {
        char name[CGROUP_NAME_MAX + 1];
        Cgroup *parent = cgroup->parent;

        if (!parent)
                return NULL;
        snprintf(name, sizeof(name), "%s", cgroup->name);
        tree_remove(tree, cgroup);
        if (is_there && tree_add(tree, parent, name) && !list_is_empty(&parent->children)) {
                Cgroup *last = list_entry(parent->children.previous, Cgroup, siblings);

                if (streq(last->name, name))
                        return last;
        }
        /* Another cgroup may have appeared meanwhile, so that the number of links stays the same. */
        parent->n_links = 0;
        return NULL;
}

static Cgroup *visit(CgroupTree *tree, Cgroup *cgroup) {
        struct stat st;
        int r;

        r = stat_dir(tree->root, cgroup->path, &st);
        if (r < 0 || st.st_ino != cgroup->inode)
                cgroup = replace(tree, cgroup, r == 0);
        if (!cgroup)
                return NULL;
        if (has_new_children(tree, cgroup, st.st_nlink)) {
                cgroup->n_links =
                        st.st_nlink; /* first, because cgroups that appear meanwhile change it */
                read_children(tree, cgroup);
        }
        return cgroup;
}

void cgroup_tree_walk(CgroupTree *tree) {
        List queue = LIST_INIT(queue);
        Cgroup *cgroup, *child;

        list_append(&queue, &tree->top->queue);
        while ((cgroup = list_first(&queue, Cgroup, queue))) {
                list_unlink(&cgroup->queue);
                cgroup = visit(tree, cgroup);
                if (!cgroup)
                        continue;
                list_for_each (child, &cgroup->children, siblings)
                        list_append(&queue, &child->queue);
        }
        tree->is_walked = true;
}

Cgroup *cgroup_tree_next(const CgroupTree *tree, const Cgroup *cgroup) {
        if (!cgroup)
                return list_first(&tree->top->children, Cgroup, siblings);
        if (!list_is_empty(&cgroup->children))
                return list_first(&cgroup->children, Cgroup, siblings);
        while (cgroup->parent && cgroup->siblings.next == &cgroup->parent->children)
                cgroup = cgroup->parent;
        return cgroup->parent ? list_entry(cgroup->siblings.next, Cgroup, siblings) : NULL;
}
