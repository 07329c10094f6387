/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Presets: predefined configs, found by name
 *
 * A preset is a file NAME.pbtxt (text format) whose first line is a comment with a one-line description. Presets are
 * searched in $DESKTRACE_PRESET_PATH (colon-separated) if set, else in /etc/desktrace/presets, /run/desktrace/presets
 * and the installed directory; the first match wins, as with systemd's files.
 */

#include <stddef.h>

#include "config/config.h"

typedef struct Preset {
        char *name;
        char *description;
} Preset;

#define PRESET_NAME_MAX 64 /* letters, digits, '-' and '_' */

enum {
        _PRESET_E_SUCCESS,
        PRESET_E_UNKNOWN, /* no preset of that name; error->message names the nearest one */
        PRESET_E_INVALID, /* it is not a valid config; *error says where */
};

/* All presets, sorted by name. Free with presets_free(). */
int presets_list(Preset **ret, size_t *ret_n);
void presets_free(Preset *presets, size_t n);

/* Where they are looked for. */
const char *presets_path(void);

int preset_load(Config **ret, const char *name, ConfigError *error);
