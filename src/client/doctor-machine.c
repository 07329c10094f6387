/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, machine: what the kernel, the installation and our environment allow */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "build-config.h"
#include "client/doctor-machine.h"
#include "shared/fd.h"
#include "shared/text.h"

#define SMALL_FILE_BYTES_MAX 4096
#define MOUNTS_BYTES_MAX     (1u << 20)

/*
 * Facts
 */

/* Without the newline at its end; NULL if it cannot be read. */
static char *read_line(int root, const char *path) {
        g_autofree char *line = NULL;
        char *text;

        if (fd_read_file(&text, NULL, root, path, SMALL_FILE_BYTES_MAX) < 0)
                return NULL;
        line = g_strndup(text, strcspn(text, "\n"));
        free(text);
        return g_steal_pointer(&line);
}

static int read_number(int root, const char *path) {
        g_autofree char *line = read_line(root, path);
        char *end;
        long value;

        if (!line)
                return MACHINE_UNKNOWN;
        value = strtol(line, &end, 10);
        return end == line || value < -1000 || value > 1000 ? MACHINE_UNKNOWN : (int)value;
}

static bool exists(int root, const char *path) {
        return faccessat(root, path[0] == '/' ? path + 1 : path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_socket(int root, const char *path) {
        struct stat info;

        return fstatat(root, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(info.st_mode);
}

/* "none [integrity] confidentiality" */
static char *read_lockdown(int root) {
        g_autofree char *line = read_line(root, "sys/kernel/security/lockdown");
        char *start = line ? strchr(line, '[') : NULL;
        char *end = start ? strchr(start, ']') : NULL;

        return end ? g_strndup(start + 1, (gsize)(end - start - 1)) : NULL;
}

static uint64_t read_capabilities(int root) {
        static const char key[] = "\nCapEff:";
        uint64_t value = 0;
        const char *at;
        char *text;

        if (fd_read_file(&text, NULL, root, "proc/self/status", SMALL_FILE_BYTES_MAX) < 0)
                return 0;
        at = strstr(text, key);
        if (at)
                value = g_ascii_strtoull(at + strlen(key), NULL, 16);
        free(text);
        return value;
}

static char *find_container(int root) {
        g_autofree char *manager = read_line(root, "run/systemd/container");

        if (manager && *manager)
                return g_steal_pointer(&manager);
        if (exists(root, ".dockerenv"))
                return g_strdup("docker");
        if (exists(root, "run/.containerenv"))
                return g_strdup("podman");
        return NULL;
}

/* A line of mountinfo: "… root place options … - type source super-options". */
static void read_mount(MachineFacts *facts, const char *line) {
        g_auto(GStrv) words = g_strsplit(line, " ", -1);
        const guint n = g_strv_length(words);
        const char *type = NULL, *super = "";

        for (guint i = 6; i + 3 < n + 0u; i++)
                if (streq(words[i], "-")) {
                        type = words[i + 1];
                        super = words[i + 3];
                        break;
                }
        if (!type)
                return;
        if (streq(type, "tracefs")) {
                facts->has_tracefs = true;
                facts->tracefs_is_read_only |= g_str_has_prefix(words[5], "ro");
        }
        if (streq(type, "proc") && streq(words[4], "/proc")) {
                facts->hides_processes = strstr(super, "hidepid=") && !strstr(super, "hidepid=0") &&
                                         !strstr(super, "hidepid=off");
                facts->has_partial_proc = strstr(super, "subset=pid");
        }
}

static void read_mounts(MachineFacts *facts, int root) {
        g_auto(GStrv) lines = NULL;
        char *text;

        if (fd_read_file(&text, NULL, root, "proc/self/mountinfo", MOUNTS_BYTES_MAX) < 0)
                return;
        lines = g_strsplit(text, "\n", -1);
        free(text);
        for (char **line = lines; *line; line++)
                read_mount(facts, *line);
}

static bool any_exists(int root, const char *const folders[], const char *name) {
        for (; *folders; folders++) {
                g_autofree char *path = g_strconcat(*folders, name, NULL);

                if (exists(root, path))
                        return true;
        }
        return false;
}

static void read_installation(MachineFacts *facts, int root) {
        static const char *const services[] = { "etc/dbus-1/system-services/",
                                                "run/dbus-1/system-services/",
                                                "usr/local/share/dbus-1/system-services/",
                                                "usr/share/dbus-1/system-services/",
                                                NULL };
        static const char *const policies[] = { "etc/dbus-1/system.d/",
                                                "usr/local/share/dbus-1/system.d/",
                                                "usr/share/dbus-1/system.d/",
                                                NULL };
        static const char *const actions[] = { "etc/polkit-1/actions/",
                                               "usr/local/share/polkit-1/actions/",
                                               "usr/share/polkit-1/actions/",
                                               NULL };
        static const char *const units[] = {
                "etc/systemd/system/",     "run/systemd/system/", "usr/local/lib/systemd/system/",
                "usr/lib/systemd/system/", "lib/systemd/system/", NULL
        };

        facts->has_bus_file = any_exists(root, services, "org.desktrace.Tracing1.service");
        facts->has_probes_socket = any_exists(root, units, "desktrace-probes.socket");
        facts->has_bus_policy = any_exists(root, policies, "org.desktrace.Tracing1.conf");
        facts->has_polkit_action = any_exists(root, actions, "org.desktrace.tracing1.policy");
        facts->has_probes = exists(root, PROBES_PATH);
        facts->has_native_socket = is_socket(root, "run/desktrace/native.sock");
        facts->has_producer_socket = is_socket(root, "run/perfetto/traced-producer.sock");
}

MachineFacts *machine_facts_new(int root, uint32_t uid) {
        MachineFacts *facts = g_new0(MachineFacts, 1);

        facts->uid = uid;
        facts->capabilities = read_capabilities(root);
        facts->container = find_container(root);
        facts->is_flatpak = exists(root, ".flatpak-info");
        facts->has_tracing_folder = exists(root, "sys/kernel/tracing");
        facts->lockdown = read_lockdown(root);
        facts->perf_event_paranoid = read_number(root, "proc/sys/kernel/perf_event_paranoid");
        facts->kptr_restrict = read_number(root, "proc/sys/kernel/kptr_restrict");
        facts->ptrace_scope = read_number(root, "proc/sys/kernel/yama/ptrace_scope");
        facts->has_journal = exists(root, "var/log/journal") || exists(root, "run/log/journal");
        read_mounts(facts, root);
        read_installation(facts, root);
        return facts;
}

MachineFacts *machine_facts_free(MachineFacts *facts) {
        if (!facts)
                return NULL;
        g_free(facts->container);
        g_free(facts->lockdown);
        g_free(facts);
        return NULL;
}

/*
 * Checks
 */

static bool has_capability(const MachineFacts *facts, int capability) {
        return facts->capabilities & UINT64_C(1) << capability;
}

static void check_place(DoctorReport *report, const MachineFacts *facts) {
        if (facts->is_flatpak)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "sandbox",
                           _("run desktrace outside of the sandbox, or give it "
                             "--system-talk-name=org.desktrace.Tracing1"),
                           _("this runs in a Flatpak's sandbox, and sees what that sees"));
        else if (facts->container)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "sandbox",
                           has_capability(facts, CAP_SYS_ADMIN)
                                   ? NULL
                                   : _("see docs/CONTAINERS.md; for kernel events run desktrace "
                                       "outside of the container"),
                           _("this is a container (%s)%s"),
                           facts->container,
                           has_capability(facts, CAP_SYS_ADMIN)
                                   ? ""
                                   : _(", without the rights to record the kernel"));
        else
                doctor_add(report, DOCTOR_OK, "sandbox", NULL, _("no container and no sandbox"));
}

static void check_tracefs(DoctorReport *report, const MachineFacts *facts) {
        if (!facts->has_tracing_folder)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "tracefs",
                           _("use a kernel that is built with CONFIG_TRACING, or mount sysfs"),
                           _("there is no /sys/kernel/tracing: kernel events cannot be recorded"));
        else if (!facts->has_tracefs)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "tracefs",
                           "sudo mount -t tracefs tracefs /sys/kernel/tracing",
                           _("tracefs is not mounted: kernel events cannot be recorded"));
        else if (facts->tracefs_is_read_only)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "tracefs",
                           "sudo mount -o remount,rw /sys/kernel/tracing",
                           _("tracefs is mounted read-only: kernel events cannot be recorded"));
        else
                doctor_add(report, DOCTOR_OK, "tracefs", NULL, _("mounted"));
}

