/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * DRM clients: which programs have a GPU open, how long its engines work for them, and how much of its memory they use
 *
 * A client is one opening of a device. Several processes may have descriptors for it (logind also holds those of a
 * session's compositor), but it is counted once, for one of them. If a program has several clients of a card, they are
 * added up.
 *
 * To find clients, every descriptor of every process has to be inspected, which takes 1 µs each. So a walk over the
 * whole of /proc begins at most every two seconds, and continues with DRM_WALK_FDS descriptors in each sample. Known
 * clients are read in each sample. They leave the table when their descriptor is closed, or belongs to another client.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/track-writer.h"
#include "probes/graphics/drm-card.h"
#include "shared/list.h"

#define DRM_CLIENTS_MAX    1024 /* at once; further ones are only counted */
#define DRM_FDS_MAX        4096 /* descriptors of one process that are inspected */
#define DRM_WALK_FDS       4096 /* descriptors inspected in one sample after the first */
#define DRM_WALK_PERIOD_NS UINT64_C(2000000000)
#define DRM_FDINFO_BYTES   8192            /* of one file; the largest one seen has about 2 KiB */
#define DRM_COMM_BYTES     16              /* the length of the kernel's names */
#define DRM_BUSY_MAX_NS    (INT64_MAX / 2) /* totals stop there, but no machine gets so old */

/* What one process uses on one card. */
typedef struct DrmProcess {
        List processes;
        DrmCard *card;
        pid_t pid;
        char comm[DRM_COMM_BYTES];
        size_t n_clients;                  /* 0: none are left, so it is freed after this sample */
        uint64_t busy_ns[DRM_ENGINES_MAX]; /* since it was first seen; index: drm_card_engine() */
        uint64_t bytes[DRM_REGIONS_MAX];   /* in one sample; index: drm_card_region() */

        /* For the writer: which of those have a track, as bits, and the sum of bytes that was written last. */
        uint32_t used_engines, used_regions;
        uint64_t written_bytes;
} DrmProcess;

typedef struct DrmClient {
        List clients;
        DrmProcess *process;
        int fd; /* its number there */
        uint64_t id;
        DrmEngine before[DRM_ENGINES_MAX]; /* by drm_card_engine(); without a name: not read yet */
} DrmClient;

typedef struct DrmClients {
        DrmCards *cards; /* borrowed */
        int proc;        /* -1: there is nothing to look at */
        bool any_file; /* also read files that are no GPU device, as in a copy of /proc none is one */
        List clients, processes;
        size_t n_clients;
        uint64_t n_left_out; /* clients for which there was no room in the previous walk */
        uint64_t sampled_ns;

        /* The walk: */
        DIR *walk;
        uint64_t walk_begin_ns;
        uint64_t n_walk_left_out;

        DrmFdinfo info; /* as read last */
        char text[DRM_FDINFO_BYTES];
} DrmClients;

/* `root` is the directory that contains proc. `cards` must outlive the result. */
void drm_clients_init(DrmClients *clients, DrmCards *cards, int root, bool any_file);
void drm_clients_deinit(DrmClients *clients);

/* Continues the walk. With `whole`, the walk ends in this call. */
void drm_clients_walk(DrmClients *clients, uint64_t now_ns, bool whole);

/* Reads all known clients, so their processes and cards have the values of `now_ns` afterwards. */
void drm_clients_sample(DrmClients *clients, uint64_t now_ns);

/* Whether we may see the descriptors of other users' processes. */
bool drm_clients_may_look(const DrmClients *clients);
