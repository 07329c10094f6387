/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <stdio.h>

#include "shared/macro.h"
#include "shared/process-unit.h"

#define HASH "3f2a9c1d5e7b40868f6d2c1a0b9e8d7c6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c"
#define USER "/user.slice/user-1000.slice/user@1000.service"

/* What is NULL is not there. */
typedef struct UnitCase {
        const char *path;
        const char *unit, *slice, *user_unit, *user_slice;
        const char *app, *container; /* "KIND ID" */
} UnitCase;

static void check_part(const char *path, const char *what, PathPart part, const char *expected) {
        ck_assert_msg(part.n == strlen(expected ?: "") &&
                              memcmp(part.text ?: "", expected ?: "", part.n) == 0,
                      "%s: %s is %.*s, not %s",
                      path,
                      what,
                      (int)part.n,
                      part.text ?: "",
                      expected ?: "nothing");
}

static void check_pair(const char *path, const char *kind, const char *id, const char *expected) {
        char text[PROCESS_LABEL_BYTES];

        snprintf(text, sizeof(text), "%s%s%s", kind, kind[0] ? " " : "", id);
        ck_assert_msg(streq(text, expected ?: ""), "%s: %s, not %s", path, text, expected ?: "");
}

static void check_cases(const UnitCase *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const UnitCase *c = &cases[i];
                ProcessUnit unit;

                process_unit_parse_path(&unit, c->path, strlen(c->path));
                check_part(c->path, "unit", unit.unit, c->unit);
                check_part(c->path, "slice", unit.slice, c->slice);
                check_part(c->path, "user unit", unit.user_unit, c->user_unit);
                check_part(c->path, "user slice", unit.user_slice, c->user_slice);
                check_pair(c->path, unit.app_kind, unit.app_id, c->app);
                check_pair(c->path, unit.container_kind, unit.container, c->container);
        }
}

/* As sd_pid_get_unit(3), sd_pid_get_user_unit(3) and sd_pid_get_slice(3) have it, but that a root slice without a
 * unit is none. */
static const UnitCase unit_cases[] = {
        { "/" },
        { "" },
        { "/init.scope", "init.scope", "-.slice" },
        { "/system.slice/ssh.service", "ssh.service", "system.slice" },
        { "/system.slice/system-getty.slice/getty@tty1.service",
          "getty@tty1.service",
          "system-getty.slice" },
        { "/system.slice/dev-hugepages.mount", "dev-hugepages.mount", "system.slice" },
        { "/system.slice/cups.socket/helper", "cups.socket", "system.slice" },
        { "/system.slice/a.service/below/b.service", "a.service", "system.slice" },
        { "/system.slice/systemd-udevd.service/udev", "systemd-udevd.service", "system.slice" },
        { "/system.slice/dev\\x2dsda.swap", "dev\\x2dsda.swap", "system.slice" },
        { "/user.slice/user-1000.slice/session-2.scope", "session-2.scope", "user-1000.slice" },
        { "/user.slice/user-42.slice/session-c1.scope", "session-c1.scope", "user-42.slice" },
        { USER "/init.scope", "user@1000.service", "user-1000.slice", "init.scope", "-.slice" },
        { USER "/session.slice/org.gnome.Shell@wayland.service",
          "user@1000.service",
          "user-1000.slice",
          "org.gnome.Shell@wayland.service",
          "session.slice" },
        { USER "/app.slice/app-sway.slice/foot.service",
          "user@1000.service",
          "user-1000.slice",
          "foot.service",
          "app-sway.slice" },
        { USER, "user@1000.service", "user-1000.slice" },
        { USER "/app.slice", "user@1000.service", "user-1000.slice", NULL, "app.slice" },
        { "/capsule.slice/capsule@x.service/app.slice/y.service",
          "capsule@x.service",
          "capsule.slice",
          "y.service",
          "app.slice" },
        /* Only slices, something below them that is no unit, names that are none. */
        { "/system.slice", NULL, "system.slice" },
        { "/system.slice/below", NULL, "system.slice" },
        { "/a@.service" },
        { "/.service" },
        { "/@x.service" },
        { "/a b.service" },
        { "/a.service.d" },
        { "/foo/ssh.service" },
        { "/user@x.service/app.slice/y.service", "user@x.service", "-.slice" },
        /* What would be a file's name is escaped; seen from below; gone. */
        { "/system.slice/_cgroup.service", "cgroup.service", "system.slice" },
        { "/../../system.slice/ssh.service", "ssh.service", "system.slice" },
        { "/system.slice/ssh.service (deleted)", "ssh.service", "system.slice" },
        { "//system.slice//ssh.service/", "ssh.service", "system.slice" },
};

START_TEST(test_units_are_those_of_both_managers) {
        check_cases(unit_cases, ARRAY_SIZE(unit_cases));
}
END_TEST

