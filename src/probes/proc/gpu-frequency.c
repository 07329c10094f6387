/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finding and reading the frequencies of GPUs. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/packet-writer.h"
#include "probes/proc/gpu-frequency.h"
#include "probes/proc/line.h"
#include "probes/system/sysfs.h"

enum {
        GPU_FREQUENCY_ID = 1,
        GPU_FREQUENCY_KHZ = 2,
};

enum {
        GPU_I915,
        GPU_I915_OLD,
        GPU_XE,
        GPU_AMDGPU,
        GPU_DEVFREQ,
        GPU_ADRENO,
};

const char *const gpu_frequency_patterns[] = {
        [GPU_I915] = "sys/class/drm/card#/gt/gt#/rps_act_freq_mhz", /* Linux 5.18 */
        [GPU_I915_OLD] = "sys/class/drm/card#/gt_act_freq_mhz",
        [GPU_XE] = "sys/class/drm/card#/device/tile#/gt#/freq0/act_freq",
        [GPU_AMDGPU] = "sys/class/drm/card#/device/pp_dpm_sclk",
        [GPU_DEVFREQ] = "sys/class/drm/card#/device/devfreq/*/cur_freq", /* most of ARM */
        [GPU_ADRENO] = "sys/class/kgsl/kgsl-3d#/devfreq/cur_freq",
        NULL,
};

static bool is_there(int root, const char *format, uint32_t card) {
        char path[SYS_FILE_PATH_BYTES];

        snprintf(path, sizeof(path), format, card);
        return faccessat(root, path, F_OK, AT_EACCESS) == 0;
}

typedef struct CardPlace {
        uint32_t card, n_before;
} CardPlace;

static bool count_card(const char *name, void *userdata) {
        CardPlace *place = userdata;
        unsigned card;
        char more;

        if (sscanf(name, "card%u%c", &card, &more) == 1 && card < place->card)
                place->n_before++;
        return true;
}

/* Its place among the cards, as linux.drm counts them: there may be gaps in the numbers. */
static uint32_t card_place(int root, uint32_t card) {
        CardPlace place = { .card = card };

        (void)sysfs_list(root, "sys/class/drm", count_card, &place);
        return place.n_before;
}

bool gpu_frequency_accept(SysFile *file, int root) {
        char label[64] = "";

        switch (file->pattern) {
        case GPU_I915_OLD:
                if (is_there(
                            root, "sys/class/drm/card%u/gt/gt0/rps_act_freq_mhz", file->numbers[0]))
                        return false;
                break;
        case GPU_I915:
                snprintf(label, sizeof(label), "gt%u", file->numbers[1]);
                break;
        case GPU_XE:
                snprintf(label, sizeof(label), "tile%u gt%u", file->numbers[1], file->numbers[2]);
                break;
        }
        file->place =
                file->pattern == GPU_ADRENO ? file->numbers[0] : card_place(root, file->numbers[0]);
        file->label = strdup(label);
        return file->label != NULL;
}

/* "0: 500Mhz\n1: 1800Mhz *\n": the line with the star is the current one. */
static bool parse_steps(const char *text, uint64_t *ret_mhz) {
        for (; *text; text = line_next(text)) {
                const char *at = text + strcspn(text, ":\n");
                const char *end = text + strcspn(text, "\n");

                if (*at == ':' && memchr(at, '*', (size_t)(end - at))) {
                        at++;
                        return line_number(&at, ret_mhz);
                }
        }
        return false;
}

bool gpu_frequency_parse(const SysFile *file, const char *text, uint64_t *ret_khz) {
        uint64_t value;

        if (file->pattern == GPU_AMDGPU ? !parse_steps(text, &value) : !line_number(&text, &value))
                return false;
        *ret_khz = file->pattern == GPU_DEVFREQ || file->pattern == GPU_ADRENO ? value / 1000
                                                                               : value * 1000;
        return true;
}

bool gpu_is_asleep(const SysFile *file, int root) {
        char path[SYS_FILE_PATH_BYTES], status[32];

        if (file->pattern == GPU_ADRENO)
                return false;
        snprintf(path,
                 sizeof(path),
                 "sys/class/drm/card%u/device/power/runtime_status",
                 file->numbers[0]);
        return sysfs_read(status, sizeof(status), root, path) == 0 &&
               strcmp(status, "suspended") == 0;
}

void gpu_frequency_encode(uint32_t gpu, uint64_t khz, WireWriter *wire) {
        size_t begin = wire_begin(wire, PACKET_GPU_FREQUENCY);

        wire_put_uint(wire, GPU_FREQUENCY_ID, gpu);
        wire_put_uint(wire, GPU_FREQUENCY_KHZ, MIN(khz, (uint64_t)UINT32_MAX));
        wire_end(wire, begin);
}
