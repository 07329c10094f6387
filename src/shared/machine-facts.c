/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Machine facts: what distinguishes machines whose recordings are looked at together, from files of the system */

#include "shared/machine-facts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shared/fd.h"

/* Everything needed is at the beginning: on a machine with many processors the whole list is long. */
#define HEAD_BYTES 8192

static bool read_head(int root, const char *path, char *ret) {
        _cleanup_(fd_closep) int fd =
                openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        ssize_t n = fd < 0 ? -1 : read(fd, ret, HEAD_BYTES - 1);

        ret[n > 0 ? n : 0] = '\0';
        return n > 0;
}

/* The rest of the line from `text` on, without surrounding blanks. */
static void take_value(char *ret, const char *text) {
        static const char around[] = " \t\"'";
        size_t n;

        text += strspn(text, around);
        n = strcspn(text, "\n");
        while (n > 0 && strchr(around, text[n - 1]))
                n--;
        n = MIN(n, (size_t)MACHINE_FACT_BYTES - 1);
        memcpy(ret, text, n);
        ret[n] = '\0';
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)ret[i] < ' ' || (unsigned char)ret[i] >= 0x7f)
                        ret[i] = '?';
}

/* The value of the first line that begins with the key, blanks, and the separator. */
static void find_value(char *ret, const char *text, const char *key, char separator) {
        const size_t n_key = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                const char *after;

                line += *line == '\n';
                if (strncmp(line, key, n_key) != 0)
                        continue;
                after = line + n_key + strspn(line + n_key, " \t");
                if (*after != separator)
                        continue;
                take_value(ret, after + 1);
                return;
        }
}

static void read_os(MachineFacts *ret, int root) {
        static const char *const paths[] = { "etc/os-release", "usr/lib/os-release" };
        char text[HEAD_BYTES];

        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                if (read_head(root, paths[i], text)) {
                        find_value(ret->os_id, text, "ID", '=');
                        find_value(ret->os_version, text, "VERSION_ID", '=');
                        return;
                }
}

#define BOOT_ID_DIGITS 32

void machine_facts_set_boot_id(MachineFacts *facts, const char *text) {
        size_t n = 0;

        for (; *text && n <= BOOT_ID_DIGITS; text++)
                if (*text != '-')
                        facts->boot_id[n++] = *text;
        facts->boot_id[n] = '\0';
        if (n != BOOT_ID_DIGITS || strspn(facts->boot_id, "0123456789abcdef") != n)
                facts->boot_id[0] = '\0';
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Three calls with 16 letters each. */
void machine_facts_ask_processor(MachineFacts *facts) {
        unsigned words[13] = { 0 };

        for (unsigned i = 0; i < 3; i++)
                if (!__get_cpuid(0x80000002 + i,
                                 &words[i * 4],
                                 &words[i * 4 + 1],
                                 &words[i * 4 + 2],
                                 &words[i * 4 + 3]))
                        return;
        take_value(facts->cpu_model, (const char *)words);
}
#else
void machine_facts_ask_processor(MachineFacts *facts) {
}
#endif

void machine_facts_read(MachineFacts *ret, const char *path) {
        _cleanup_(fd_closep) int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char text[HEAD_BYTES], id[MACHINE_FACT_BYTES] = "";

        *ret = (MachineFacts){ 0 };
        if (read_head(root, "proc/sys/kernel/random/boot_id", text))
                take_value(id, text);
        machine_facts_set_boot_id(ret, id);
        read_os(ret, root);
        if (read_head(root, "proc/cpuinfo", text))
                find_value(ret->cpu_model, text, "model name", ':');
}
