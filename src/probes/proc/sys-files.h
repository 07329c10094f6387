/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Files that the kernel has once for each device: they are found by patterns, kept open, and looked for again now and
 * then
 *
 * A pattern is a path below a root. In a component, "#" stands for a decimal number and "*" for any name, and may occur
 * once. Devices come and go: a scan finds what is new and forgets what has gone. A file whose device has gone reads as
 * NULL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"

#define SYS_FILES_MAX 16384 /* of one kind: 1000 CPUs have 9000 idle states */
#define SYS_FILE_BYTES_MAX \
        (4u << 20) /* /proc/stat with its interrupts is the largest; larger files are not read */
#define SYS_FILE_PATH_BYTES  256
#define SYS_FILE_NUMBERS_MAX 3

typedef struct SysFile {
        char *path; /* below the root */
        int fd;     /* -1: the device has gone since the last scan */
        size_t pattern;
        uint32_t numbers[SYS_FILE_NUMBERS_MAX]; /* what stood for each "#" */
        char *label; /* set by the owner when the file was accepted, and freed with it; or NULL */
        uint32_t place; /* for the owner: the number by which readers know the device */
        bool has_track; /* for the owner: the file's value also goes on a track */
        bool is_listed; /* by the current scan */
} SysFile;

/* Returns whether to keep a file that was found and opened. */
typedef bool SysFileAccept(SysFile *file, int root);

typedef struct SysFiles {
        int root;                    /* borrowed */
        const char *const *patterns; /* the last is NULL */
        SysFileAccept *accept;       /* or NULL: all */
        bool are_values; /* each is one attribute of sysfs, which a single read() gets whole */
        SysFile *files;  /* sorted by path, with numbers in it compared by value */
        size_t n, n_allocated;
        size_t n_sorted; /* during a scan: how many were there before */
        int error; /* of the last scan: why an existing file cannot be opened, or -ENOENT if there is none */
        bool lost_one; /* a device has gone since the last scan */
        Bytes text;
} SysFiles;

void sys_files_init(SysFiles *files, int root, const char *const *patterns, SysFileAccept *accept);
void sys_files_deinit(SysFiles *files);

/* Opens what is new and closes what has gone. Returns 0 or -ENOMEM. */
int sys_files_scan(SysFiles *files);

/* The text of a file, from its start, with a NUL at the end; valid until the next read. Returns NULL if it cannot be
 * read now, for example because a CPU is off, or a sensor has no value. */
const char *sys_files_read(SysFiles *files, SysFile *file);

/* The name of the directory that contains a file. */
void sys_file_directory(const SysFile *file, char ret[static SYS_FILE_PATH_BYTES]);

/* The first line of another file in the same directory, made printable; "" if it cannot be read. */
void sys_file_beside(const SysFile *file, int root, const char *name, char *ret, size_t size);
