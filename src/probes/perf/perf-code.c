/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf code: the files that programs have mapped, each of them once, however many processes have mapped it */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/perf/perf-code.h"
#include "probes/perf/perf-file.h"
#include "shared/hash.h"

#define PLACES ((size_t)PERF_FILES_MAX * 2)

/* Module numbers of files in the stack table; lower ones are for the owner of the table. */
#define FIRST_FILE_ID 64u

/* How many processes may end before a file is found that others have in no other place, such as a container. Compilers
 * are many and live shortly, and the next one may live longer. */
#define GONE_MAX 16

static uint32_t next_id = FIRST_FILE_ID;

static PerfFile *file_free(PerfFile *file) {
        if (!file)
                return NULL;
        module_free(file->code.module);
        free(file->path);
        free(file);
        return NULL;
}

static PerfFile *file_new(const FileIdentity *identity, const char *path) {
        PerfFile *file = calloc(1, sizeof(*file));

        if (!file)
                return NULL;
        file->identity = *identity;
        file->path = strndup(path, strnlen(path, PERF_PATH_BYTES_MAX));
        if (!file->path)
                return file_free(file);
        file->stack.id = next_id++;
        file->stack.path = file->path;
        return file;
}

static void file_set_module(PerfCode *code, PerfFile *file, Module *module) {
        file->code.module = module;
        file->code.state = module ? CODE_READ : CODE_OPAQUE;
        if (!module) {
                code->n_opaque++;
                return;
        }
        file->stack.build_id = module->build_id;
        file->stack.n_build_id = module->n_build_id;
        code->n_module_bytes += module_bytes(module);
}

int perf_code_init(PerfCode *code, Unwinder *unwinder, const ProbeOwner *owner) {
        static const FileIdentity nowhere = {};

        *code = (PerfCode){ .unwinder = unwinder };
        code->files = calloc(PERF_FILES_MAX, sizeof(*code->files));
        code->by_identity = calloc(PLACES, sizeof(*code->by_identity));
        code->vdso = file_new(&nowhere, "[vdso]");
        if (!code->files || !code->by_identity || !code->vdso)
                return -ENOMEM;
        file_set_module(code, code->vdso, perf_file_vdso());
        return loader_new(&code->loader, owner);
}

void perf_code_deinit(PerfCode *code) {
        loader_free(code->loader);
        for (size_t i = 0; i < code->n_files; i++)
                file_free(code->files[i]);
        file_free(code->vdso);
        free(code->files);
        free(code->by_identity);
        *code = (PerfCode){};
}

/*
 * Finding
 */

static size_t place_of(const FileIdentity *identity, const char *path) {
        uint64_t hash =
                identity->inode ^ (uint64_t)identity->major << 52 ^ (uint64_t)identity->minor << 32;

        hash = hash_add_text(hash, path);
        return (size_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) % PLACES;
}

static bool is_file(const PerfFile *file, const FileIdentity *identity, const char *path) {
        return file->identity.inode == identity->inode && file->identity.major == identity->major &&
               file->identity.minor == identity->minor && streq(file->path, path);
}

static PerfFile **find_place(PerfCode *code, const FileIdentity *identity, const char *path) {
        size_t i = place_of(identity, path);

        while (code->by_identity[i] && !is_file(code->by_identity[i], identity, path))
                i = (i + 1) % PLACES;
        return &code->by_identity[i];
}

PerfFile *perf_code_file(PerfCode *code, const FileIdentity *identity, const char *path) {
        PerfFile **place;

        if (streq(path, "[vdso]"))
                return code->vdso;
        if (identity->inode == 0 || path[0] != '/')
                return NULL;
        place = find_place(code, identity, path);
        if (*place)
                return *place;
        if (code->n_files == PERF_FILES_MAX) {
                code->n_refused++;
                return NULL;
        }
        *place = file_new(identity, path);
        if (*place)
                code->files[code->n_files++] = *place;
        return *place;
}

/*
 * Reading
 */

void perf_code_request(PerfCode *code, PerfFile *file, pid_t pid, const Mapping *mapping) {
        Load *load;

        if (file->is_loading || file->code.state != CODE_UNREAD || file->gone == pid)
                return;
        load = load_new(LOAD_FILE, pid);
        if (load) {
                load->identity = file->identity;
                load->start = mapping->start;
                load->end = mapping->end;
                load->userdata = file;
                load->is_urgent = true;
                load->path = strdup(file->path);
        }
        if (load && load->path && loader_submit(code->loader, load)) {
                file->is_loading = true;
                return;
        }
        load_free(load);
        file_set_module(code, file, NULL);
}

void perf_code_take(PerfCode *code, Load *load) {
        PerfFile *file = load->userdata;

        file->is_loading = false;
        file->used_at = code->turn;
        if (load->is_gone && ++file->n_gone < GONE_MAX) {
                file->gone = load->pid;
                return;
        }
        file_set_module(code, file, TAKE(load->module));
        unwinder_forget(code->unwinder);
}

/*
 * Letting go
 */

/* The trace's state refers to a file by number, and has its build id; that stays. */
static void file_unread(PerfCode *code, PerfFile *file) {
        code->n_module_bytes -= module_bytes(file->code.module);
        file->stack.n_build_id = 0;
        file->stack.build_id = NULL;
        file->code.module = module_free(file->code.module);
        file->code.state = CODE_UNREAD;
}

static PerfFile *find_oldest(const PerfCode *code) {
        PerfFile *oldest = NULL;

        for (size_t i = 0; i < code->n_files; i++) {
                PerfFile *file = code->files[i];

                if (file->code.module && (!oldest || file->used_at < oldest->used_at))
                        oldest = file;
        }
        return oldest;
}

void perf_code_shrink(PerfCode *code) {
        bool has_forgotten = false;

        while (code->n_module_bytes > PERF_MODULE_BYTES_MAX) {
                PerfFile *oldest = find_oldest(code);

                if (!oldest)
                        break;
                file_unread(code, oldest);
                has_forgotten = true;
        }
        if (has_forgotten)
                unwinder_forget(code->unwinder);
        code->turn++;
}

void perf_code_sweep(PerfCode *code) {
        size_t n = 0;

        memset(code->by_identity, 0, PLACES * sizeof(*code->by_identity));
        for (size_t i = 0; i < code->n_files; i++) {
                PerfFile *file = code->files[i];

                if (!file->is_marked && !file->is_loading) {
                        if (file->code.module)
                                code->n_module_bytes -= module_bytes(file->code.module);
                        file_free(file);
                        continue;
                }
                file->is_marked = false;
                code->files[n++] = file;
                *find_place(code, &file->identity, file->path) = file;
        }
        code->n_files = n;
        unwinder_forget(code->unwinder);
}
