/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "host/packet-list.h"
#include "probes/system/journal-entry.h"
#include "probes/system/journald-probe.h"
#include "tree.h"

typedef Perfetto__Protos__SystemdJournaldConfig JournaldConfig;

static uint8_t memory[256 << 10];

typedef struct Case {
        JournalFilter filter;
        JournalEntry entry;
        WireWriter wire;
        WireReader event;
} Case;

static void begin(Case *c, const JournaldConfig *config) {
        *c = (Case){};
        wire_writer_init(&c->wire, memory, sizeof(memory));
        ck_assert_int_eq(journal_filter_init(&c->filter, config), 0);
        journal_entry_begin(&c->entry, &c->filter, &c->wire);
}

static void add(Case *c, const char *field) {
        journal_entry_add(&c->entry, field, strlen(field));
}

/* Whether it is wanted. */
static bool end(Case *c) {
        bool is_wanted = journal_entry_end(&c->entry);

        ck_assert(!wire_writer_failed(&c->wire));
        wire_reader_init(&c->event, memory, wire_writer_size(&c->wire));
        journal_filter_deinit(&c->filter);
        return is_wanted;
}

/* Whether an entry of one field, or two, is wanted. */
static bool is_wanted(const JournaldConfig *config, const char *field, const char *other) {
        Case c;

        begin(&c, config);
        add(&c, field);
        if (other)
                add(&c, other);
        return end(&c);
}

START_TEST(test_an_entry_tells_who_logged_what) {
        Case c;

        begin(&c, NULL);
        add(&c, "_PID=812");
        add(&c, "_UID=1000");
        add(&c, "_GID=100");
        add(&c, "PRIORITY=3");
        add(&c, "SYSLOG_IDENTIFIER=gnome-shell");
        add(&c, "MESSAGE=it is = broken");
        add(&c, "_COMM=gnome-shell");
        add(&c, "_EXE=/usr/bin/gnome-shell");
        add(&c, "_SYSTEMD_UNIT=user@1000.service");
        add(&c, "_HOSTNAME=desk");
        add(&c, "_TRANSPORT=stdout");
        add(&c, "CODE_FILE=x.c");
        ck_assert(end(&c));
        ck_assert_uint_eq(message_uint(c.event, 1), 812);
        ck_assert_uint_eq(message_uint(c.event, 3), 1000);
        ck_assert_uint_eq(message_uint(c.event, 4), 100);
        ck_assert_uint_eq(message_uint(c.event, 5), 3);
        ck_assert(message_has_text(c.event, 6, "gnome-shell"));
        ck_assert(message_has_text(c.event, 7, "it is = broken"));
        ck_assert(message_has_text(c.event, 8, "gnome-shell"));
        ck_assert(message_has_text(c.event, 9, "/usr/bin/gnome-shell"));
        ck_assert(message_has_text(c.event, 10, "user@1000.service"));
        ck_assert(message_has_text(c.event, 11, "desk"));
        ck_assert(message_has_text(c.event, 12, "stdout"));
}
END_TEST

START_TEST(test_a_users_unit_counts_before_the_users_manager_in_either_order) {
        static const char *const fields[] = { "_SYSTEMD_UNIT=user@1000.service",
                                              "_SYSTEMD_USER_UNIT=app-editor.scope" };

        for (size_t first = 0; first < 2; first++) {
                Case c;

                begin(&c, NULL);
                add(&c, fields[first]);
                add(&c, fields[1 - first]);
                ck_assert(end(&c));
                ck_assert_uint_eq(message_count(c.event, 10), 1);
                ck_assert(message_has_text(c.event, 10, "app-editor.scope"));
        }
}
END_TEST

