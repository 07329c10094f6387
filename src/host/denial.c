/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Denial: why the kernel refused to open a file, and what the user can do */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/denial.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define STATUS_BYTES 8192
#define LINE_BYTES   256
#define LOCKDOWN     "sys/kernel/security/lockdown" /* "none [integrity] confidentiality" */
#define MODULES      "sys/kernel/security/lsm"      /* "lockdown,capability,yama,apparmor" */

static const struct {
        int capability;
        const char *name;
} capability_names[] = {
        { CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
        { CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
        { CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
        { CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
        { CAP_SYSLOG, "CAP_SYSLOG" },
};

static const char *capability_name(int capability) {
        for (size_t i = 0; i < ARRAY_SIZE(capability_names); i++)
                if (capability_names[i].capability == capability)
                        return capability_names[i].name;
        return "a capability";
}

int denial_open_root(void) {
        int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* Not faccessat(3): on older kernels it only compares the file's permissions and knows nothing of capabilities. */
int denial_check(int dir, const char *path, int mode) {
        if (syscall(SYS_faccessat2, dir, path, mode, AT_EACCESS) == 0 || errno == ENOSYS)
                return 0;
        return -errno;
}

bool denial_has_capability(int root, int capability) {
        _cleanup_(freep) char *status = NULL;
        const char *line;

        if (fd_read_file(&status, NULL, root, "proc/self/status", STATUS_BYTES) < 0)
                return false;
        line = strstr(status, "\nCapEff:");
        return line && strtoull(line + strlen("\nCapEff:"), NULL, 16) >> capability & 1;
}

bool denial_is_locked_down(int root) {
        _cleanup_(freep) char *text = NULL;

        return fd_read_file(&text, NULL, root, LOCKDOWN, LINE_BYTES) == 0 &&
               strstr(text, "[confidentiality]");
}

/* The active security modules that may forbid what a file's permissions allow: "apparmor, landlock". */
static void list_modules(char ret[static LINE_BYTES], int root) {
        static const char *const known[] = { "selinux", "apparmor", "smack",
                                             "tomoyo",  "bpf",      "landlock" };
        _cleanup_(freep) char *text = NULL;
        size_t n = 0;

        ret[0] = '\0';
        if (fd_read_file(&text, NULL, root, MODULES, LINE_BYTES) < 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (strstr(text, known[i]))
                        n += (size_t)snprintf(
                                ret + n, LINE_BYTES - n, "%s%s", n > 0 ? ", " : "", known[i]);
}

/* Writes a clause that follows the one with the error's name. */
static void denial_put(char ret[static DENIAL_BYTES], const char *format, ...) _printf_(2, 3);

static void denial_put(char ret[static DENIAL_BYTES], const char *format, ...) {
        va_list arguments;

        strcpy(ret, "; ");
        va_start(arguments, format);
        vsnprintf(ret + 2, DENIAL_BYTES - 2, format, arguments);
        va_end(arguments);
}

static void explain_modules(char ret[static DENIAL_BYTES], int root, int capability) {
        char modules[LINE_BYTES];

        list_modules(modules, root);
        if (modules[0])
                denial_put(ret,
                           "%s is there, so a security module (%s) forbids it: look for a denial "
                           "in the kernel's log",
                           capability_name(capability),
                           modules);
        else
                denial_put(ret,
                           "%s is there, so a security module forbids it: look for a denial in "
                           "the kernel's log",
                           capability_name(capability));
}

static void explain_forbidden(char ret[static DENIAL_BYTES], int root, int error, int capability) {
        if (error == EPERM && denial_is_locked_down(root))
                denial_put(ret,
                           "the kernel is locked down for confidentiality (/%s), which forbids "
                           "it: boot without lockdown, or Secure Boot",
                           LOCKDOWN);
        else if (!denial_has_capability(root, capability))
                denial_put(ret,
                           "this needs %s, which this program does not have: run it as root, or "
                           "as the system's service",
                           capability_name(capability));
        else
                explain_modules(ret, root, capability);
}

void denial_explain(char ret[static DENIAL_BYTES], int root, int error, int capability) {
        ret[0] = '\0';
        if (error == EPERM || error == EACCES)
                explain_forbidden(ret, root, error, capability);
        else if (error == EROFS)
                denial_put(ret,
                           "it is mounted read-only here: remount it with rw, or make it writable "
                           "in the container or unit");
        else if (error == ENOENT)
                denial_put(ret, "this kernel does not offer it");
}
