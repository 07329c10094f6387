/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Turns the config of linux.cgroup into what is read, and how often. */

#include <errno.h>
#include <string.h>

#include "probes/system/cgroup-probe.h"
#include "probes/system/cgroup-settings.h"
#include "probes/system/keyed-text.h"
#include "probes/system/sysfs.h"

static int set_files(CgroupSettings *settings, const CgroupConfig *config, char **ret_error) {
        uint32_t kinds = 0;

        for (size_t i = 0; i < config->n_counters; i++)
                if (config->counters[i] > 0 && (unsigned)config->counters[i] < _CGROUP_KIND_N)
                        kinds |= 1u << config->counters[i];
        if (config->n_counters == 0)
                kinds = UINT32_MAX;
        for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++)
                if (kinds & 1u << cgroup_files[file].kind)
                        settings->files |= 1u << file;
        if (settings->files == 0)
                return probe_refuse(ret_error,
                                    "\"counters\" names none that is known; leave "
                                    "it out to record all");
        return 0;
}

static int check_pattern(const char *pattern, char **ret_error) {
        if (pattern[0] == '\0' || strlen(pattern) > CGROUP_PATTERN_BYTES_MAX)
                return probe_refuse(ret_error,
                                    "a pattern in \"cgroups\" has %zu bytes; give 1 "
                                    "to %d",
                                    strlen(pattern),
                                    CGROUP_PATTERN_BYTES_MAX);
        return 0;
}

static int set_patterns(CgroupSettings *settings, const CgroupConfig *config, char **ret_error) {
        CgroupSelect *select = &settings->select;
        int r;

        if (config->n_cgroups == 0)
                return 0;
        if (config->n_cgroups > CGROUP_PATTERNS_MAX)
                return probe_refuse(ret_error,
                                    "\"cgroups\" has %zu patterns; give at most %d",
                                    config->n_cgroups,
                                    CGROUP_PATTERNS_MAX);
        select->patterns = calloc(config->n_cgroups, sizeof(*select->patterns));
        if (!select->patterns)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_cgroups; i++) {
                r = check_pattern(config->cgroups[i], ret_error);
                if (r != 0)
                        return r;
                select->patterns[i] = strdup(config->cgroups[i]);
                if (!select->patterns[i])
                        return -ENOMEM;
                select->n_patterns++;
        }
        return 0;
}

static int set_depth(CgroupSettings *settings, const CgroupConfig *config, char **ret_error) {
        settings->max_depth = config->has_max_depth ? config->max_depth : CGROUP_DEPTH_DEFAULT;
        if (settings->max_depth == 0 || settings->max_depth > CGROUP_DEPTH_MAX)
                return probe_refuse(ret_error,
                                    "max_depth is %u; give 1 to %d",
                                    settings->max_depth,
                                    CGROUP_DEPTH_MAX);
        return 0;
}

int cgroup_settings_init(CgroupSettings *ret, const CgroupConfig *config, char **ret_error) {
        static const CgroupConfig defaults = PERFETTO__PROTOS__CGROUP_CONFIG__INIT;
        uint32_t period_ms;
        int r;

        *ret = (CgroupSettings){};
        config = config ?: &defaults;
        period_ms = config->period_ms ?: CGROUP_PERIOD_MS_DEFAULT;
        ret->period_ns = MAX(period_ms, (uint32_t)CGROUP_PERIOD_MS_MIN) * PROBE_NS_PER_MS;
        r = set_files(ret, config, ret_error);
        if (r == 0)
                r = set_depth(ret, config, ret_error);
        if (r == 0)
                r = set_patterns(ret, config, ret_error);
        return r;
}

void cgroup_settings_deinit(CgroupSettings *settings) {
        for (size_t i = 0; i < settings->select.n_patterns; i++)
                free(settings->select.patterns[i]);
        free(settings->select.patterns);
        *settings = (CgroupSettings){};
}

/* Whether the kernel offers a controller to v2 at all. */
static bool has_controller(int top, const char *controller) {
        char text[SYSFS_TEXT_BYTES];
        Span line, word;

        if (sysfs_read(text, sizeof(text), top, "cgroup.controllers") < 0)
                return false;
        line = span_of(text, strlen(text));
        while (span_word(&line, &word))
                if (span_is(word, controller))
                        return true;
        return false;
}

void cgroup_note_missing(ProbeNotes *notes, int top, CgroupFile file) {
        const CgroupFileInfo *info = &cgroup_files[file];
        static const char *const accounting[] = { [CGROUP_KIND_MEMORY] = "DefaultMemoryAccounting",
                                                  [CGROUP_KIND_EVENTS] = "DefaultMemoryAccounting",
                                                  [CGROUP_KIND_PIDS] = "DefaultTasksAccounting",
                                                  [CGROUP_KIND_IO] = "DefaultIOAccounting" };

        if (!info->controller && info->kind == CGROUP_KIND_PRESSURE)
                probe_note(notes,
                           "no cgroup has %s; boot with psi=1 on the kernel's command line",
                           info->name);
        else if (!info->controller)
                probe_note(notes, "no cgroup has %s: this kernel is too old", info->name);
        else if (!has_controller(top, info->controller))
                probe_note(notes,
                           "no cgroup has %s: cgroup v1 has the controller \"%s\", "
                           "or the kernel has none; boot with systemd.unified_cgroup_hierarchy=1",
                           info->name,
                           info->controller);
        else
                probe_note(notes,
                           "no cgroup has %s: systemd does not account for it; set "
                           "%s=yes in /etc/systemd/system.conf",
                           info->name,
                           accounting[info->kind]);
}