#define APP_CASE(name, app) \
        { USER "/app.slice/" name, "user@1000.service", "user-1000.slice", name, "app.slice", app }

static const UnitCase app_cases[] = {
        APP_CASE("app-gnome-org.gnome.Nautilus-4711.scope", "org.gnome.Nautilus"),
        APP_CASE("app-org.kde.dolphin-2c3d.scope", "org.kde.dolphin"),
        APP_CASE("app-org.kde.konsole@0badcafe.service", "org.kde.konsole"),
        APP_CASE("app-org.kde.krunner.service", "org.kde.krunner"),
        APP_CASE("app-gnome-gnome\\x2dkeyring\\x2dssh@autostart.service", "gnome-keyring-ssh"),
        APP_CASE("app-flatpak-org.mozilla.firefox-12345.scope", "flatpak org.mozilla.firefox"),
        APP_CASE("app-flatpak-io.github.Foo\\x2dBar-9.scope", "flatpak io.github.Foo-Bar"),
        APP_CASE("app-flatpak-io.github.Foo-Bar-9.scope", "flatpak io.github.Foo-Bar"),
        APP_CASE("snap.firefox.firefox-2f1e.scope", "snap firefox"),
        APP_CASE("snap.code_two.code.0a1b-2c3d.scope", "snap code_two"),
        APP_CASE("gnome-launched-org.gnome.gedit.desktop-3141.scope", "org.gnome.gedit"),
        APP_CASE("flatpak-org.gnome.Builder-77.scope", "flatpak org.gnome.Builder"),
        APP_CASE("dbus-:1.2-org.gnome.Calendar@0.service", NULL),
        APP_CASE("app-nothing.scope", NULL),
        APP_CASE("app-.service", NULL),
        APP_CASE("run-u12.service", NULL),
        APP_CASE("snap.service", NULL),
        { "/system.slice/snap.lxd.daemon.service",
          "snap.lxd.daemon.service",
          "system.slice",
          NULL,
          NULL,
          "snap lxd" },
        /* A terminal's shells are the terminal's. */
        { USER "/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0a1b2c3d.scope",
          "user@1000.service",
          "user-1000.slice",
          "vte-spawn-0a1b2c3d.scope",
          "app-org.gnome.Terminal.slice",
          "org.gnome.Terminal" },
        { USER "/app.slice/app-gnome-org.gnome.Ptyxis-99.slice/tab.scope",
          "user@1000.service",
          "user-1000.slice",
          "tab.scope",
          "app-gnome-org.gnome.Ptyxis-99.slice",
          "org.gnome.Ptyxis" },
        /* But not each slice of an instance. */
        { USER "/app.slice/app-ssh\\x2dagent.slice/ssh-agent@1.service",
          "user@1000.service",
          "user-1000.slice",
          "ssh-agent@1.service",
          "app-ssh\\x2dagent.slice" },
};

START_TEST(test_apps_are_found_by_the_names_of_their_units) {
        check_cases(app_cases, ARRAY_SIZE(app_cases));
}
END_TEST

static const UnitCase container_cases[] = {
        { "/system.slice/docker-" HASH ".scope",
          "docker-" HASH ".scope",
          "system.slice",
          .container = "docker " HASH },
        { "/docker/" HASH "/below", .container = "docker " HASH },
        { "/docker/buildx" },
        { "/machine.slice/libpod-" HASH ".scope/container",
          "libpod-" HASH ".scope",
          "machine.slice",
          .container = "podman " HASH },
        { "/machine.slice/libpod-conmon-" HASH ".scope",
          "libpod-conmon-" HASH ".scope",
          "machine.slice" },
        { USER "/user.slice/libpod-" HASH ".scope/container",
          "user@1000.service",
          "user-1000.slice",
          "libpod-" HASH ".scope",
          "user.slice",
          .container = "podman " HASH },
        { USER "/app.slice/web.service/libpod-payload-" HASH,
          "user@1000.service",
          "user-1000.slice",
          "web.service",
          "app.slice",
          .container = "podman " HASH },
        { "/libpod_parent/libpod-" HASH, .container = "podman " HASH },
        { "/kubepods.slice/kubepods-burstable.slice/cri-containerd-" HASH ".scope",
          "cri-containerd-" HASH ".scope",
          "kubepods-burstable.slice",
          .container = "containerd " HASH },
        { "/kubepods.slice/crio-" HASH ".scope/container",
          "crio-" HASH ".scope",
          "kubepods.slice",
          .container = "cri-o " HASH },
        { "/machine.slice/systemd-nspawn@deb\\x2d12.service/payload/system.slice/cron.service",
          "systemd-nspawn@deb\\x2d12.service",
          "machine.slice",
          .container = "nspawn deb-12" },
        { "/machine.slice/systemd-nspawn@deb.service/supervisor",
          "systemd-nspawn@deb.service",
          "machine.slice" },
        { "/machine.slice/machine-qemu\\x2d1\\x2dfedora.scope/libvirt/emulator",
          "machine-qemu\\x2d1\\x2dfedora.scope",
          "machine.slice",
          .container = "machine qemu-1-fedora" },
        { "/lxc.payload.web/system.slice/nginx.service", .container = "lxc web" },
        { "/lxc/web", .container = "lxc web" },
        { "/lxc.monitor.web" },
        /* The innermost; a name that only begins like one. */
        { "/lxc.payload.web/docker/" HASH, .container = "docker " HASH },
        { "/system.slice/docker-proxy.scope", "docker-proxy.scope", "system.slice" },
        { "/system.slice/docker.service", "docker.service", "system.slice" },
};

