/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Modules of files, and the address space of a process as /proc says it is, for tests
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/unwinder.h"

typedef struct TestFile {
        CodeFile code;
        char path[256];
} TestFile;

typedef struct TestFiles {
        TestFile files[256];
        size_t n;
} TestFiles;

typedef struct FileReader {
        ModuleReader reader;
        int fd;
} FileReader;

static inline int64_t
file_read(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        return pread(((FileReader *)reader)->fd, buffer, n_bytes, (off_t)offset);
}

static inline int test_module_open(Module **ret, const char *path) {
        FileReader reader = { .reader.read = file_read, .fd = open(path, O_RDONLY | O_CLOEXEC) };
        int r;

        if (reader.fd < 0)
                return -errno;
        r = module_new(ret, &reader.reader);
        close(reader.fd);
        return r;
}

static inline CodeFile *test_file(TestFiles *files, const char *path) {
        TestFile *file;

        for (size_t i = 0; i < files->n; i++)
                if (strcmp(files->files[i].path, path) == 0)
                        return &files->files[i].code;
        file = &files->files[files->n++];
        snprintf(file->path, sizeof(file->path), "%s", path);
        file->code.state =
                test_module_open(&file->code.module, path) >= 0 ? CODE_READ : CODE_OPAQUE;
        return &file->code;
}

/* The vdso is a file that is in memory alone, and everywhere the same. */
typedef struct MemoryReader {
        ModuleReader reader;
        const uint8_t *bytes;
        size_t n_bytes;
} MemoryReader;

static inline int64_t
memory_read(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const MemoryReader *memory = (MemoryReader *)reader;

        if (offset >= memory->n_bytes)
                return 0;
        if (n_bytes > memory->n_bytes - offset)
                n_bytes = memory->n_bytes - offset;
        memcpy(buffer, memory->bytes + offset, n_bytes);
        return (int64_t)n_bytes;
}

static inline CodeFile *test_vdso(TestFiles *files, size_t n_bytes) {
        MemoryReader reader = {
                .reader.read = memory_read,
                .bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR),
                .n_bytes = n_bytes,
        };
        TestFile *file = &files->files[files->n++];

        snprintf(file->path, sizeof(file->path), "[vdso]");
        file->code.state =
                module_new(&file->code.module, &reader.reader) >= 0 ? CODE_READ : CODE_OPAQUE;
        return &file->code;
}

static inline CodeFile *test_named_file(TestFiles *files, const char *name, size_t n_bytes) {
        if (strcmp(name, "[vdso]") == 0)
                return test_vdso(files, n_bytes);
        return name[0] == '/' ? test_file(files, name) : NULL;
}

static inline void test_space_load(AddressSpace *space, TestFiles *files, pid_t pid) {
        char path[64], line[512], perms[8], name[256];
        uint64_t start, end, offset;
        FILE *maps;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        while (maps && fgets(line, sizeof(line), maps)) {
                name[0] = '\0';
                if (sscanf(line,
                           "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s",
                           &start,
                           &end,
                           perms,
                           &offset,
                           name) < 4 ||
                    perms[2] != 'x')
                        continue;
                address_space_map(space,
                                  &(Mapping){
                                          .start = start,
                                          .end = end,
                                          .offset = offset,
                                          .file = test_named_file(files, name, end - start),
                                  });
        }
        if (maps)
                fclose(maps);
}
