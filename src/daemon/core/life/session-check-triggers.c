/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of trigger_config. */

#include <errno.h>

#include "core/life/check.h"

typedef Perfetto__Protos__TraceConfig__TriggerConfig TriggerConfig;

#define MODE(name) PERFETTO__PROTOS__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

bool check_has_triggers(const ConfigPb *config) {
        return config->trigger_config && config->trigger_config->trigger_mode != MODE(UNSPECIFIED);
}

/* An unknown mode comes from a newer version of the config. Ignoring it would surprise the user. */
int check_trigger_mode(const Check *check) {
        const TriggerConfig *config = check->config->trigger_config;
        const int mode = config ? (int)config->trigger_mode : MODE(UNSPECIFIED);

        if (!config)
                return 0;
        if (mode != MODE(UNSPECIFIED) && mode != MODE(START_TRACING) &&
            mode != MODE(STOP_TRACING) && mode != MODE(CLONE_SNAPSHOT))
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "trigger_config.trigger_mode %d is unknown: it must be "
                                    "START_TRACING, STOP_TRACING or CLONE_SNAPSHOT",
                                    mode);
        if (mode == MODE(UNSPECIFIED) && config->n_triggers > 0)
                return check_refuse(
                        check,
                        SESSION_E_CONFIG,
                        "trigger_config has triggers but no trigger_mode to say what they do");
        if (config->use_clone_snapshot_if_available && mode != MODE(STOP_TRACING))
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "trigger_config.use_clone_snapshot_if_available requires "
                                    "trigger_mode STOP_TRACING");
        return 0;
}

int check_trigger_times(const Check *check) {
        const char *limit;
        const uint64_t max_ms = check_duration_max_ms(check, &limit);

        if (!check_has_triggers(check->config))
                return 0;
        if (check->config->trigger_config->trigger_timeout_ms == 0)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "trigger_config.trigger_timeout_ms is not set: a session with "
                                    "triggers must say how long it waits for them");
        if (check->config->duration_ms > 0)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "duration_ms and trigger_config are mutually exclusive: "
                                    "trigger_timeout_ms and stop_delay_ms set the duration");
        return check_range(check,
                           "trigger_config.trigger_timeout_ms",
                           check->config->trigger_config->trigger_timeout_ms,
                           max_ms,
                           limit);
}

/* Such a session gives out its data only after a trigger, if ever, so there is nothing to stream before that. */
int check_trigger_output(const Check *check) {
        if (!check_has_triggers(check->config) || !check->config->write_into_file ||
            check->config->trigger_config->trigger_mode == MODE(START_TRACING))
                return 0;
        return check_refuse(check,
                            SESSION_E_CONFIG,
                            "write_into_file and triggers of mode STOP_TRACING or CLONE_SNAPSHOT "
                            "are mutually exclusive: read the session, or its clone, at the end");
}

static int check_trigger_name(const Check *check, size_t i) {
        const TriggerConfig *config = check->config->trigger_config;
        const char *name = config->triggers[i]->name;
        int r;

        if (!name || !name[0])
                return check_refuse(
                        check, SESSION_E_CONFIG, "trigger_config.triggers[%zu] has no name", i);
        r = check_range(check,
                        "the length of a trigger's name",
                        strlen(name),
                        TRIGGER_NAME_MAX,
                        "TRIGGER_NAME_MAX");
        if (r)
                return r;
        for (size_t k = 0; k < i; k++)
                if (streq(config->triggers[k]->name, name))
                        return check_refuse(
                                check, SESSION_E_CONFIG, "two triggers are named \"%.128s\"", name);
        return 0;
}

static int
check_trigger_regex(const Check *check,
                    const Perfetto__Protos__TraceConfig__TriggerConfig__Trigger *trigger) {
        char why[PATTERN_WHY_BYTES] = "";
        Pattern *pattern;
        int r;

        if (!trigger->producer_name_regex || !trigger->producer_name_regex[0])
                return 0;
        r = pattern_new(&pattern, trigger->producer_name_regex, why);
        if (r == -EINVAL)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "trigger \"%.64s\": producer_name_regex: %s",
                                    trigger->name,
                                    why);
        if (r < 0)
                return r;
        pattern_free(pattern);
        return 0;
}

static int check_trigger(const Check *check, size_t i) {
        const Perfetto__Protos__TraceConfig__TriggerConfig__Trigger *trigger =
                check->config->trigger_config->triggers[i];
        int r;

        r = check_trigger_name(check, i);
        if (r)
                return r;
        r = check_trigger_regex(check, trigger);
        if (r)
                return r;
        if (!(trigger->skip_probability >= 0 && trigger->skip_probability <= 1)) /* or no number */
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "trigger \"%.64s\": skip_probability %g is not between 0 and 1",
                                    trigger->name,
                                    trigger->skip_probability);
        return check_range(check,
                           "stop_delay_ms",
                           trigger->stop_delay_ms,
                           SESSION_DURATION_MAX_MS,
                           "SESSION_DURATION_MAX_MS");
}

int check_triggers(const Check *check) {
        const TriggerConfig *config = check->config->trigger_config;
        int r;

        if (!config)
                return 0;
        r = check_range(check,
                        "the number of triggers",
                        config->n_triggers,
                        SESSION_TRIGGERS_MAX,
                        "SESSION_TRIGGERS_MAX");
        for (size_t i = 0; i < config->n_triggers && r == 0; i++)
                r = check_trigger(check, i);
        return r;
}