START_TEST(test_an_entry_tells_of_its_code_message_id_and_invocation) {
        Case c;

        begin(&c, NULL);
        add(&c, "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1");
        add(&c, "CODE_FILE=src/main.c");
        add(&c, "CODE_LINE=42");
        add(&c, "CODE_FUNC=main");
        add(&c, "_SYSTEMD_INVOCATION_ID=0123");
        add(&c, "_SYSTEMD_CGROUP=/user.slice");
        add(&c, "_BOOT_ID=4567");
        add(&c, "ERRNO=2");
        add(&c, "_SYSTEMD_USER_UNIT=app.service");
        add(&c, "_SYSTEMD_UNIT=user@1000.service");
        ck_assert(end(&c));
        ck_assert(message_has_text(c.event, 1900, "fc2e22bc6ee647b6b90729ab34a250b1"));
        ck_assert(message_has_text(c.event, 1901, "src/main.c"));
        ck_assert_uint_eq(message_uint(c.event, 1902), 42);
        ck_assert(message_has_text(c.event, 1903, "main"));
        ck_assert(message_has_text(c.event, 1904, "user@1000.service"));
        ck_assert(message_has_text(c.event, 1905, "0123"));
        ck_assert(message_has_text(c.event, 1906, "/user.slice"));
        ck_assert(message_has_text(c.event, 1907, "4567"));
        ck_assert_uint_eq(message_uint(c.event, 1908), 2);
        ck_assert(message_has_text(c.event, 10, "app.service"));
}
END_TEST

START_TEST(test_an_entry_without_a_priority_counts_as_info) {
        JournaldConfig config = PERFETTO__PROTOS__SYSTEMD_JOURNALD_CONFIG__INIT;
        Case c;

        begin(&c, NULL);
        add(&c, "MESSAGE=x");
        ck_assert(end(&c));
        ck_assert_uint_eq(message_uint(c.event, 5), 6);
        config.min_prio = 6;
        ck_assert(is_wanted(&config, "MESSAGE=x", NULL));
        config.min_prio = 5;
        ck_assert(!is_wanted(&config, "MESSAGE=x", NULL));
        ck_assert(!is_wanted(&config, "PRIORITY=nonsense", NULL));
}
END_TEST

START_TEST(test_less_urgent_entries_are_left_out_and_0_means_all) {
        JournaldConfig config = PERFETTO__PROTOS__SYSTEMD_JOURNALD_CONFIG__INIT;

        config.has_min_prio = true;
        ck_assert(is_wanted(&config, "PRIORITY=7", NULL));
        config.min_prio = 4;
        ck_assert(is_wanted(&config, "PRIORITY=0", NULL));
        ck_assert(is_wanted(&config, "PRIORITY=4", NULL));
        ck_assert(!is_wanted(&config, "PRIORITY=5", NULL));
}
END_TEST

