/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Firefox probe: data source org.mozilla.firefox */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bridges/firefox/firefox-probe.h"
#include "bridges/firefox/gecko-recorder.h"
#include "host/pid-set.h"
#include "shared/fd.h"

#define SOURCE_NAME        "org.mozilla.firefox"
#define CLOCK_ID_MONOTONIC 3
#define PERIOD_NS          (500 * PROBE_NS_PER_MS)

typedef struct Firefox {
        PacketWriter packets;
        TrackWriter tracks;
        ProgramNames names;
        PidSet older;     /* processes that ran before */
        uint64_t look_ns; /* for `names`: makes each look late enough for names to be read again */
        int64_t since_ns;
} Firefox;

static int profile_fd = -1;

void firefox_probe_set_profile(int fd) {
        profile_fd = fd;
}

static int64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *firefox_free(void *userdata) {
        Firefox *firefox = userdata;

        if (!firefox)
                return NULL;
        pid_set_deinit(&firefox->older);
        program_names_deinit(&firefox->names);
        track_writer_deinit(&firefox->tracks);
        packet_writer_deinit(&firefox->packets);
        free(firefox);
        return NULL;
}

static int firefox_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        Firefox *firefox = calloc(1, sizeof(*firefox));
        int r;

        if (!firefox)
                return -ENOMEM;
        packet_writer_init(&firefox->packets, setup->sink);
        track_writer_init(&firefox->tracks, &firefox->packets, SOURCE_NAME);
        firefox->tracks.clock_id = CLOCK_ID_MONOTONIC;
        r = program_names_init(&firefox->names);
        if (r < 0) {
                firefox_free(firefox);
                return r;
        }
        firefox->since_ns = clock_ns(CLOCK_MONOTONIC);
        *ret = firefox;
        return 0;
}

/* Calls `process` for each running process. */
static void foreach_process(Firefox *firefox, void (*process)(Firefox *firefox, pid_t pid)) {
        DIR *directory = opendir("/proc");
        struct dirent *entry;

        if (!directory)
                return;
        while ((entry = readdir(directory)) != NULL) {
                char *end;
                const long pid = strtol(entry->d_name, &end, 10);

                if (pid > 0 && *end == '\0')
                        process(firefox, (pid_t)pid);
        }
        closedir(directory);
}

/* The command was started after these bridges, but perhaps before this moment. */
static void pass_over(Firefox *firefox, pid_t pid) {
        if (pid < getpid())
                pid_set_add(&firefox->older, pid);
        pid_set_clear_fresh(&firefox->older);
}

/* By the time a browser's profile is read the browser has ended, and nothing is left to say which process was which. A
 * process's name changes between its fork() and the start of its own program. */
static void remember(Firefox *firefox, pid_t pid) {
        if (!pid_set_has(&firefox->older, pid))
                (void)program_name(&firefox->names, pid, firefox->look_ns);
}

static int firefox_start(void *userdata, char **ret_error) {
        if (profile_fd >= 0)
                foreach_process(userdata, pass_over);
        return 0;
}

static uint64_t firefox_poll(void *userdata, uint64_t now_ns) {
        Firefox *firefox = userdata;

        if (profile_fd < 0)
                return PROBE_NEVER;
        firefox->look_ns += 2 * PROGRAM_NAME_AGE_NS;
        foreach_process(firefox, remember);
        return probe_next_on_grid(now_ns, PERIOD_NS);
}

static void tell(Firefox *firefox, int64_t now_ns, const char *what, uint64_t n) {
        const TrackArgument argument = { "markers", NULL, (int64_t)n };

        track_instant(&firefox->tracks,
                      track_group(&firefox->tracks, 0, "Firefox"),
                      (uint64_t)now_ns,
                      what,
                      &argument,
                      n > 0);
}

/* Reads from the beginning, as recordings that are copied have several ends. */
static FILE *open_profile(void) {
        _cleanup_(fd_closep) int fd = -1;
        FILE *file;

        fd = fcntl(profile_fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
                return NULL;
        file = fdopen(fd, "r");
        if (file)
                TAKE_FD(fd);
        return file;
}

static void firefox_stop(void *userdata, uint64_t now_boot_ns) {
        Firefox *firefox = userdata;
        const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        GeckoRecorder recorder = {
                .tracks = &firefox->tracks,
                .names = &firefox->names,
                .look_ns = firefox->look_ns,
                .since_ns = firefox->since_ns,
                .now_ns = now_ns,
        };
        GeckoReading reading = {
                .time_of_day_ns = clock_ns(CLOCK_REALTIME) - now_ns,
                .thread = gecko_recorder_take,
                .userdata = &recorder,
        };

        reading.file = profile_fd >= 0 ? open_profile() : NULL;
        if (!reading.file)
                return;
        if (!gecko_profile_read(&reading))
                tell(firefox, now_ns, "Firefox has not told all", 0);
        if (recorder.n_lost > 0)
                tell(firefox, now_ns, "lost", recorder.n_lost);
        gecko_recorder_deinit(&recorder);
        fclose(reading.file);
}

static void firefox_clear(void *userdata) {
        track_writer_clear(&((Firefox *)userdata)->tracks);
}

const ProbeOps firefox_probe_ops = {
        .name = SOURCE_NAME,
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "markers of a Firefox that is started by record -- COMMAND, when it ends",
        .reads = "what its profiler writes at its end",
        .refuses = "no command is given: name it behind --",
        .setup = firefox_setup,
        .start = firefox_start,
        .poll = firefox_poll,
        .stop = firefox_stop,
        .clear_incremental_state = firefox_clear,
        .free = firefox_free,
};
