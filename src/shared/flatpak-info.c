/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flatpak info: the app that a sandboxed process belongs to, from the file /.flatpak-info in its root */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/flatpak-info.h"
#include "shared/macro.h"

#define INFO_BYTES_MAX      (16u << 10)
#define FDINFO_BYTES_MAX    4096
#define MOUNTINFO_BYTES_MAX (256u << 10)
#define PATH_BYTES          64

static const char *next_line(const char *line) {
        line = strchrnul(line, '\n');
        return line + (*line == '\n');
}

static bool line_is(const char *line, const char *text) {
        return strncmp(line, text, strlen(text)) == 0 && strcspn(line, "\n") == strlen(text);
}

static bool take_id(char ret[static FLATPAK_APP_ID_BYTES], const char *value) {
        size_t n = strcspn(value, "\n");

        if (n == 0 || n >= FLATPAK_APP_ID_BYTES)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isascii((unsigned char)value[i]) ||
                    !(isalnum((unsigned char)value[i]) || strchr("._-", value[i])))
                        return false;
        memcpy(ret, value, n);
        ret[n] = '\0';
        return true;
}

bool flatpak_info_parse(char ret[static FLATPAK_APP_ID_BYTES], const char *text) {
        static const char key[] = "name=";
        bool is_in_group = false;

        for (; *text; text = next_line(text))
                if (*text == '[')
                        is_in_group = line_is(text, "[Application]");
                else if (is_in_group && strncmp(text, key, strlen(key)) == 0)
                        return take_id(ret, text + strlen(key));
        return false;
}

/* "36 35 98:0 /root /mount/point rw shared:1 - ext4 /dev/sda1 rw": blanks in paths are escaped. */
bool flatpak_mount_is_tmpfs(const char *mountinfo, long mount_id) {
        static const char separator[] = " - ", type[] = "tmpfs ";

        for (; *mountinfo; mountinfo = next_line(mountinfo)) {
                const char *end = strchrnul(mountinfo, '\n'), *at;
                char *behind;

                /* strtoull() may read past the end of a line. */
                if (!isdigit((unsigned char)*mountinfo) ||
                    strtol(mountinfo, &behind, 10) != mount_id || *behind != ' ')
                        continue;
                at = memmem(behind, (size_t)(end - behind), separator, strlen(separator));
                return at && strncmp(at + strlen(separator), type, strlen(type)) == 0;
        }
        return false;
}

/* The number of the mount that a descriptor is in, which the kernel knows without asking the file system. -1 if
 * it is not known. */
static long mount_of(int fd) {
        _cleanup_(freep) char *text = NULL;
        char path[PATH_BYTES];
        const char *line;

        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        if (fd_read_file(&text, NULL, AT_FDCWD, path, FDINFO_BYTES_MAX) < 0)
                return -1;
        for (line = text; *line; line = next_line(line))
                if (strncmp(line, "mnt_id:", strlen("mnt_id:")) == 0)
                        return strtol(line + strlen("mnt_id:"), NULL, 10);
        return -1;
}

/* While the descriptor is open, its mount keeps its number. */
static bool is_in_tmpfs(int fd, int proc_fd, pid_t pid) {
        _cleanup_(freep) char *text = NULL;
        char path[PATH_BYTES];
        long mount_id = mount_of(fd);

        snprintf(path, sizeof(path), "%d/mountinfo", pid);
        return mount_id >= 0 &&
               fd_read_file(&text, NULL, proc_fd, path, MOUNTINFO_BYTES_MAX) == 0 &&
               flatpak_mount_is_tmpfs(text, mount_id);
}

/* Succeeds only if the kernel has the name in its cache, as it has that of each mount. Anybody who may write to a
 * directory can hold its lock for any time, and so hold up everybody who looks up other names in it. */
static int open_known(int dir_fd, const char *name) {
        struct open_how how = {
                .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                .resolve = RESOLVE_CACHED | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };

        return (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
}

/* O_PATH asks a file system only for the directories on the way, and this path has none. */
static int open_info(int proc_fd, pid_t pid) {
        _cleanup_(fd_closep) int root_fd = -1, info_fd = -1;
        char path[PATH_BYTES];
        struct stat st;

        snprintf(path, sizeof(path), "%d/root", pid);
        root_fd = openat(proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root_fd < 0 || !is_in_tmpfs(root_fd, proc_fd, pid))
                return -EPERM;
        info_fd = open_known(root_fd, ".flatpak-info");
        if (info_fd < 0 || !is_in_tmpfs(info_fd, proc_fd, pid))
                return -EPERM;
        if (fstat(info_fd, &st) < 0 || !S_ISREG(st.st_mode))
                return -EPERM;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", info_fd);
        /* Non-blocking: the file's owner may hold a lease on it (fcntl(2)), and make others wait for most of a
         * minute. */
        return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool flatpak_info_read(char ret[static FLATPAK_APP_ID_BYTES], int proc_fd, pid_t pid) {
        _cleanup_(fd_closep) int fd = open_info(proc_fd, pid);
        _cleanup_(freep) char *text = NULL;

        return fd >= 0 && fd_read_all(&text, NULL, fd, INFO_BYTES_MAX) == 0 &&
               flatpak_info_parse(ret, text);
}