START_TEST(test_filters_want_one_of_each_kind_of_name) {
        JournaldConfig config = PERFETTO__PROTOS__SYSTEMD_JOURNALD_CONFIG__INIT;
        char *identifiers[] = { (char *)"kernel", (char *)"sudo" };
        char *units[] = { (char *)"nginx", (char *)"app.scope" };

        config.filter_identifiers = identifiers;
        config.n_filter_identifiers = 2;
        ck_assert(is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", NULL));
        ck_assert(!is_wanted(&config, "SYSLOG_IDENTIFIER=sudoer", NULL));
        ck_assert(!is_wanted(&config, "MESSAGE=sudo", NULL));
        config.filter_units = units;
        config.n_filter_units = 2;
        ck_assert(!is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", NULL));
        ck_assert(is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", "_SYSTEMD_USER_UNIT=app.scope"));
        ck_assert(is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", "_SYSTEMD_UNIT=nginx.service"));
        ck_assert(is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", "UNIT=nginx.service"));
        ck_assert(!is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", "UNIT=nginx.socket"));
        ck_assert(!is_wanted(&config, "SYSLOG_IDENTIFIER=sudo", "UNIT=ngin"));
}
END_TEST

START_TEST(test_more_names_than_the_limit_are_refused) {
        JournaldConfig config = PERFETTO__PROTOS__SYSTEMD_JOURNALD_CONFIG__INIT;
        char *names[JOURNAL_FILTERS_MAX + 1];
        JournalFilter filter;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                names[i] = (char *)"x";
        config.filter_units = names;
        config.n_filter_units = JOURNAL_FILTERS_MAX;
        ck_assert_int_eq(journal_filter_init(&filter, &config), 0);
        journal_filter_deinit(&filter);
        config.n_filter_units++;
        ck_assert_int_eq(journal_filter_init(&filter, &config), -E2BIG);
}
END_TEST

/* The packet of an entry has a largest size, whatever is logged. */
START_TEST(test_endless_and_repeated_fields_are_cut) {
        char *message = malloc(300000);
        WireField field;
        Case c;

        memset(message, 'x', 300000);
        memcpy(message, "MESSAGE=", 8);
        memcpy(message + 8 + JOURNAL_TEXT_BYTES_MAX - 1, "\xc3\xa4", 2); /* an ä across the cut */
        begin(&c, NULL);
        for (int i = 0; i < 100; i++)
                journal_entry_add(&c.entry, message, 300000);
        ck_assert(end(&c));
        ck_assert_uint_eq(message_count(c.event, 7), 1);
        ck_assert(message_field(c.event, 7, 0, &field));
        ck_assert_uint_eq(field.n_bytes, JOURNAL_TEXT_BYTES_MAX - 1);
        free(message);
}
END_TEST

START_TEST(test_fields_that_mean_nothing_are_ignored) {
        Case c;

        begin(&c, NULL);
        journal_entry_add(&c.entry, "", 0);
        add(&c, "=");
        add(&c, "MESSAGE");
        add(&c, "_PID=-1");
        add(&c, "_UID=99999999999999999999999999");
        add(&c, "_GID=4294967296");
        add(&c, "PRIORITY=8");
        add(&c, "_TRANSPORT=");
        add(&c, "_SOURCE_REALTIME_TIMESTAMP=");
        ck_assert(end(&c));
        ck_assert_uint_eq(message_count(c.event, 1) + message_count(c.event, 3), 0);
        ck_assert_uint_eq(message_count(c.event, 4), 0);
        ck_assert_uint_eq(message_uint(c.event, 5), 6);
        ck_assert_uint_eq(c.entry.source_us, 0);
}
END_TEST

START_TEST(test_the_time_is_when_it_was_logged_if_that_can_be_believed) {
        Case c;

        begin(&c, NULL);
        ck_assert_uint_eq(journal_entry_time_us(&c.entry, 5000000, 900000000), 5000000);
        add(&c, "_SOURCE_REALTIME_TIMESTAMP=899999000");
        ck_assert_uint_eq(journal_entry_time_us(&c.entry, 5000000, 900000000), 4999000);
        /* Later than it came; much too early; before the machine was up. */
        ck_assert_uint_eq(journal_entry_time_us(&c.entry, 5000000, 899998999), 5000000);
        ck_assert_uint_eq(journal_entry_time_us(&c.entry, 50000000, 999999000), 50000000);
        ck_assert_uint_eq(journal_entry_time_us(&c.entry, 500, 900000000), 500);
        end(&c);
}
END_TEST

static void check_refused(const char *directory, const char *needle) {
        sd_journal *journal;
        char *error = NULL;

        ck_assert_int_eq(journal_open(&journal, directory, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, needle), "%s", error);
        free(error);
}

START_TEST(test_a_journal_that_is_not_there_is_refused_with_a_remedy) {
        Tree tree = tree_new();
        char path[128];

        check_refused(tree.path, "systemd-journal");
        tree_put(&tree, "system.journal", "LPKSHHRH and then nothing");
        check_refused(tree.path, "systemd-journal");
        snprintf(path, sizeof(path), "%s/none", tree.path);
        check_refused(path, "No such file");
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_priority_that_does_not_exist_is_refused) {
        JournaldConfig journald = PERFETTO__PROTOS__SYSTEMD_JOURNALD_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config };
        char *error = NULL;
        void *probe;

        journald.min_prio = 8;
        config.journald_config = &journald;
        ck_assert_int_eq(journald_probe_ops.setup(&probe, &setup, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "min_prio: 8"), "%s", error);
        free(error);
}
END_TEST

TEST_MAIN("journal-entry",
          test_an_entry_tells_who_logged_what,
          test_an_entry_tells_of_its_code_message_id_and_invocation,
          test_a_users_unit_counts_before_the_users_manager_in_either_order,
          test_an_entry_without_a_priority_counts_as_info,
          test_less_urgent_entries_are_left_out_and_0_means_all,
          test_filters_want_one_of_each_kind_of_name,
          test_more_names_than_the_limit_are_refused,
          test_endless_and_repeated_fields_are_cut,
          test_fields_that_mean_nothing_are_ignored,
          test_the_time_is_when_it_was_logged_if_that_can_be_believed,
          test_a_journal_that_is_not_there_is_refused_with_a_remedy,
          test_a_priority_that_does_not_exist_is_refused)
