/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The journal's descriptor wakes the host. libsystemd follows files that are rotated or that appear. It also keeps the
 * position, which begins after the entry that is newest at the start.
 */

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "host/denial.h"
#include "probes/system/journal-entry.h"
#include "probes/system/journald-probe.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/log.h"

#define FIELDS_PER_ENTRY_MAX 4096 /* the journal itself takes no more than 1024 from a program */
#define UNRELIABLE_POLL_NS \
        (2000 * PROBE_NS_PER_MS) /* for file systems that cannot report changes */
#define CLOCK_ID_MONOTONIC 3

enum {
        EVENT_NUM_TOTAL = 20,
        EVENT_NUM_FAILED = 21,
};

typedef struct Journald {
        PacketWriter packets;
        JournalFilter filter;
        sd_journal *journal;
        int fd; /* the journal's */
        bool since_boot, is_stopped, is_behind;
        uint64_t start_us; /* entries before this time are not read */
        uint64_t n_total, n_failed;
} Journald;

static void *journald_free(void *userdata) {
        Journald *journald = userdata;

        if (!journald)
                return NULL;
        sd_journal_close(journald->journal);
        journal_filter_deinit(&journald->filter);
        packet_writer_deinit(&journald->packets);
        free(journald);
        return NULL;
}

static void journald_freep(Journald **journald) {
        journald_free(*journald);
}

static void journal_closep(sd_journal **journal) {
        sd_journal_close(*journal);
}

/* What exists below /var/log/journal and /run/log/journal: directories of machines, and files in them. */
typedef struct JournalFiles {
        int dir;
        size_t n_found, n_readable;
        int error; /* of the last one that could not be read */
} JournalFiles;

static bool look_at_file(const char *name, void *userdata) {
        const char *end = strrchr(name, '.');
        JournalFiles *files = userdata;
        int r;

        if (!end || !streq(end, ".journal"))
                return true;
        files->n_found++;
        r = denial_check(files->dir, name, R_OK);
        if (r == 0)
                files->n_readable++;
        else
                files->error = -r;
        return files->n_readable == 0;
}