START_TEST(test_containers_are_found_by_the_names_of_their_cgroups) {
        check_cases(container_cases, ARRAY_SIZE(container_cases));
}
END_TEST

START_TEST(test_the_path_of_systemds_hierarchy_counts) {
        static const struct {
                const char *text, *path; /* NULL: none */
        } cases[] = {
                { "0::/system.slice/a.service\n", "/system.slice/a.service" },
                { "2:cpu:/b\n1:name=systemd:/system.slice/a.service\n0::/\n",
                  "/system.slice/a.service" },
                { "12:cpu,cpuacct:/b\n1:name=systemd:/docker/x\n0::/system.slice/"
                  "containerd.service\n",
                  "/docker/x" },
                { "2:cpu:/b\n1:name=systemd:/\n0::/a.service\n", "/a.service" },
                { "1:name=systemd:/\n0::/\n", NULL },
                { "9:name=elogind:/3\n", NULL },
                { "0::/with:colons/a.service\n", "/with:colons/a.service" },
                { "", NULL },
                { "\n\n::\n:\n0:\n", NULL },
                { "0::/cut off", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ProcessUnit unit;

                ck_assert_int_eq(process_unit_parse(&unit, cases[i].text), cases[i].path != NULL);
                if (cases[i].path)
                        check_part(cases[i].text, "cgroup", unit.cgroup, cases[i].path);
        }
}
END_TEST

static void check_labels(const char *path, const char *first, const char *second) {
        char labels[PROCESS_LABELS_MAX][PROCESS_LABEL_BYTES];
        ProcessUnit unit;
        size_t n;

        process_unit_parse_path(&unit, path, strlen(path));
        n = process_unit_labels(&unit, labels);
        ck_assert_uint_eq(n, (first != NULL) + (second != NULL));
        ck_assert_str_eq(n > 0 ? labels[0] : "", first ?: "");
        ck_assert_str_eq(n > 1 ? labels[1] : "", second ?: "");
}

START_TEST(test_labels_say_the_most_telling_thing) {
        check_labels("/", NULL, NULL);
        check_labels("/system.slice/ssh.service", "ssh.service", NULL);
        check_labels(USER "/session.slice/pipewire.service", "pipewire.service", NULL);
        check_labels(
                USER "/app.slice/app-flatpak-org.gimp.GIMP-1.scope", "flatpak org.gimp.GIMP", NULL);
        check_labels("/docker/" HASH, "docker 3f2a9c1d5e7b", NULL);
        check_labels("/lxc.payload.web/x", "lxc web", NULL);
        check_labels(USER "/app.slice/app-org.gnome.Boxes-1.scope/lxc/inner",
                     "lxc inner",
                     "org.gnome.Boxes");
}
END_TEST

/* Names longer than any unit's, in each place. */
START_TEST(test_long_names_are_cut_or_not_taken) {
        char path[4096], labels[PROCESS_LABELS_MAX][PROCESS_LABEL_BYTES];
        ProcessUnit unit;
        size_t n;

        n = (size_t)snprintf(
                path, sizeof(path), "/lxc.payload.%0*d/app-%0*d.service", 999, 1, 999, 1);
        process_unit_parse_path(&unit, path, n);
        ck_assert_uint_eq(strlen(unit.container), PROCESS_UNIT_NAME_BYTES - 1);
        ck_assert_uint_eq(unit.unit.n, 0);
        ck_assert_uint_eq(process_unit_labels(&unit, labels), 1);

        n = (size_t)snprintf(path, sizeof(path), "/app-%0*d-1.scope", PROCESS_UNIT_NAME_BYTES, 1);
        process_unit_parse_path(&unit, path, n);
        ck_assert_uint_eq(unit.unit.n, 0);
        ck_assert_str_eq(unit.app_id, "");
}
END_TEST

TEST_MAIN("process-unit",
          test_units_are_those_of_both_managers,
          test_apps_are_found_by_the_names_of_their_units,
          test_containers_are_found_by_the_names_of_their_cgroups,
          test_the_path_of_systemds_hierarchy_counts,
          test_labels_say_the_most_telling_thing,
          test_long_names_are_cut_or_not_taken)