static void check_lockdown(DoctorReport *report, const MachineFacts *facts) {
        if (facts->lockdown && streq(facts->lockdown, "confidentiality"))
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "lockdown",
                           _("boot without lockdown=confidentiality"),
                           _("the kernel is locked down for confidentiality: its events cannot be "
                             "recorded, not even by root"));
        else if (facts->lockdown)
                doctor_add(report,
                           DOCTOR_OK,
                           "lockdown",
                           NULL,
                           _("\"%s\" does not keep kernel events from being recorded"),
                           facts->lockdown);
        else
                doctor_add(report, DOCTOR_OK, "lockdown", NULL, _("this kernel has none"));
}

static void check_levels(DoctorReport *report, const MachineFacts *facts) {
        if (facts->kptr_restrict >= 2)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "kptr_restrict",
                           "sudo sysctl -w kernel.kptr_restrict=1",
                           _("%d hides the addresses of kernel functions from everybody: they are "
                             "recorded without names"),
                           facts->kptr_restrict);
        else if (facts->kptr_restrict != MACHINE_UNKNOWN)
                doctor_add(report,
                           DOCTOR_OK,
                           "kptr_restrict",
                           NULL,
                           _("%d: the probes can name kernel functions"),
                           facts->kptr_restrict);
        if (facts->perf_event_paranoid != MACHINE_UNKNOWN)
                doctor_add(report,
                           DOCTOR_OK,
                           "perf_events",
                           NULL,
                           _("perf_event_paranoid is %d, which does not restrict the probes: they "
                             "have CAP_PERFMON"),
                           facts->perf_event_paranoid);
        if (facts->ptrace_scope != MACHINE_UNKNOWN)
                doctor_add(report,
                           DOCTOR_OK,
                           "ptrace_scope",
                           NULL,
                           _("%d; nothing is recorded by attaching to a process"),
                           facts->ptrace_scope);
}

