/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Instance: a private set of ring buffers in tracefs
 *
 * Each recording gets its own directory instances/desktrace-PID-N, so that it disturbs neither other recordings nor
 * other tracing tools, and the kernel drops all of the recording's state with the directory.
 *
 * An instance is alive as long as a process holds a lock (flock) on its directory. The kernel releases the locks of a
 * process that dies, however it dies, so instances_remove_stale() can tell which directories have no owner left, even
 * from within another pid namespace.
 *
 * A process that is started again after a crash (instances_return()) comes back to its instances: the kernel records on
 * meanwhile. Their names have a tag, desktrace-PID-N-SESSION-SETTINGS, and only the same recording with the same
 * settings gets them. Others leave what has a tag alone.
 */

#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/trace-dir.h"
#include "shared/macro.h"

#define INSTANCES_MAX 16 /* at the same time, as each takes its buffers from the kernel */

typedef enum InstancesLeft {
        INSTANCES_LEFT_NONE,
        INSTANCES_LEFT_TAGGED, /* only instances for processes that come back to them */
} InstancesLeft;

typedef struct Instance {
        char *path;
        const char *name; /* the end of path; NULL before it is made, and if it is not ours */
        int instances_fd;
        int dir_fd; /* locked */
} Instance;

/* The recording that an instance belongs to. */
typedef struct InstanceTag {
        uint64_t session_id; /* 0: nobody comes back to it */
        const char *settings;
} InstanceTag;

enum {
        _INSTANCE_E_SUCCESS,
        INSTANCE_E_NONE,
};

/* A fresh instance, with recording off. `tag` may be NULL. Returns 0, PROBE_E_REFUSED with *ret_error or a negative
 * errno. */
int instance_new(Instance **ret, const TraceDir *dir, const InstanceTag *tag, char **ret_error);
/* Takes over the instance that a dead process has left with this tag. It stays as it is, and may be recording.
 * Returns 0, INSTANCE_E_NONE or a negative errno. */
int instance_adopt(Instance **ret, const TraceDir *dir, const InstanceTag *tag);
/* Opens an instance that somebody else has made and keeps. Like instance_new(). If no instance has this name, the
 * error names the nearest one. */
int instance_open(Instance **ret, const TraceDir *dir, const char *name, char **ret_error);
/* Removes the instance from the kernel, unless it is somebody else's. Its descriptors must be closed before. */
Instance *instance_free(Instance *instance);
DEFINE_CLEANUP(Instance *, instance_free)

/* Writes a file below the instance. Returns 0, or PROBE_E_REFUSED, with *ret_error (if not NULL) naming the file and
 * the reason. */
int instance_write(Instance *instance, const char *file, const char *value, char **ret_error);
int instance_write_number(Instance *instance, const char *file, uint64_t value, char **ret_error);

/* Reads a whole file below the instance. Returns the same as instance_write(). */
int instance_read(Instance *instance,
                  const char *file,
                  char **ret,
                  size_t *ret_n,
                  char **ret_error);
/* Opens the pages of one CPU for reading without waiting. Returns a descriptor or a negative errno. */
int instance_open_pages(Instance *instance, unsigned cpu);

/* This process is started again if it crashes. Until then it leaves alone what has a tag, to be adopted. */
void instances_return(uint64_t until_ns);

/* Removes the instances of dead processes. Returns how many, or a negative errno. */
int instances_remove_stale(InstancesLeft left);