static bool look_at_machine(const char *name, void *userdata) {
        JournalFiles *all = userdata, files = *all;

        files.dir = openat(all->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (files.dir >= 0)
                (void)sysfs_list(files.dir, ".", look_at_file, &files);
        else if (errno != ENOTDIR)
                files.error = errno;
        fd_close(files.dir);
        files.dir = all->dir;
        *all = files;
        return files.n_readable == 0;
}

int journald_check_at(int root, char **ret_error) {
        static const char *const directories[] = { "var/log/journal", "run/log/journal" };
        JournalFiles files = { .dir = -1 };
        char why[DENIAL_BYTES];

        for (size_t i = 0; i < ARRAY_SIZE(directories) && files.n_readable == 0; i++) {
                files.dir = openat(root, directories[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (files.dir >= 0)
                        (void)sysfs_list(files.dir, ".", look_at_machine, &files);
                else if (errno != ENOENT)
                        files.error = errno;
                fd_close(files.dir);
        }
        if (files.n_readable > 0)
                return 0;
        if (!files.error)
                return probe_refuse(ret_error,
                                    "no journal on this machine: neither /var/log/journal nor "
                                    "/run/log/journal has one; is systemd-journald running? "
                                    "start it: systemctl start systemd-journald");
        denial_explain(why, root, files.error, CAP_DAC_OVERRIDE);
        if (denial_has_capability(root, CAP_DAC_OVERRIDE))
                return probe_refuse(
                        ret_error, "cannot read the journal: %s%s", strerror(files.error), why);
        return probe_refuse(ret_error,
                            "cannot read the journal: %s%s; members of the group systemd-journal "
                            "may read it, too",
                            strerror(files.error),
                            why);
}

static int journald_check(char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : journald_check_at(root, ret_error);
}

/* Why libsystemd has opened no file of the journal. */
static int refuse_no_files(char **ret_error) {
        int r = journald_check(ret_error);

        return r ? r
                 : probe_refuse(ret_error,
                                "the journal has no file of this machine that can be read; "
                                "\"journalctl --verify\" looks for damage");
}

int journal_open(sd_journal **ret, const char *directory, char **ret_error) {
        _cleanup_(journal_closep) sd_journal *journal = NULL;
        uint64_t n_bytes = 0;
        int r;

        r = directory ? sd_journal_open_directory(&journal, directory, 0)
                      : sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
        if (r < 0)
                return probe_refuse(ret_error, "cannot open the journal: %s", strerror(-r));
        /* Files that cannot be read are silently left out. */
        r = sd_journal_get_usage(journal, &n_bytes);
        if (r < 0 || n_bytes == 0)
                return refuse_no_files(ret_error);
        (void)sd_journal_set_data_threshold(journal, JOURNAL_TEXT_BYTES_MAX + 64);
        *ret = TAKE(journal);
        return 0;
}

static int setup_filter(JournalFilter *filter, const ProbeSetup *setup, char **ret_error) {
        const Perfetto__Protos__SystemdJournaldConfig *config = setup->config->journald_config;
        int r;

        if (config && config->min_prio > 7)
                return probe_refuse(ret_error,
                                    "min_prio: %u is not a priority; "
                                    "use 1 (alert) to 7 (debug), or 0 for all",
                                    config->min_prio);
        r = journal_filter_init(filter, config);
        if (r == -E2BIG)
                return probe_refuse(ret_error,
                                    "more than %d names in a filter; "
                                    "use fewer, or none for all",
                                    JOURNAL_FILTERS_MAX);
        return r;
}

static int journald_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        _cleanup_(journald_freep) Journald *journald = calloc(1, sizeof(*journald));
        int r;

        if (!journald)
                return -ENOMEM;
        packet_writer_init(&journald->packets, setup->sink);
        journald->since_boot =
                setup->config->journald_config && setup->config->journald_config->since_boot;
        r = setup_filter(&journald->filter, setup, ret_error);
        if (r == 0)
                r = journal_open(&journald->journal, NULL, ret_error);
        if (r != 0)
                return r;
        journald->fd = sd_journal_get_fd(journald->journal);
        if (journald->fd < 0)
                return journald->fd;
        *ret = TAKE(journald);
        return 0;
}

static int seek_end(Journald *journald) {
        struct timespec now;
        int r;

        clock_gettime(CLOCK_MONOTONIC, &now);
        journald->start_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
        r = sd_journal_seek_tail(journald->journal);
        if (r >= 0)
                r = sd_journal_previous(journald->journal);
        /* The journal is still empty. From the end of nothing there is no way forward. */
        return r == 0 ? sd_journal_seek_head(journald->journal) : r;
}

static int seek_boot(Journald *journald) {
        sd_id128_t boot;
        int r;

        r = sd_id128_get_boot(&boot);
        if (r < 0)
                return r;
        journald->is_behind = true;
        return sd_journal_seek_monotonic_usec(journald->journal, boot, 0);
}

static int journald_start(void *userdata, char **ret_error) {
        Journald *journald = userdata;
        int r;

        r = journald->since_boot ? seek_boot(journald) : seek_end(journald);
        if (r < 0)
                return probe_refuse(ret_error,
                                    "cannot find the end of the journal: "
                                    "%s; \"journalctl --verify\" looks for damage",
                                    strerror(-r));
        return 0;
}

static int journald_fd(void *userdata) {
        return ((Journald *)userdata)->fd;
}

/* Returns 0, or a negative errno if the entry cannot be read to its end. */
static int read_fields(Journald *journald, JournalEntry *entry) {
        const void *data;
        size_t n_bytes;
        int r = 1;

        sd_journal_restart_data(journald->journal);
        for (size_t i = 0; r > 0 && i < FIELDS_PER_ENTRY_MAX; i++) {
                r = sd_journal_enumerate_available_data(journald->journal, &data, &n_bytes);
                if (r > 0)
                        journal_entry_add(entry, data, n_bytes);
        }
        return MIN(r, 0);
}

/* Writes the entry at the journal's position, unless it is older than the recording or not wanted. */
static int write_entry(Journald *journald) {
        WireWriter *wire = packet_begin(&journald->packets);
        uint64_t monotonic_us, realtime_us;
        JournalEntry entry;
        size_t begin;
        int r;

        r = sd_journal_get_monotonic_usec(journald->journal, &monotonic_us, NULL);
        if (r == -ESTALE) /* of another boot */
                return 0;
        if (r >= 0)
                r = sd_journal_get_realtime_usec(journald->journal, &realtime_us);
        if (r < 0)
                return r;
        if (monotonic_us < journald->start_us)
                return 0;
        journald->n_total++;
        begin = wire_begin(wire, PACKET_JOURNALD_EVENT);
        journal_entry_begin(&entry, &journald->filter, wire);
        r = read_fields(journald, &entry);
        if (!journal_entry_end(&entry))
                return r;
        wire_end(wire, begin);
        wire_put_uint(wire,
                      PACKET_TIMESTAMP,
                      journal_entry_time_us(&entry, monotonic_us, realtime_us) * 1000);
        wire_put_uint(wire, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
        (void)packet_end(&journald->packets); /* the sink counts what it drops */
        return r;
}

/* Reads up to `n_max` entries. Returns whether there may be more. */
static bool read_entries(Journald *journald, size_t n_max) {
        int r;

        (void)sd_journal_process(journald->journal);
        for (size_t i = 0; i < n_max; i++) {
                r = sd_journal_next(journald->journal);
                if (r == 0)
                        return false;
                if (r > 0)
                        r = write_entry(journald);
                if (r < 0) {
                        log_notice("linux.systemd_journald: cannot read an entry: %s",
                                   strerror(-r));
                        journald->n_failed++;
                        return false; /* it will when the next one is logged */
                }
        }
        return true;
}

static void write_statistics(Journald *journald, uint64_t now_ns) {
        WireWriter *wire = packet_begin(&journald->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, PACKET_JOURNALD_EVENT);
        wire_put_uint(wire, EVENT_NUM_TOTAL, journald->n_total);
        wire_put_uint(wire, EVENT_NUM_FAILED, journald->n_failed);
        wire_end(wire, begin);
        (void)packet_end(&journald->packets);
}

static uint64_t journald_poll(void *userdata, uint64_t now_ns) {
        Journald *journald = userdata;

        journald->is_behind = read_entries(journald, JOURNAL_ENTRIES_PER_POLL);
        if (journald->is_behind)
                return now_ns;
        if (journald->is_stopped) {
                write_statistics(journald, now_ns);
                return PROBE_NEVER;
        }
        return sd_journal_reliable_fd(journald->journal) > 0 ? PROBE_NEVER
                                                             : now_ns + UNRELIABLE_POLL_NS;
}

static void journald_flush(void *userdata, uint64_t now_ns) {
        Journald *journald = userdata;

        if (journald->since_boot && journald->is_behind)
                return; /* with what came before: polls will get there */
        journald->is_behind = read_entries(journald, JOURNAL_ENTRIES_PER_FLUSH);
        if (journald->is_behind)
                log_notice("linux.systemd_journald: more than %d entries at once",
                           JOURNAL_ENTRIES_PER_FLUSH);
        write_statistics(journald, now_ns);
}

/* Reads everything that is there, however much it is, one poll at a time. */
static void journald_stop(void *userdata, uint64_t now_ns) {
        Journald *journald = userdata;

        journald->is_stopped = true;
        journald_flush(journald, now_ns);
}

static bool journald_is_stopping(void *userdata) {
        const Journald *journald = userdata;

        return journald->is_stopped && journald->is_behind;
}

const ProbeOps journald_probe_ops = {
        .name = "linux.systemd_journald",
        .packet_fields = (const uint32_t[]){ PACKET_JOURNALD_EVENT, 0 },
        .records = "what is logged meanwhile, and with since_boot what was logged since the boot",
        .reads = "the journal's files",
        .needs = "CAP_DAC_OVERRIDE, or the group systemd-journal",
        .refuses = "there is no journal: start systemd-journald; it may not be read: run as root "
                   "or join the group",
        .check = journald_check,
        .setup = journald_setup,
        .start = journald_start,
        .fd = journald_fd,
        .poll = journald_poll,
        .flush = journald_flush,
        .stop = journald_stop,
        .is_stopping = journald_is_stopping,
        .free = journald_free,
};