static void check_proc(DoctorReport *report, const MachineFacts *facts) {
        if (facts->has_partial_proc)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "proc",
                           "sudo mount -o remount,subset= /proc",
                           _("/proc shows processes only (subset=pid): memory and CPU counters are "
                             "missing"));
        else if (facts->hides_processes)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "proc",
                           NULL,
                           _("/proc hides other users' processes (hidepid): the probes see them, "
                             "\"record --standalone\" does not"));
        else
                doctor_add(report, DOCTOR_OK, "proc", NULL, _("everything is installed"));
}

static void check_journal(DoctorReport *report, const MachineFacts *facts) {
        if (facts->has_journal)
                doctor_add(report, DOCTOR_OK, "journal", NULL, _("there is one"));
        else
                doctor_add(
                        report,
                        DOCTOR_NOTE,
                        "journal",
                        "sudo systemctl start systemd-journald",
                        _("this machine has no journal: linux.systemd_journald records nothing"));
}

static void check_sockets(DoctorReport *report, const MachineFacts *facts) {
        if (facts->is_user_service)
                return;
        if (facts->has_native_socket)
                doctor_add(report, DOCTOR_OK, "socket", NULL, _("/run/desktrace/native.sock"));
        else
                doctor_add(report,
                           DOCTOR_NOTE,
                           "socket",
                           "sudo systemctl enable --now desktraced.socket",
                           _("there is no native socket: programs without a system bus, such as "
                             "those in containers, cannot be recorded"));
        if (facts->has_producer_socket)
                doctor_add(report,
                           DOCTOR_OK,
                           "perfetto",
                           NULL,
                           _("programs with Perfetto's SDK find a service at /run/perfetto"));
        else
                doctor_add(report,
                           DOCTOR_NOTE,
                           "perfetto",
                           "sudo systemctl enable --now desktraced-perfetto-producer.socket",
                           _("programs with Perfetto's SDK, such as Chromium, find no service"));
}

