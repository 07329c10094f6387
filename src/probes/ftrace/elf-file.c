/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ELF file: the common part of the readers of programs' files */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/elf-file.h"
#include "shared/elf-parts.h"
#include "shared/fd.h"

/* Opening a device can have side effects, such as starting a watchdog, and reading trace_pipe takes data away from
 * another reader. So the file's type is checked first: such files say that they are empty, or are in sysfs. Reading
 * never blocks, whatever the path leads to. */
static int open_regular(int *ret, const char *path) {
        _cleanup_(fd_closep) int fd = -1;
        char again[64];
        struct statfs system;
        struct stat st;

        fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &system) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size == 0 || system.f_type == SYSFS_MAGIC)
                return -ENOTSUP;
        snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
        *ret = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return *ret < 0 ? -errno : 0;
}

int elf_file_open_program(int *ret, const char *path, char **ret_error) {
        int r = open_regular(ret, path);

        if (r == -ENOTSUP)
                return probe_refuse(ret_error, "%s is no file of a program", path);
        return r < 0 ? probe_refuse(ret_error, "cannot open %s: %s", path, strerror(-r)) : 0;
}

int elf_file_open(Elf **ret, int fd, const char *path, char **ret_error) {
        Elf *elf;

        if (elf_version(EV_CURRENT) == EV_NONE)
                return -EIO;
        elf = elf_has_many_parts(fd) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
        if (!elf || elf_kind(elf) != ELF_K_ELF) {
                elf_endp(&elf);
                return probe_refuse(ret_error, "%s is no program or library", path);
        }
        *ret = elf;
        return 0;
}

bool elf_texts_are_sane(Elf *elf, size_t section, uint64_t max_bytes) {
        Elf_Scn *texts = elf_getscn(elf, section);
        const Elf_Data *data;
        GElf_Shdr header;

        if (!texts || !gelf_getshdr(texts, &header) || header.sh_type != SHT_STRTAB ||
            (header.sh_flags & SHF_COMPRESSED) || header.sh_size > max_bytes)
                return false;
        data = elf_getdata(texts, NULL);
        return data && data->d_size > 0 && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

bool elf_file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *ret) {
        size_t n;

        if (elf_getphdrnum(elf, &n) < 0)
                return false;
        for (size_t i = 0; i < n; i++) {
                GElf_Phdr segment;

                if (!gelf_getphdr(elf, (int)i, &segment))
                        return false;
                if (segment.p_type != PT_LOAD || (segment.p_flags & flags) != flags ||
                    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
                        continue;
                *ret = address - segment.p_vaddr + segment.p_offset;
                return true;
        }
        return false;
}
