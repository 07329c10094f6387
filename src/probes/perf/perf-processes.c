/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf processes: what each process has mapped, by the kernel's own account */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/perf/perf-processes.h"
#include "shared/process-maps.h"

#define PLACES ((size_t)PERF_PROCESSES_MAX * 2)

static void forget_jit(PerfProcesses *processes, PerfProcess *process) {
        if (process->jit)
                processes->n_jit_bytes -= process->jit->n_bytes;
        process->jit = jit_names_free(process->jit);
}

static PerfProcess *process_free(PerfProcesses *processes, PerfProcess *process) {
        if (!process)
                return NULL;
        forget_jit(processes, process);
        list_unlink(&process->ended);
        address_space_deinit(&process->space);
        free(process->command);
        free(process->cgroup);
        free(process);
        return NULL;
}

int perf_processes_init(PerfProcesses *processes,
                        PerfCode *code,
                        const PerfScope *scope,
                        bool has_owner) {
        *processes = (PerfProcesses){ .code = code, .scope = scope, .has_owner = has_owner };
        list_init(&processes->ended);
        processes->by_pid = calloc(PLACES, sizeof(PerfProcess *));
        return processes->by_pid ? 0 : -ENOMEM;
}

void perf_processes_deinit(PerfProcesses *processes) {
        if (processes->by_pid)
                for (size_t i = 0; i < PLACES; i++)
                        process_free(processes, processes->by_pid[i]);
        free(processes->by_pid);
        processes->by_pid = NULL;
}

/*
 * The table
 */

static size_t first_place(pid_t pid) {
        return (size_t)pid * 2654435761u % PLACES;
}

static PerfProcess **find_place(PerfProcesses *processes, pid_t pid) {
        size_t i = first_place(pid);

        while (processes->by_pid[i] && processes->by_pid[i]->pid != pid)
                i = (i + 1) % PLACES;
        return &processes->by_pid[i];
}

static PerfProcess *process_add(PerfProcesses *processes, PerfProcess **place, pid_t pid) {
        if (processes->n == PERF_PROCESSES_MAX) {
                processes->n_refused++;
                return NULL;
        }
        *place = calloc(1, sizeof(**place));
        if (!*place)
                return NULL;
        (*place)->pid = pid;
        address_space_init(&(*place)->space);
        list_init(&(*place)->ended);
        processes->n++;
        return *place;
}

/* What follows in the table may have been put there because this place was taken. */
static void process_remove(PerfProcesses *processes, pid_t pid) {
        PerfProcess **place = find_place(processes, pid);
        size_t i = (size_t)(place - processes->by_pid);

        if (!*place)
                return;
        *place = process_free(processes, *place);
        processes->n--;
        for (i = (i + 1) % PLACES; processes->by_pid[i]; i = (i + 1) % PLACES) {
                PerfProcess *moved = TAKE(processes->by_pid[i]);

                *find_place(processes, moved->pid) = moved;
        }
}

/* Rather than a new process, one that has ended is left out. */
static PerfProcess *process_get(PerfProcesses *processes, pid_t pid) {
        PerfProcess **place = find_place(processes, pid), *ended;

        if (*place)
                return *place;
        ended = list_first(&processes->ended, PerfProcess, ended);
        if (processes->n == PERF_PROCESSES_MAX && ended) {
                process_remove(processes, ended->pid);
                place = find_place(processes, pid);
        }
        return process_add(processes, place, pid);
}

/*
 * /proc
 */

static void process_ask(PerfProcesses *processes, PerfProcess *process, bool is_urgent) {
        Load *load;

        if (process->is_asked) {
                if (is_urgent && !process->is_urgent)
                        loader_hurry(processes->code->loader, process->pid);
                process->is_urgent |= is_urgent;
                return;
        }
        process->is_asked = true;
        process->is_urgent = is_urgent;
        load = load_new(LOAD_PROCESS, process->pid);
        if (load) {
                load->program = process->program;
                load->is_urgent = is_urgent;
        }
        if (load && !loader_submit(processes->code->loader, load))
                load_free(load);
}

static void doubt(PerfProcess *process) {
        if (perf_process_has_ended(process)) /* it will not change any longer */
                return;
        process->is_checked = process->is_readable = process->is_asked = false;
}

static PerfProcess *process_look_up(PerfProcesses *processes, pid_t pid, bool is_urgent) {
        PerfProcess *process = process_get(processes, pid);

        if (process && process->is_checked && loader_now_ns() - process->checked_ns > PERF_CHECK_NS)
                doubt(process);
        if (process && !perf_process_has_ended(process) &&
            (!perf_process_is_settled(processes, process) ||
             perf_scope_needs_command(processes->scope) || perf_scope_needs_unit(processes->scope)))
                process_ask(processes, process, is_urgent);
        return process;
}

PerfProcess *perf_processes_get(PerfProcesses *processes, pid_t pid) {
        return process_look_up(processes, pid, true);
}

