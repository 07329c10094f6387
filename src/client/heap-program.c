/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Heap program: whether the library that counts allocations can be loaded into a program */

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

#define INTERPRETERS_MAX  5u /* scripts run by scripts; the kernel allows one less */
#define HEAD_BYTES        256u
#define SEGMENTS_MAX      128u
#define INTERPRETER_BYTES 256u

#define NATIVE_CLASS (sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32)

/* The first bytes of a file. */
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

/* The dynamic linker, run as a command, loads the program that it is given. */
static bool is_linker(const char *path) {
        g_autofree char *base = g_path_get_basename(path);

        return g_str_has_prefix(base, "ld-") || g_str_has_prefix(base, "ld.so");
}

typedef struct Interpreter {
        bool is_known;                /* the file could be read */
        char path[INTERPRETER_BYTES]; /* "": it asks for no dynamic linker */
} Interpreter;

static void read_interpreter(Interpreter *ret, int fd, const ElfW(Phdr) * segment) {
        const size_t n = MIN((size_t)segment->p_filesz, sizeof(ret->path) - 1);
        const ssize_t n_read = pread(fd, ret->path, n, (off_t)segment->p_offset);

        if (n_read <= 0)
                memcpy(ret->path, "?", sizeof("?"));
}

/* Finds the dynamic linker that a program asks for. If the file cannot be read, starting it will fail and say why. */
static Interpreter find_interpreter(const Head *head, int fd) {
        ElfW(Phdr) segments[SEGMENTS_MAX];
        const size_t n = MIN((size_t)head->elf.e_phnum, (size_t)SEGMENTS_MAX);
        const ssize_t n_bytes = (ssize_t)(n * sizeof(*segments));
        Interpreter interpreter = { 0 };

        if (head->elf.e_ident[EI_CLASS] != NATIVE_CLASS || n == 0 ||
            head->elf.e_phentsize != sizeof(*segments) ||
            pread(fd, segments, (size_t)n_bytes, (off_t)head->elf.e_phoff) != n_bytes)
                return interpreter;
        interpreter.is_known = true;
        for (size_t i = 0; i < n; i++)
                if (segments[i].p_type == PT_INTERP)
                        read_interpreter(&interpreter, fd, &segments[i]);
        return interpreter;
}

/* Cases in which the kernel ignores them. */
static bool is_without_privileges(const char *path) {
        struct statvfs fs;

        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
               (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID);
}

/* Other privileges that the kernel gives to the program. With them, the dynamic linker loads nothing that a user
 * names. */
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

/* Also finds the privileges of a program that nobody may read. */
static char *privileges_refusal(const char *path, const char *clean) {
        const char *privileges = other_privileges(path);

        if (!privileges)
                return NULL;
        return g_strdup_printf(_("%s runs with other privileges than yours (%s): nothing can be "
                                 "loaded into it, so its heap cannot be recorded"),
                               clean,
                               privileges);
}

static char *
elf_refusal(const char *path, const char *clean, const Head *head, int fd, const char *library) {
        const Interpreter interpreter = find_interpreter(head, fd);
        _cleanup_(fd_closep) int library_fd = -1;
        Head of_library;

        library_fd = open_head(&of_library, library);
        if (library_fd >= 0 && is_elf(&of_library) && !is_of_same_kind(head, &of_library))
                return g_strdup_printf(
                        _("%s is for another kind of processor, or of another ELF "
                          "class, than %s, which therefore cannot be loaded into it"),
                        clean,
                        library);
        if (interpreter.is_known && !*interpreter.path && !is_linker(path))
                return g_strdup_printf(_("%s is linked statically: nothing can be loaded into it, "
                                         "so its heap cannot be recorded"),
                                       clean);
        if (strstr(interpreter.path, "/ld-musl-"))
                return g_strdup_printf(_("%s has another C library (musl) than %s, which therefore "
                                         "cannot be loaded into it"),
                                       clean,
                                       library);
        return privileges_refusal(path, clean);
}

/* A script's own privileges have no effect. */
char *heap_program_refusal(const char *program, const char *library) {
        g_autofree char *path = g_strdup(program);

        for (unsigned i = 0; i < INTERPRETERS_MAX; i++) {
                g_autofree char *clean = say_clean(path, strlen(path));
                _cleanup_(fd_closep) int fd = -1;
                char *interpreter;
                Head head;

                fd = open_head(&head, path);
                if (fd < 0)
                        return privileges_refusal(path, clean);
                if (is_elf(&head))
                        return elf_refusal(path, clean, &head, fd, library);
                interpreter = interpreter_of(&head);
                if (!interpreter)
                        return NULL;
                g_free(path);
                path = interpreter;
        }
        return NULL;
}

ExitStatus heap_program_check(const char *name, const char *library) {
        g_autofree char *path = g_find_program_in_path(name);
        g_autofree char *refusal = path ? heap_program_refusal(path, library) : NULL;

        if (!refusal)
                return STATUS_OK;
        say_error("%s", refusal);
        return STATUS_FAILED;
}
