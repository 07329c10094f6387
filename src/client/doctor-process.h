/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, process: why a program is not among the producers
 *
 * A process's owner chooses what /proc shows of it: names, paths and variables may hold anything. They are bounded
 * here, and the report makes them safe to print.
 */

#include <stdint.h>
#include <sys/types.h>

#include "client/doctor.h"
#include "shared/process-maps.h"

#define PROCESSES_MAX             65536 /* processes searched for a name */
#define PROCESSES_FOUND_MAX       4
#define PROCESS_ENVIRON_BYTES_MAX (1u << 20)
#define PROCESS_PROGRAM_BYTES_MAX (UINT64_C(256) << 20) /* of a program's file that are searched */

/* What a program's file contains. */
typedef struct ProgramFacts {
        bool is_readable;
        bool is_static;       /* no other file is loaded into it */
        bool names_library;   /* is linked with libdesktrace.so */
        bool has_own_library; /* libdesktrace is a part of it */
        bool has_perfetto;    /* Perfetto's SDK is a part of it */
} ProgramFacts;

/* Calls `look` with one piece of a file after the other; each begins with the end of the one before. The file is read
 * rather than mapped: it may be somebody else's, who can make it shorter meanwhile. */
typedef void (*ProgramLook)(void *userdata, const void *data, size_t n);
void program_file_look(int root, const char *path, ProgramLook look, void *userdata);

typedef struct ProcessFacts {
        pid_t pid;
        bool exists;
        char *name;
        char state; /* as in /proc/PID/stat */
        uint32_t uid;
        char *program; /* its file, or NULL */
        bool program_is_deleted;
        ProgramFacts file;

        bool has_maps; /* they could be read */
        char *library; /* the libdesktrace that is mapped, or NULL */
        bool library_is_deleted;
        bool has_thread; /* the library's own thread, which dt_init() starts */

        bool has_environ;
        char **variables;  /* "NAME=value" of those that matter here */
        bool is_elsewhere; /* in another pid namespace than we */
        char *flatpak;     /* its app, or NULL */
} ProcessFacts;

/* `root` is the machine's "/", or a tree of fixtures. */
ProcessFacts *process_facts_new(int root, pid_t pid);
ProcessFacts *process_facts_free(ProcessFacts *facts);
DEFINE_CLEANUP(ProcessFacts *, process_facts_free)

/* Finds the processes whose program is the file of that absolute path, or, without a slash, has that name. An array of
 * pid_t. */
GArray *process_find(int root, const char *program);

void program_facts_read(ProgramFacts *facts, int root, const char *path);

/* How the service sees the process: the names of the data sources that it offers; NULL: it is no producer;
 * `service_is_known` is false if the service could not be asked. */
typedef struct ProcessOnService {
        bool service_is_known;
        const char *sources;
        bool has_perfetto_socket; /* /run/perfetto/traced-producer.sock */
} ProcessOnService;

/* Pure. `facts` NULL: the process could not be inspected in time. */
void process_check(DoctorReport *report,
                   const ProcessFacts *facts,
                   const ProcessOnService *service);

/* Pure: reports that the program is not running. */
void program_check(DoctorReport *report, const char *path, const ProgramFacts *facts);
