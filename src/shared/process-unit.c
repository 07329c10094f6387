/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A path is read from its root, part by part. Slices and then one unit belong to the system's manager. If that unit
 * is a user's manager or a session, slices and one more unit follow. Whatever is below belongs to the unit itself,
 * except for containers.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/process-unit.h"

#define PART_INIT(s) \
        { s, sizeof(s) - 1 }
#define PART(s)            ((PathPart)PART_INIT(s))
#define CONTAINER_HASH_MIN 12 /* digits; managers also shorten longer ids to this */

static PathPart next_part(PathPart *path) {
        PathPart part;

        while (path->n > 0 && *path->text == '/')
                path->text++, path->n--;
        part.text = path->text;
        for (part.n = 0; part.n < path->n && part.text[part.n] != '/';)
                part.n++;
        path->text += part.n;
        path->n -= part.n;
        return part;
}

static bool starts_with(PathPart part, PathPart prefix) {
        return part.n >= prefix.n && memcmp(part.text, prefix.text, prefix.n) == 0;
}

static bool ends_with(PathPart part, PathPart suffix) {
        return part.n >= suffix.n &&
               memcmp(part.text + part.n - suffix.n, suffix.text, suffix.n) == 0;
}

static bool is(PathPart part, PathPart text) {
        return part.n == text.n && starts_with(part, text);
}

/* Both return false and leave the part unchanged if the text is not there. */
static bool skip_prefix(PathPart *part, PathPart prefix) {
        if (!starts_with(*part, prefix))
                return false;
        part->text += prefix.n;
        part->n -= prefix.n;
        return true;
}

static bool skip_suffix(PathPart *part, PathPart suffix) {
        if (!ends_with(*part, suffix))
                return false;
        part->n -= suffix.n;
        return true;
}

/* Cuts off everything up to and including the first `separator`. */
static bool split_first(PathPart *part, char separator, PathPart *ret_first) {
        const char *at = part->n > 0 ? memchr(part->text, separator, part->n) : NULL;

        if (!at)
                return false;
        *ret_first = (PathPart){ part->text, (size_t)(at - part->text) };
        part->n -= ret_first->n + 1;
        part->text = at + 1;
        return true;
}

static bool split_last(PathPart *part, char separator, PathPart *ret_last) {
        const char *at = part->n > 0 ? memrchr(part->text, separator, part->n) : NULL;

        if (!at)
                return false;
        *ret_last = (PathPart){ at + 1, part->n - (size_t)(at - part->text) - 1 };
        part->n = (size_t)(at - part->text);
        return true;
}

static bool all_are(PathPart part, int (*is_one)(int)) {
        for (size_t i = 0; i < part.n; i++)
                if (!is_one((unsigned char)part.text[i]))
                        return false;
        return part.n > 0;
}

