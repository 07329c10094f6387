/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What polkit and its rules are told of a config's own probes. */

#include "config/probe-definitions.h"
#include "test.h"

static char *definitions_of(const char *ftrace, bool *ret_defines) {
        _cleanup_(config_freep) Config *config = NULL;
        char text[1024];
        Bytes bytes = {};
        ConfigError error;

        snprintf(text,
                 sizeof(text),
                 "data_sources { config { name: 'linux.ftrace' ftrace_config { %s } } }",
                 ftrace);
        ck_assert_msg(
                config_new_from_text(&config, text, &error) == 0, "%s: %s", text, error.message);
        ck_assert_int_eq(config_append_probe_definitions(&bytes, config), 0);
        ck_assert_int_eq(bytes_append(&bytes, "", 1), 0);
        *ret_defines = config_defines_probes(config);
        return (char *)bytes.data;
}

START_TEST(test_each_definition_is_a_line) {
        static const struct {
                const char *config, *text;
        } cases[] = {
                { "ftrace_events: 'sched/sched_switch'", "" },
                { "event_filters { event: 'a/b' filter: 'pid > 1' }", "" },
                { "kprobe_events { probe: 'vfs_read' }", "kprobe entry vfs_read\n" },
                { "kprobe_events { probe: 'vfs_read' name: 'x' type: KPROBE_TYPE_BOTH }",
                  "kprobe entry+return vfs_read\n" },
                { "kprobe_events { probe: 'f+4' args: 'a=%di' args: 'b=+0($stack):string' }",
                  "kprobe entry f+4 with a=%di b=+0($stack):string\n" },
                { "uprobe_events { path: '/bin/sh' symbol: 'main' type: KPROBE_TYPE_KRETPROBE }",
                  "uprobe return /bin/sh symbol=main\n" },
                { "uprobe_events { path: '/bin/sh' offset: 4660 }",
                  "uprobe entry /bin/sh offset=0x1234\n" },
                { "uprobe_events { path: '/bin/sh' }", "uprobe entry /bin/sh offset=0x0\n" },
                { "uprobe_events { path: '/bin/sh' usdt: 'a:*' args: '$arg1' }",
                  "uprobe entry /bin/sh usdt=a:* with $arg1\n" },
                { "event_filters { event: 'a/b' filter: 'f.ustring ~ \"/etc/*\"' }",
                  "filter a/b f.ustring\\x20~\\x20\"/etc/*\"\n" },
                { "kprobe_events { probe: 'a' } uprobe_events { path: '/b' symbol: 'c' }",
                  "kprobe entry a\nuprobe entry /b symbol=c\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                bool defines;
                char *text = definitions_of(cases[i].config, &defines);

                ck_assert_str_eq(text, cases[i].text);
                ck_assert(defines == (cases[i].text[0] != 0));
                free(text);
        }
}
END_TEST

START_TEST(test_nothing_in_a_name_makes_it_look_like_another) {
        static const char *const pairs[][2] = {
                { "kprobe_events { probe: 'a\\nkprobe entry b' }",
                  "kprobe_events { probe: 'a' } kprobe_events { probe: 'b' }" },
                { "kprobe_events { probe: 'a with b' }", "kprobe_events { probe: 'a' args: 'b' }" },
                { "uprobe_events { path: '/b symbol=c' }",
                  "uprobe_events { path: '/b' symbol: 'c' }" },
                { "uprobe_events { path: '/b' usdt: 'c' args: 'symbol=d' }",
                  "uprobe_events { path: '/b' usdt: 'c' symbol: 'd' }" },
                { "uprobe_events { path: '/b' symbol: 'offset=0x0' }",
                  "uprobe_events { path: '/b' symbol: '' offset: 0 }" },
                { "kprobe_events { probe: 'a\\\\x20b' }", "kprobe_events { probe: 'a b' }" },
                { "kprobe_events { probe: 'a\\x1b[2J' }", "kprobe_events { probe: 'a' }" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
                bool defines;
                char *a = definitions_of(pairs[i][0], &defines);
                char *b = definitions_of(pairs[i][1], &defines);

                ck_assert_str_ne(a, b);
                for (const char *at = a; *at; at++)
                        ck_assert(*at == '\n' || (*at >= ' ' && *at < 127));
                free(a);
                free(b);
        }
}
END_TEST

TEST_MAIN("probe-definitions",
          test_each_definition_is_a_line,
          test_nothing_in_a_name_makes_it_look_like_another)
