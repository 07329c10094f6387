/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Files that the kernel has once for each device: found by patterns, kept open, and looked for again now and then
 *
 * A pattern is a path below a root. In a component, "#" stands for a decimal number and "*" for any name, once. Devices
 * come and go: a scan finds what is new and forgets what is gone, and a file whose device has gone reads as NULL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"

#define SYS_FILES_MAX 16384 /* of one kind: 1000 CPUs have 9000 idle states */
#define SYS_FILE_BYTES_MAX \
        (4u << 20) /* /proc/stat with its interrupts is the largest; more is not read */
#define SYS_FILE_PATH_BYTES  256
#define SYS_FILE_NUMBERS_MAX 3

typedef struct SysFile {
        char *path; /* below the root */
        int fd;     /* -1: the device has gone since the last scan */
        size_t pattern;
        uint32_t numbers[SYS_FILE_NUMBERS_MAX]; /* what stood for each "#" */
        char *label;    /* by the owner, when the file was accepted; freed with it; or NULL */
        uint32_t place; /* for the owner: the number that readers know the device by */
        bool has_track; /* for the owner: what it has to say of this file also goes to a track */
        bool is_listed; /* by the scan under way */
} SysFile;

/* Whether to keep a file that was found and opened. */
typedef bool SysFileAccept(SysFile *file, int root);

typedef struct SysFiles {
        int root;                    /* borrowed */
        const char *const *patterns; /* the last is NULL */
        SysFileAccept *accept;       /* or NULL: all */
        bool are_values;             /* one attribute of sysfs each, which one read() gets whole */
        SysFile *files;              /* by path, numbers in it by value */
        size_t n, n_allocated;
        size_t n_sorted; /* during a scan: what was there before */
        int error; /* of the last scan: why a file that is there cannot be opened; else -ENOENT if there is none */
        bool lost_one; /* since the last scan a device has gone */
        Bytes text;
} SysFiles;

void sys_files_init(SysFiles *files, int root, const char *const *patterns, SysFileAccept *accept);
void sys_files_deinit(SysFiles *files);

/* Opens what is new and closes what is gone. 0, -ENOMEM. */
int sys_files_scan(SysFiles *files);

/* The text of a file, from its start, with a NUL behind it; valid until the next read. NULL when it cannot be read
 * now: a CPU that is off, a sensor that has no value. */
const char *sys_files_read(SysFiles *files, SysFile *file);

/* The name of the directory that a file is in. */
void sys_file_directory(const SysFile *file, char ret[static SYS_FILE_PATH_BYTES]);

/* The first line of another file of the same directory, printable; "" when it cannot be read. */
void sys_file_beside(const SysFile *file, int root, const char *name, char *ret, size_t size);