static int hex_value(char c) {
        const char *digits = "0123456789abcdef";
        const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Undoes systemd's escaping of names: "\x2d" is the character with this number. */
static void unescape(char ret[static PROCESS_UNIT_NAME_BYTES], PathPart part) {
        size_t n = 0;

        for (size_t i = 0; i < part.n && n < PROCESS_UNIT_NAME_BYTES - 1; i++) {
                char c = part.text[i];

                if (c == '\\' && i + 3 < part.n && part.text[i + 1] == 'x' &&
                    hex_value(part.text[i + 2]) >= 0 && hex_value(part.text[i + 3]) >= 0) {
                        c = (char)(hex_value(part.text[i + 2]) << 4 | hex_value(part.text[i + 3]));
                        i += 3;
                }
                if (c)
                        ret[n++] = c;
        }
        ret[n] = '\0';
}

/*
 * Units
 */

static int is_unit_character(int c) {
        return isascii(c) && (isalnum(c) || strchr(":-_.\\@", c));
}

static bool is_unit_of(PathPart part, PathPart suffix) {
        const PathPart all = part;

        /* "a@.service" is a template from which units are instantiated. */
        return skip_suffix(&part, suffix) && part.n > 0 && all.n < PROCESS_UNIT_NAME_BYTES &&
               part.text[0] != '@' && part.text[part.n - 1] != '@' &&
               all_are(all, is_unit_character);
}

static bool is_slice(PathPart part) {
        return is_unit_of(part, PART(".slice"));
}

static bool is_unit(PathPart part) {
        static const PathPart suffixes[] = {
                PART_INIT(".service"),   PART_INIT(".scope"), PART_INIT(".socket"),
                PART_INIT(".mount"),     PART_INIT(".swap"),  PART_INIT(".device"),
                PART_INIT(".target"),    PART_INIT(".timer"), PART_INIT(".path"),
                PART_INIT(".automount"),
        };

        for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
                if (is_unit_of(part, suffixes[i]))
                        return true;
        return false;
}

/* systemd puts a "_" in front of names that could be mistaken for files of the kernel. */
static PathPart next_manager_part(PathPart *path) {
        PathPart part = next_part(path);

        (void)skip_prefix(&part, PART("_"));
        return part;
}

/* The part of the path that one manager made; the rest of the path begins after its unit. */
static void take_manager(PathPart *path, PathPart *ret_slice, PathPart *ret_unit) {
        PathPart slice = {}, part = next_manager_part(path);

        for (; is_slice(part); part = next_manager_part(path))
                slice = part;
        if (is_unit(part)) {
                *ret_unit = part;
                *ret_slice = slice.n > 0 ? slice : PART("-.slice");
        } else {
                *ret_slice = slice;
        }
}

static bool has_manager(PathPart unit) {
        if (skip_prefix(&unit, PART("user@")))
                return skip_suffix(&unit, PART(".service")) && all_are(unit, isdigit);
        if (skip_prefix(&unit, PART("capsule@")))
                return skip_suffix(&unit, PART(".service")) && unit.n > 0;
        return skip_prefix(&unit, PART("session-")) && skip_suffix(&unit, PART(".scope")) &&
               all_are(unit, isalnum);
}

/*
 * Apps
 */

static void set_app(ProcessUnit *unit, const char *kind, PathPart id) {
        unescape(unit->app_id, id);
        unit->app_kind = unit->app_id[0] ? kind : "";
}

/* "app-LAUNCHER-ID-RANDOM.scope", "app-LAUNCHER-ID@RANDOM.service". The launcher may be missing in both, the
 * random part in the latter. Ids have no "-", unless somebody forgot to escape it. */
static bool take_desktop_app(ProcessUnit *unit, PathPart name) {
        PathPart launcher = {}, random;

        if (!skip_prefix(&name, PART("app-")))
                return false;
        if (skip_suffix(&name, PART(".scope"))) {
                if (!split_last(&name, '-', &random))
                        return false;
        } else if (skip_suffix(&name, PART(".service"))) {
                (void)split_last(&name, '@', &random);
        } else {
                return false;
        }
        (void)split_first(&name, '-', &launcher);
        set_app(unit, is(launcher, PART("flatpak")) ? "flatpak" : "", name);
        return true;
}

/* "app-LAUNCHER-ID-RANDOM.slice", likewise. The user's manager also makes "app-NAME.slice" for each
 * "NAME@.service", so only what looks like the id of an app is taken for one. */
static void take_slice_app(ProcessUnit *unit, PathPart name) {
        PathPart without, random, launcher;

        if (!skip_prefix(&name, PART("app-")) || !skip_suffix(&name, PART(".slice")))
                return;
        without = name;
        if (split_last(&without, '-', &random) && all_are(random, isxdigit))
                name = without;
        (void)split_first(&name, '-', &launcher);
        if (name.n > 0 && memchr(name.text, '.', name.n) && !memchr(name.text, '\\', name.n))
                set_app(unit, "", name);
}

/* "snap.NAME.APP-UUID.scope" or with a "." before the UUID; "snap.NAME.APP.service". */
static bool take_snap(ProcessUnit *unit, PathPart name) {
        PathPart id;

        if (!skip_prefix(&name, PART("snap.")) || !split_first(&name, '.', &id) ||
            !(ends_with(name, PART(".scope")) || ends_with(name, PART(".service"))))
                return false;
        set_app(unit, "snap", id);
        return true;
}

/* Before there was a convention: "gnome-launched-ID.desktop-PID.scope", "flatpak-ID-PID.scope". */
static bool take_old_app(ProcessUnit *unit, PathPart name) {
        bool is_flatpak = skip_prefix(&name, PART("flatpak-"));
        PathPart random;

        if (!is_flatpak && !skip_prefix(&name, PART("gnome-launched-")))
                return false;
        if (!skip_suffix(&name, PART(".scope")) || !split_last(&name, '-', &random))
                return false;
        (void)skip_suffix(&name, PART(".desktop"));
        set_app(unit, is_flatpak ? "flatpak" : "", name);
        return true;
}

static void take_app(ProcessUnit *unit) {
        PathPart own = unit->user_unit.n > 0 ? unit->user_unit : unit->unit;

        /* Processes that an app starts in scopes of their own, as terminals do, are in the app's slice. */
        if (!take_desktop_app(unit, own) && !take_snap(unit, own) && !take_old_app(unit, own))
                take_slice_app(unit, unit->user_slice);
}

/*
 * Containers
 */

/* Containers whose path is one part: PREFIX, then a name or a hash, then SUFFIX. */
static const struct {
        PathPart prefix, suffix;
        const char *kind;
        bool is_hash;
} container_parts[] = {
        { PART_INIT("docker-"), PART_INIT(".scope"), "docker", true },
        { PART_INIT("libpod-"), PART_INIT(".scope"), "podman", true },
        { PART_INIT("libpod-"), PART_INIT(""), "podman", true },
        { PART_INIT("libpod-payload-"), PART_INIT(""), "podman", true },
        { PART_INIT("cri-containerd-"), PART_INIT(".scope"), "containerd", true },
        { PART_INIT("nerdctl-"), PART_INIT(".scope"), "containerd", true },
        { PART_INIT("crio-"), PART_INIT(".scope"), "cri-o", true },
        { PART_INIT("crio-"), PART_INIT(""), "cri-o", true },
        { PART_INIT("systemd-nspawn@"), PART_INIT(".service"), "nspawn", false },
        { PART_INIT("machine-"), PART_INIT(".scope"), "machine", false },
        { PART_INIT("lxc.payload."), PART_INIT(""), "lxc", false },
};

/* Containers whose path is two parts: PARENT, and the name or the hash. */
static const struct {
        PathPart parent;
        const char *kind;
        bool is_hash;
} container_parents[] = {
        { PART_INIT("docker"), "docker", true },
        { PART_INIT("lxc"), "lxc", false },
        { PART_INIT("lxc.payload"), "lxc", false },
};

static bool set_container(ProcessUnit *unit, const char *kind, bool is_hash, PathPart name) {
        if (name.n == 0 || (is_hash && (name.n < CONTAINER_HASH_MIN || !all_are(name, isxdigit))))
                return false;
        unescape(unit->container, name);
        unit->container_kind = unit->container[0] ? kind : "";
        return true;
}

static bool take_container_part(ProcessUnit *unit, PathPart part) {
        for (size_t i = 0; i < ARRAY_SIZE(container_parts); i++) {
                PathPart name = part;

                if (skip_prefix(&name, container_parts[i].prefix) &&
                    skip_suffix(&name, container_parts[i].suffix) &&
                    set_container(unit, container_parts[i].kind, container_parts[i].is_hash, name))
                        return true;
        }
        return false;
}

static bool take_container_child(ProcessUnit *unit, PathPart parent, PathPart part) {
        for (size_t i = 0; i < ARRAY_SIZE(container_parents); i++)
                if (is(parent, container_parents[i].parent))
                        return set_container(unit,
                                             container_parents[i].kind,
                                             container_parents[i].is_hash,
                                             part);
        return false;
}

/* The innermost match counts. A container's supervisor is in the container's cgroup, but not in the container. */
static void take_container(ProcessUnit *unit, PathPart path) {
        PathPart parent = {}, part;

        while ((part = next_part(&path)).n > 0) {
                PathPart rest = path;

                if (!is(next_part(&rest), PART("supervisor")) && !take_container_part(unit, part))
                        (void)take_container_child(unit, parent, part);
                parent = part;
        }
}

/*
 * The whole
 */

void process_unit_parse_path(ProcessUnit *ret, const char *path, size_t n) {
        PathPart rest = { path, n };

        *ret = (ProcessUnit){ .app_kind = "", .container_kind = "" };
        (void)skip_suffix(&rest, PART(" (deleted)"));
        ret->cgroup = rest;
        /* The kernel shows a cgroup outside of our cgroup namespace like this. */
        while (skip_prefix(&rest, PART("/..")))
                ;
        take_container(ret, rest);
        take_manager(&rest, &ret->slice, &ret->unit);
        if (has_manager(ret->unit))
                take_manager(&rest, &ret->user_slice, &ret->user_unit);
        take_app(ret);
}

bool process_unit_parse(ProcessUnit *ret, const char *text) {
        PathPart all = { text, strlen(text) }, line, path = PART(""), unified = PART("");

        /* "4:memory:/a/b", "1:name=systemd:/a/b", "0::/a/b". systemd's own hierarchy is the unified one, or on older
         * machines the named one, beside which a unified one may be empty. */
        while (split_first(&all, '\n', &line)) {
                PathPart number, controllers;

                if (!split_first(&line, ':', &number) || !split_first(&line, ':', &controllers))
                        continue;
                if (is(controllers, PART("name=systemd")))
                        path = line;
                else if (controllers.n == 0)
                        unified = line;
        }
        if (path.n <= 1)
                path = unified.n > 0 ? unified : path;
        process_unit_parse_path(ret, path.text, path.n);
        return path.n > 1;
}

/* The part of a container's hash that people use. */
static int label_container(char ret[static PROCESS_LABEL_BYTES], const ProcessUnit *unit) {
        bool is_hash = all_are((PathPart){ unit->container, strlen(unit->container) }, isxdigit);

        return snprintf(ret,
                        PROCESS_LABEL_BYTES,
                        "%s %.*s",
                        unit->container_kind,
                        is_hash ? CONTAINER_HASH_MIN : PROCESS_UNIT_NAME_BYTES,
                        unit->container);
}

size_t process_unit_labels(const ProcessUnit *unit, char ret[][PROCESS_LABEL_BYTES]) {
        PathPart own = unit->user_unit.n > 0 ? unit->user_unit : unit->unit;
        size_t n = 0;

        if (unit->container[0])
                label_container(ret[n++], unit);
        if (unit->app_id[0])
                snprintf(ret[n++],
                         PROCESS_LABEL_BYTES,
                         "%s%s%s",
                         unit->app_kind,
                         unit->app_kind[0] ? " " : "",
                         unit->app_id);
        else if (own.n > 0 && !unit->container[0])
                snprintf(ret[n++], PROCESS_LABEL_BYTES, "%.*s", (int)own.n, own.text);
        return n;
}