int perf_processes_scan(PerfProcesses *processes) {
        DIR *directory = opendir("/proc");
        struct dirent *entry;

        if (!directory)
                return -errno;
        while ((entry = readdir(directory)))
                if (isdigit((unsigned char)entry->d_name[0]))
                        (void)process_look_up(processes, atoi(entry->d_name), false);
        closedir(directory);
        return 0;
}

/* Nobody may read what has no memory, and no answer changes that. */
static void process_end(PerfProcesses *processes, PerfProcess *process) {
        if (perf_process_has_ended(process))
                return;
        address_space_clear(&process->space);
        forget_jit(processes, process);
        process->is_known = process->is_checked = true;
        process->is_readable = false;
        process->ended_ns = loader_now_ns();
        process->checked_ns = process->ended_ns;
        list_append(&processes->ended, &process->ended);
}

void perf_processes_forget(PerfProcesses *processes, uint64_t now_ns) {
        PerfProcess *process;

        while ((process = list_first(&processes->ended, PerfProcess, ended)) &&
               now_ns - process->ended_ns > PERF_ENDED_NS)
                process_remove(processes, process->pid);
}

static void process_map(PerfProcesses *processes,
                        PerfProcess *process,
                        Mapping mapping,
                        const FileIdentity *identity,
                        const char *path) {
        PerfFile *file = perf_code_file(processes->code, identity, path);

        mapping.file = file ? &file->code : NULL;
        (void)address_space_map(&process->space, &mapping); /* counts what it refuses */
}

static void process_map_line(PerfProcesses *processes, PerfProcess *process, const char *line) {
        ProcessMapping found;

        if (process_mapping_parse(&found, line) && found.is_executable)
                process_map(
                        processes,
                        process,
                        (Mapping){ .start = found.start, .end = found.end, .offset = found.offset },
                        &(FileIdentity){ found.major, found.minor, found.inode },
                        found.path);
}