/* If the bus belongs to another machine (as in a container), nothing needs to be installed here. */
static void check_installation(DoctorReport *report, const MachineFacts *facts) {
        static const char remedy[] = N_("install Desktrace's package, or \"meson install\" with "
                                        "-Dprefix=/usr, then systemctl reload dbus");
        const struct {
                bool is_there;
                const char *what;
        } files[] = {
                { facts->has_bus_file, "org.desktrace.Tracing1.service" },
                { facts->has_bus_policy, "org.desktrace.Tracing1.conf" },
                { facts->has_polkit_action, "org.desktrace.tracing1.policy" },
                { facts->has_probes, PROBES_PATH },
                { facts->has_probes_socket, "desktrace-probes.socket" },
        };
        g_autoptr(GString) missing = g_string_new(NULL);

        if (facts->is_user_service)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (!files[i].is_there)
                        g_string_append_printf(
                                missing, "%s%s", missing->len > 0 ? ", " : "", files[i].what);
        if (missing->len > 0)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "installation",
                           _(remedy),
                           _("not installed where the system looks for it: %s"),
                           missing->str);
        else
                doctor_add(report,
                           DOCTOR_OK,
                           "installation",
                           NULL,
                           _("D-Bus activation, bus policy, polkit's actions and the probes"));
}

void machine_check(DoctorReport *report, const MachineFacts *facts) {
        static void (*const checks[])(DoctorReport * report, const MachineFacts *facts) = {
                check_installation, check_sockets, check_place, check_tracefs,
                check_lockdown,     check_levels,  check_proc,  check_journal,
        };

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
                checks[i](report, facts);
}

/*
 * Where recordings go
 */

OutputFacts *output_facts_new(const char *path) {
        OutputFacts *facts = g_new0(OutputFacts, 1);
        struct statvfs info;

        facts->path = g_strdup(path);
        if (statvfs(path, &info) < 0 || access(path, W_OK | X_OK) < 0)
                facts->error = errno;
        else
                facts->n_bytes_free = (uint64_t)info.f_bavail * info.f_frsize;
        return facts;
}

OutputFacts *output_facts_free(OutputFacts *facts) {
        if (!facts)
                return NULL;
        g_free(facts->path);
        g_free(facts);
        return NULL;
}

void output_check(DoctorReport *report, const OutputFacts *facts) {
        char size[TEXT_SIZE_BYTES];

        if (!facts)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "output",
                           "desktrace record -o /tmp/recording.pftrace",
                           _("the file system of this directory does not answer"));
        else if (facts->error)
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "output",
                           "desktrace record -o /tmp/recording.pftrace",
                           _("recordings go into %s by default, where nothing can be written: %s"),
                           facts->path,
                           g_strerror(facts->error));
        else
                doctor_add(report,
                           facts->n_bytes_free < OUTPUT_BYTES_MIN ? DOCTOR_NOTE : DOCTOR_OK,
                           "output",
                           NULL,
                           _("recordings go into %s by default, which has room for %s"),
                           facts->path,
                           text_format_size(size, facts->n_bytes_free));
}
