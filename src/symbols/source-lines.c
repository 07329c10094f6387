/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The tool's input and output are files in memory, so that neither side waits for the other. For each address the
 * output has the address in hexadecimal, followed by pairs of a function, and the file and line in it.
 */

#include "symbols/source-lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/macro.h"

#define ADDRESS_BYTES 24 /* a number in hexadecimal and a line break */
#define ELF_FD        3  /* of the tool */

extern char **environ;

static int write_addresses(int fd, const uint64_t *addresses, size_t n) {
        char *text = malloc(n * ADDRESS_BYTES + 1);
        size_t n_bytes = 0;
        int r;

        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                n_bytes += (size_t)snprintf(
                        text + n_bytes, ADDRESS_BYTES, "0x%" PRIx64 "\n", addresses[i]);
        r = fd_write_all(fd, text, n_bytes);
        free(text);
        return r < 0 ? r : lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

static int wait_for_tool(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
                return -ENOENT;
        return 0; /* output before a failure is as good as any other */
}

static int run_tool(int questions, int answers, int elf_fd) {
        static const char *const arguments[] = {
                SOURCE_LINES_TOOL,
                "--addresses",
                "--functions",
                "--inlines",
                "--exe=/proc/self/fd/3", /* ELF_FD */
                NULL,
        };
        posix_spawn_file_actions_t actions;
        pid_t pid;
        int r;

        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        r = posix_spawn_file_actions_adddup2(&actions, questions, STDIN_FILENO);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, answers, STDOUT_FILENO);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, elf_fd, ELF_FD);
        r = r ? r
              : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        r = r ? r
              : posix_spawnp(&pid,
                             SOURCE_LINES_TOOL,
                             &actions,
                             NULL,
                             (char *const *)(uintptr_t)arguments,
                             environ);
        posix_spawn_file_actions_destroy(&actions);
        return r ? -r : wait_for_tool(pid);
}

static int read_answers(SourceLines *lines, int fd) {
        const off_t n_bytes = lseek(fd, 0, SEEK_END);
        size_t n = n_bytes > 0 ? (size_t)MIN((uint64_t)n_bytes, SOURCE_LINES_BYTES_MAX) : 0;
        ssize_t n_read;

        lines->text = malloc(n + 1);
        if (!lines->text)
                return -ENOMEM;
        n_read = pread(fd, lines->text, n, 0);
        lines->at = lines->text;
        lines->end = lines->text + (n_read > 0 ? n_read : 0);
        *lines->end = '\0';
        return 0;
}

/* Moves it above the tool's own descriptors. */
static int move_up(int fd) {
        return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ELF_FD + 1);
}

static int memory_file(const char *name) {
        _cleanup_(fd_closep) int fd = memfd_create(name, MFD_CLOEXEC);

        return move_up(fd);
}

int source_lines_load(SourceLines *ret, int elf_fd, const uint64_t *addresses, size_t n) {
        _cleanup_(fd_closep) int questions = memory_file("addresses"),
                                 answers = memory_file("lines"), file = move_up(elf_fd);
        int r;

        *ret = (SourceLines){ 0 };
        if (questions < 0 || answers < 0 || file < 0)
                return -EMFILE;
        r = write_addresses(questions, addresses, n);
        if (r == 0)
                r = run_tool(questions, answers, file);
        return r ? r : read_answers(ret, answers);
}

void source_lines_deinit(SourceLines *lines) {
        free(lines->text);
        *lines = (SourceLines){ 0 };
}

/* The next line, terminated in place; NULL: there is none. */
static char *next_line(SourceLines *lines) {
        char *line = lines->at, *end;

        if (!line || line >= lines->end)
                return NULL;
        end = memchr(line, '\n', (size_t)(lines->end - line));
        lines->at = end ? end + 1 : lines->end;
        if (end)
                *end = '\0';
        return line;
}

static bool is_address(const char *line, uint64_t *ret) {
        char *end;

        if (!line || line[0] != '0' || line[1] != 'x')
                return false;
        errno = 0;
        *ret = strtoull(line + 2, &end, 16);
        return errno == 0 && end > line + 2 && *end == '\0';
}

static bool at_address(const SourceLines *lines) {
        return lines->at && lines->end - lines->at > 2 && lines->at[0] == '0' &&
               lines->at[1] == 'x';
}

/* "FILE:LINE", perhaps with a discriminator of the compiler's: " (discriminator 3)". */
static void take_place(SourceLine *line, char *text) {
        char *colon = text ? strrchr(text, ':') : NULL;
        unsigned long number;

        if (!colon || text[0] == '?')
                return;
        *colon = '\0';
        number = strtoul(colon + 1, NULL, 10);
        line->file = text;
        line->line = number < UINT32_MAX ? (uint32_t)number : 0;
}

static bool find_address(SourceLines *lines, uint64_t address) {
        uint64_t found;
        char *line;

        while ((line = next_line(lines)))
                if (is_address(line, &found) && found == address)
                        return true;
        return false;
}

size_t
source_lines_find(SourceLines *lines, uint64_t address, SourceLine ret[static SOURCE_LINES_MAX]) {
        bool is_known = false;
        size_t n = 0;

        if (!find_address(lines, address))
                return 0;
        while (n < SOURCE_LINES_MAX && !at_address(lines)) {
                char *function = next_line(lines);

                if (!function)
                        break;
                ret[n] = (SourceLine){ .function = function[0] == '?' ? NULL : function };
                take_place(&ret[n], next_line(lines));
                is_known |= ret[n++].file != NULL;
        }
        return is_known ? n : 0;
}
