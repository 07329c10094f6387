/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core may not do itself: read clocks, random numbers, and files that describe the machine. */

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "build-config.h"
#include "host.h"
#include "shared/log.h"
#include "shared/machine-facts.h"
#include "suspended.h"

static const struct {
        uint32_t id;
        clockid_t clock;
} host_clocks[] = {
        { CLOCK_ID_BOOTTIME, CLOCK_BOOTTIME }, /* first, as the others are given relative to it */
        { CLOCK_ID_REALTIME, CLOCK_REALTIME },
        { CLOCK_ID_REALTIME_COARSE, CLOCK_REALTIME_COARSE },
        { CLOCK_ID_MONOTONIC, CLOCK_MONOTONIC },
        { CLOCK_ID_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE },
        { CLOCK_ID_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW },
};

static uint64_t clock_read(clockid_t clock) {
        struct timespec now = {};

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t host_now(void) {
        return clock_read(CLOCK_BOOTTIME);
}

uint64_t host_read_boottime(void *userdata) {
        return host_now();
}

size_t host_read_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]) {
        static_assert(ARRAY_SIZE(host_clocks) <= CLOCK_READINGS_MAX, "all clocks fit");

        for (size_t i = 0; i < ARRAY_SIZE(host_clocks); i++)
                ret[i].ns = clock_read(host_clocks[i].clock);
        for (size_t i = 0; i < ARRAY_SIZE(host_clocks); i++)
                ret[i].clock_id = host_clocks[i].id;
        return ARRAY_SIZE(host_clocks);
}

void host_random(void *userdata, void *ret, size_t n_bytes) {
        uint8_t *at = ret;

        while (n_bytes > 0) {
                ssize_t n = getrandom(at, n_bytes, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) {
                        log_error("no random numbers: %s", strerror(errno));
                        abort(); /* guessable uuids would be worse; this cannot happen since Linux 3.17 */
                }
                at += n;
                n_bytes -= (size_t)n;
        }
}

bool host_is_suspended(void *userdata, const Identity *identity) {
        return process_is_suspended(SUSPENDED_PROC_ROOT, SUSPENDED_CGROUP_ROOT, identity->pid);
}

static int64_t timezone_offset_minutes(void) {
        const time_t now = time(NULL);
        struct tm local;

        return localtime_r(&now, &local) ? local.tm_gmtoff / 60 : 0;
}

static uid_t user_uid(const char *name) {
        const struct passwd *user = getpwnam(name);

        return user ? user->pw_uid : (uid_t)-1;
}

void host_info(ServiceInfo *ret, const char *probes_user) {
        const char *boot_id = getenv("DESKTRACE_BOOT_ID");
        static struct utsname names;
        static MachineFacts facts;

        uname(&names);
        machine_facts_read(&facts, "/");
        if (!*facts.boot_id && boot_id)
                machine_facts_set_boot_id(&facts, boot_id);
        if (!*facts.cpu_model)
                machine_facts_ask_processor(&facts);
        *ret = (ServiceInfo){
                .version = DESKTRACE_VERSION,
                .sysname = names.sysname,
                .release = names.release,
                .kernel_version = names.version,
                .machine = names.machine,
                .boot_id = facts.boot_id,
                .os_id = facts.os_id,
                .os_version = facts.os_version,
                .cpu_model = facts.cpu_model,
                .hz = sysconf(_SC_CLK_TCK),
                .page_size = sysconf(_SC_PAGESIZE),
                .timezone_offset_minutes = timezone_offset_minutes(),
                .n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
                .ram_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                .pid = getpid(),
                .uid = geteuid(),
                .probes_uid = user_uid(probes_user),
        };
}
