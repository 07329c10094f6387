/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A plugin with a category of its own, for life-app.
 */

#include <desktrace/track-event.h>

DT_CATEGORY(plugin, "life.plugin", "What comes and goes with its code");

__attribute__((__visibility__("default"))) void life_plugin_emit(void);

void life_plugin_emit(void) {
        DT_INSTANT(plugin, "beat", DT_STRING_INTERNED("by", "plugin"));
}
