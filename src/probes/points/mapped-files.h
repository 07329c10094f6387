/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Mapped files: the libraries that running programs have mapped, as they appear
 *
 * A probe is in the file, so a file is reported once, for all programs that have mapped it or ever will. The files are
 * found in /proc. What is opened is the mapping itself, whatever has become of the file's name, so files are found in
 * containers and sandboxes, and after they have been replaced, too. A new process is looked at when it is seen, and
 * once more a while later, when it has loaded what it loads at its start. From time to time all processes are looked
 * at, because a library may be loaded later.
 *
 * A look is split into turns, so that each takes little time. Files on file systems that are programs or other machines
 * are left alone. They are recognized without asking their file system, which might never answer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/pid-set.h"

#define MAPPED_FILES_MAX 4096 /* remembered, including files that are none of our libraries */
#define MAPPED_TURN_BYTES \
        (1u << 20) /* of processes' lists, read in one turn; and the rest of the last one */
#define MAPPED_MOUNTS_BYTES \
        (1u << 20)            /* of a process's mounts; files on other mounts are left alone */
#define MAPPED_TURN_MAX   64  /* processes in one turn */
#define MAPPED_YOUNG_MAX  256 /* processes to be looked at again soon */
#define MAPPED_PATH_BYTES 4200

typedef struct MappedVisitor {
        /* Whether a file is worth opening, judging by the last part of its path. */
        bool (*wants)(void *userdata, const char *name);
        /* A new file, which the visitor may keep. */
        void (*found)(void *userdata, int fd, const char *path);
        void *userdata;
} MappedVisitor;

/* A file, identified as its mapping does, which lacks the last two members, or as stat() does. */
typedef struct MappedFile {
        uint64_t device, inode;
        uint64_t size, written_ns; /* of a file on a file system that is stacked on others */
} MappedFile;

/* Sorted. */
typedef struct MappedFileSet {
        MappedFile *files;
        size_t n, n_allocated;
} MappedFileSet;

typedef struct YoungProcess {
        int pid;
        uint64_t due_ns;
} YoungProcess;

typedef struct MappedFiles {
        MappedVisitor visitor;
        const char *proc;       /* "/proc", or a copy */
        MappedFileSet mappings; /* already looked at: most are recognized without being opened */
        MappedFileSet opened;   /* the same files, as often as they have other numbers */
        PidSet seen;
        YoungProcess young[MAPPED_YOUNG_MAX];
        size_t n_young;
        uint64_t all_again_ns; /* when all processes are looked at again */
        char *text;            /* one process's list; the memory is used again */
        size_t n_text;
        size_t n_read;       /* bytes of lists in this turn */
        unsigned n_replaced; /* files that programs still run, but whose names belong to others */
        unsigned n_foreign;  /* files on file systems that might not answer */
} MappedFiles;

/* Returns 0 or -ENOMEM. */
int mapped_files_init(MappedFiles *files, const MappedVisitor *visitor);
void mapped_files_deinit(MappedFiles *files);

/* Reports at once the libraries in the folder of the C library that this program runs with, because most programs
 * that are started later will load these. `names` are sonames. */
void mapped_files_add_system(MappedFiles *files, const char *name);

/* Looks at processes for one turn. Returns true if there is more to look at now. */
bool mapped_files_look(MappedFiles *files, uint64_t now_ns);
