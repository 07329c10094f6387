/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/heap-program.h"

#include <elf.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "client/say.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define INTERPRETERS_MAX 5u /* scripts that run scripts; the kernel has one less */
#define HEAD_BYTES       256u
#define SEGMENTS_MAX     128u

#define NATIVE_CLASS (sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32)

/* What a file begins with. */
typedef struct Head {
        union {
                char text[HEAD_BYTES];
                ElfW(Ehdr) elf;
        };
        size_t n_bytes;
} Head;

static int open_head(Head *ret, const char *path) {
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, ret->text, sizeof(ret->text) - 1);

        if (n < 0)
                return -1;
        ret->n_bytes = (size_t)n;
        ret->text[n] = '\0';
        return TAKE_FD(fd);
}

static bool is_elf(const Head *head) {
        return head->n_bytes >= sizeof(head->elf) && memcmp(head->text, ELFMAG, SELFMAG) == 0;
}

/* The path behind "#!"; NULL: it is no script. */
static char *interpreter_of(const Head *head) {
        const char *begin;

        if (head->n_bytes < 2 || head->text[0] != '#' || head->text[1] != '!')
                return NULL;
        begin = head->text + 2 + strspn(head->text + 2, " \t");
        return g_strndup(begin, strcspn(begin, " \t\r\n"));
}

static bool is_of_same_kind(const Head *program, const Head *library) {
        return program->elf.e_ident[EI_CLASS] == library->elf.e_ident[EI_CLASS] &&
               program->elf.e_ident[EI_DATA] == library->elf.e_ident[EI_DATA] &&
               program->elf.e_machine == library->elf.e_machine;
}

/* The dynamic linker itself, as a command, loads what it is told to. */
static bool is_linker(const char *path) {
        g_autofree char *base = g_path_get_basename(path);

        return g_str_has_prefix(base, "ld-") || g_str_has_prefix(base, "ld.so");
}

/* One that asks for no dynamic linker. What cannot be read is left to those who start it. */
static bool is_static(const Head *head, int fd) {
        ElfW(Phdr) segments[SEGMENTS_MAX];
        const size_t n = MIN((size_t)head->elf.e_phnum, (size_t)SEGMENTS_MAX);
        const ssize_t n_bytes = (ssize_t)(n * sizeof(*segments));

        if (head->elf.e_ident[EI_CLASS] != NATIVE_CLASS || n == 0 ||
            head->elf.e_phentsize != sizeof(*segments) ||
            pread(fd, segments, (size_t)n_bytes, (off_t)head->elf.e_phoff) != n_bytes)
                return false;
        for (size_t i = 0; i < n; i++)
                if (segments[i].p_type == PT_INTERP)
                        return false;
        return true;
}

/* What the kernel would not heed. */
static bool is_without_privileges(const char *path) {
        struct statvfs fs;

        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
               (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID);
}

/* Which other privileges the kernel gives to it, for which the dynamic linker does not load what a user says. */
static const char *other_privileges(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0 || is_without_privileges(path))
                return NULL;
        if (st.st_mode & S_ISUID && st.st_uid != getuid())
                return "setuid";
        if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
                return "setgid";
        if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
                return _("file capabilities");
        return NULL;
}

/* Also of one that nobody may read. */
static ExitStatus check_privileges(const char *path, const char *clean) {
        const char *privileges = other_privileges(path);

        if (!privileges)
                return STATUS_OK;
        say_error(_("%s runs with other privileges than yours (%s): nothing can be loaded into it, "
                    "so its heap cannot be recorded"),
                  clean,
                  privileges);
        return STATUS_FAILED;
}

static ExitStatus
check_elf(const char *path, const char *clean, const Head *head, int fd, const char *library) {
        _cleanup_(fd_closep) int library_fd = -1;
        Head of_library;

        library_fd = open_head(&of_library, library);
        if (library_fd >= 0 && is_elf(&of_library) && !is_of_same_kind(head, &of_library))
                say_error(_("%s is for another kind of processor, or of another ELF class, than "
                            "%s, which therefore cannot be loaded into it"),
                          clean,
                          library);
        else if (is_static(head, fd) && !is_linker(path))
                say_error(_("%s is linked statically: nothing can be loaded into it, so its heap "
                            "cannot be recorded"),
                          clean);
        else
                return check_privileges(path, clean);
        return STATUS_FAILED;
}

/* A script's own privileges count for nothing. */
ExitStatus heap_program_check(const char *name, const char *library) {
        g_autofree char *path = g_find_program_in_path(name);

        for (unsigned i = 0; path && i < INTERPRETERS_MAX; i++) {
                g_autofree char *clean = say_clean(path, strlen(path));
                _cleanup_(fd_closep) int fd = -1;
                char *interpreter;
                Head head;

                fd = open_head(&head, path);
                if (fd < 0)
                        return check_privileges(path, clean);
                if (is_elf(&head))
                        return check_elf(path, clean, &head, fd, library);
                interpreter = interpreter_of(&head);
                g_free(path);
                path = interpreter;
        }
        return STATUS_OK;
}