static void process_map_all(PerfProcesses *processes, PerfProcess *process, char *maps) {
        char *line, *state = NULL;

        for (line = strtok_r(maps, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                process_map_line(processes, process, line);
}

/* Names that find no room are left out, and the ones before them are forgotten. */
static void take_jit(PerfProcesses *processes, PerfProcess *process, Load *load) {
        process->is_jit_loading = false;
        if (!load->jit || load->program != process->program)
                return;
        forget_jit(processes, process);
        if (load->jit->n_bytes > PERF_JIT_BYTES_MAX - processes->n_jit_bytes)
                return;
        process->jit = TAKE(load->jit);
        processes->n_jit_bytes += process->jit->n_bytes;
}

static void ask_for_jit(PerfProcesses *processes, PerfProcess *process, uint64_t now_ns) {
        Load *load;

        if (process->is_jit_loading ||
            (process->jit_asked_ns > 0 && now_ns < process->jit_asked_ns + PERF_JIT_PERIOD_NS))
                return;
        process->jit_asked_ns = now_ns;
        load = load_new(LOAD_JIT, process->pid);
        if (!load)
                return;
        load->program = process->program;
        load->is_urgent = true;
        process->is_jit_loading = loader_submit(processes->code->loader, load);
        if (!process->is_jit_loading)
                load_free(load);
}

const JitName *perf_processes_jit(PerfProcesses *processes,
                                  PerfProcess *process,
                                  uint64_t address,
                                  uint64_t now_ns) {
        const JitName *name = process->jit ? jit_names_find(process->jit, address) : NULL;

        if (!name)
                ask_for_jit(processes, process, now_ns);
        return name;
}

/* Nobody may read a process without memory, such as the kernel's own or one that ends; nor the probes, which the kernel
 * would allow to read themselves. */
static void take_check(const PerfProcesses *processes, PerfProcess *process, const Load *load) {
        if (!processes->has_owner || load->program != process->program)
                return;
        process->is_checked = true;
        process->is_readable = load->maps && load->maps[0] && process->pid != getpid();
        process->checked_ns = load->begun_ns;
}

/* Of what is there, the machine's sampler may read these files. */
static bool is_gone(const PerfProcesses *processes, const PerfProcess *process, const Load *load) {
        return !processes->has_owner && load->program == process->program && !load->maps &&
               !load->command;
}

void perf_processes_take(PerfProcesses *processes, Load *load) {
        PerfProcess *process = *find_place(processes, load->pid);

        if (!process || perf_process_has_ended(process))
                return;
        if (load->kind == LOAD_JIT) {
                take_jit(processes, process, load);
                return;
        }
        if (is_gone(processes, process, load)) {
                process_end(processes, process);
                return;
        }
        take_check(processes, process, load);
        if (load->maps && !process->is_known) {
                process_map_all(processes, process, load->maps);
                process->is_known = true;
        }
        if (load->cgroup && perf_scope_needs_unit(processes->scope)) {
                free(process->cgroup);
                process->cgroup = TAKE(load->cgroup);
                process->is_judged = false;
        }
        if (load->command && load->program == process->program) { /* not of before an exec */
                free(process->command);
                process->command = TAKE(load->command);
                process->is_judged = false;
        }
}

/*
 * Records
 */

static void follow_map(PerfProcesses *processes, const void *record, size_t n_bytes) {
        PerfProcess *process;
        PerfMap map;

        if (perf_map_parse(&map, record, n_bytes) || map.pid <= 0 ||
            map.n_bytes > UINT64_MAX - map.start)
                return;
        process = process_look_up(processes, map.pid, false);
        if (process)
                process_map(processes,
                            process,
                            (Mapping){ .start = map.start,
                                       .end = map.start + map.n_bytes,
                                       .offset = map.offset },
                            &(FileIdentity){ map.major, map.minor, map.inode },
                            map.path);
}

/* A new process has its parent's mappings; a new thread changes nothing. */
static void follow_fork(PerfProcesses *processes, const void *record, size_t n_bytes) {
        PerfProcess *parent, *child;
        PerfTask task;

        if (perf_task_parse(&task, record, n_bytes) || task.pid == task.parent || task.pid <= 0)
                return;
        process_remove(processes, task.pid); /* an earlier process with this pid */
        parent = *find_place(processes, task.parent);
        child = process_get(processes, task.pid);
        if (!child || !parent || !parent->is_known ||
            address_space_copy(&child->space, &parent->space) < 0)
                return;
        child->is_known = true;
        child->is_checked = parent->is_checked;
        child->is_readable = parent->is_readable;
        child->checked_ns = parent->checked_ns;
        child->command = parent->command ? strdup(parent->command) : NULL;
        child->cgroup = parent->cgroup ? strdup(parent->cgroup) : NULL;
}

/* The exec has removed all mappings; those of the new program follow this record. Until /proc answers, which may be
 * after the program's end, its name stands for its command line. */
static void follow_exec(PerfProcesses *processes, const void *record, size_t n_bytes) {
        PerfProcess *process;
        const char *name;
        pid_t pid;

        if (perf_comm_parse(&pid, &name, record, n_bytes) || pid <= 0)
                return;
        process = process_get(processes, pid);
        if (!process)
                return;
        list_unlink(&process->ended);
        address_space_clear(&process->space);
        forget_jit(processes, process);
        process->program++;
        process->jit_asked_ns = 0;
        process->is_known = true;
        process->is_judged = false;
        doubt(process); /* it has another name now, and perhaps another user */
        free(process->command);
        process->command = strdup(name);
}

static void follow_exit(PerfProcesses *processes, const void *record, size_t n_bytes) {
        PerfProcess *process;
        PerfTask task;

        if (perf_task_parse(&task, record, n_bytes) || task.pid != task.tid || task.pid <= 0)
                return;
        process = process_get(processes, task.pid);
        if (process)
                process_end(processes, process);
}

void perf_processes_follow(PerfProcesses *processes, const void *record, size_t n_bytes) {
        struct perf_event_header header;

        memcpy(&header, record, sizeof(header));
        switch (header.type) {
        case PERF_RECORD_MMAP2:
                follow_map(processes, record, n_bytes);
                break;
        case PERF_RECORD_FORK:
                follow_fork(processes, record, n_bytes);
                break;
        case PERF_RECORD_COMM:
                if (header.misc & PERF_RECORD_MISC_COMM_EXEC)
                        follow_exec(processes, record, n_bytes);
                break;
        case PERF_RECORD_EXIT:
                follow_exit(processes, record, n_bytes);
                break;
        default:
                break;
        }
}

bool perf_process_has_ended(const PerfProcess *process) {
        return list_is_linked(&process->ended);
}

PerfProcess *perf_processes_revive(PerfProcesses *processes, PerfProcess *process) {
        const pid_t pid = process->pid;

        process_remove(processes, pid);
        return perf_processes_get(processes, pid);
}

bool perf_process_is_settled(const PerfProcesses *processes, const PerfProcess *process) {
        return processes->has_owner ? process->is_checked : process->is_known;
}

/* Hides the process until its record comes. */
void perf_process_hide(PerfProcess *process) {
        process->is_readable = false;
}

void perf_processes_doubt(PerfProcesses *processes) {
        for (size_t i = 0; i < PLACES; i++)
                if (processes->by_pid[i])
                        doubt(processes->by_pid[i]);
}

bool perf_process_is_in_scope(PerfProcesses *processes, PerfProcess *process) {
        if (processes->has_owner && !process->is_readable)
                return false;
        if (!process->is_judged) {
                process->is_in_scope = perf_scope_has(processes->scope,
                                                      process->pid,
                                                      process->command ?: "",
                                                      process->cgroup ?: "");
                /* Judges a process again whose command line or unit was not known. */
                process->is_judged =
                        (process->command || !perf_scope_needs_command(processes->scope)) &&
                        (process->cgroup || !perf_scope_needs_unit(processes->scope));
        }
        return process->is_in_scope;
}

static void mark_space(const AddressSpace *space) {
        for (size_t i = 0; i < space->n_mappings; i++)
                if (space->mappings[i].file)
                        perf_file_of(space->mappings[i].file)->is_marked = true;
}

void perf_processes_mark(PerfProcesses *processes) {
        for (size_t i = 0; i < PLACES; i++)
                if (processes->by_pid[i])
                        mark_space(&processes->by_pid[i]->space);
}
