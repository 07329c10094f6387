/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Mapped files: the libraries that running programs have mapped, as they come
 *
 * A probe is in the file, so a file is reported once, for all programs that have it mapped or will have. The files
 * are found in /proc, and what is opened is the mapping itself, whatever has become of the file's name: so they are
 * found in containers and sandboxes, too, and when they have been replaced. New processes are looked at when they are
 * seen, once more a while later, when they have loaded what they load at their start, and from time to time all of
 * them, as a library may come later.
 *
 * A look is cut into turns, so that it takes little time at once. Files of file systems that are programs or other
 * machines are left alone, and recognized without being asked for: they might never answer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/pid-set.h"

#define MAPPED_FILES_MAX 4096 /* that are remembered: with those that are no library of ours */
#define MAPPED_TURN_BYTES \
        (1u << 20) /* of processes' lists that are read in one turn, and the rest of the last one */
#define MAPPED_MOUNTS_BYTES \
        (1u << 20)            /* of a process's mounts; what is not among them is left alone */
#define MAPPED_TURN_MAX   64  /* processes that are looked at in one turn */
#define MAPPED_YOUNG_MAX  256 /* processes that are looked at again soon */
#define MAPPED_PATH_BYTES 4200

typedef struct MappedVisitor {
        /* By the last part of its path: whether a file is worth being opened. */
        bool (*wants)(void *userdata, const char *name);
        /* A new file, which the visitor may keep. */
        void (*found)(void *userdata, int fd, const char *path);
        void *userdata;
} MappedVisitor;

/* A file as a mapping of it names it, without the last two; or as stat() does. */
typedef struct MappedFile {
        uint64_t device, inode;
        uint64_t size, written_ns; /* of a file on a file system that is made of others */
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
        MappedFileSet mappings; /* that were looked at: most are recognized without being opened */
        MappedFileSet opened;   /* the same files, as often as they have other numbers */
        PidSet seen;
        YoungProcess young[MAPPED_YOUNG_MAX];
        size_t n_young;
        uint64_t all_again_ns; /* when all are looked at again */
        char *text;            /* of one process's list, read again and again */
        size_t n_text;
        size_t n_read;       /* bytes of lists in this turn */
        unsigned n_replaced; /* files that programs still run although others have their names */
        unsigned n_foreign;  /* files on file systems that might not answer */
} MappedFiles;

/* 0 or -ENOMEM. */
int mapped_files_init(MappedFiles *files, const MappedVisitor *visitor);
void mapped_files_deinit(MappedFiles *files);

/* The libraries in the folder where the C library is that this program runs with: most programs that are started later
 * will have these, so they are told at once. `names` are sonames. */
void mapped_files_add_system(MappedFiles *files, const char *name);

/* Looks at processes for one turn. True if there is more to look at now. */
bool mapped_files_look(MappedFiles *files, uint64_t now_ns);
