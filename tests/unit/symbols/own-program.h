/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The program that runs: a file whose build id is known. */

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "shared/fd.h"
#include "symbols/symbol-file.h"
#include "test.h"

#define OWN_PROGRAM_BYTES_MAX (64u << 20)

static inline size_t align(size_t n) {
        return ALIGN_UP(n, (size_t)4);
}

/* Of the program that runs, as it lies in memory: the first object is the program. */
static inline int find_build_id(struct dl_phdr_info *info, size_t n_info, void *userdata) {
        BuildId *build_id = userdata;

        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                const char *notes = (const char *)(info->dlpi_addr + segment->p_vaddr);

                for (size_t at = 0; segment->p_type == PT_NOTE && at < segment->p_memsz;) {
                        ElfW(Nhdr) note;

                        memcpy(&note, notes + at, sizeof(note));
                        at += sizeof(note);
                        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
                            !memcmp(notes + at, "GNU", sizeof("GNU"))) {
                                ck_assert_uint_le(note.n_descsz, sizeof(build_id->bytes));
                                build_id->n = note.n_descsz;
                                memcpy(build_id->bytes,
                                       notes + at + align(note.n_namesz),
                                       build_id->n);
                                return 1;
                        }
                        at += align(note.n_namesz) + align(note.n_descsz);
                }
        }
        return 1;
}

typedef struct Program {
        char *bytes;
        size_t n;
        BuildId build_id;
} Program;

static inline void program_deinit(Program *program) {
        free(program->bytes);
}

/* False where programs are linked without a build id. */
static inline bool program_init(Program *program) {
        *program = (Program){};
        dl_iterate_phdr(find_build_id, &program->build_id);
        if (program->build_id.n == 0) {
                test_skip("programs have no build id here");
                return false;
        }
        ck_assert_int_eq(fd_read_file(&program->bytes,
                                      &program->n,
                                      AT_FDCWD,
                                      "/proc/self/exe",
                                      OWN_PROGRAM_BYTES_MAX),
                         0);
        return true;
}
