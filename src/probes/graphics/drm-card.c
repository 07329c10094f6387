/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* DRM cards: the GPUs of /sys/class/drm, and what they report */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/graphics/drm-card.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"

#define CARD_PATH_BYTES 256
#define CARD_NUMBER_MAX 999

enum {
        INFO_GPUS = 1,
        GPU_NAME = 1,
        GPU_VENDOR = 2,
        GPU_MODEL = 3,
        GPU_EXTRA = 6,
        GPU_ADDRESS = 7,
        EXTRA_KEY = 1,
        EXTRA_VALUE = 2,
};

static const struct {
        uint32_t id;
        const char *name;
} vendors[] = {
        { 0x1002, "AMD" },    { 0x8086, "Intel" },  { 0x10de, "NVIDIA" },
        { 0x1af4, "virtio" }, { 0x15ad, "VMware" }, { 0x1234, "QEMU" },
};

/* The number in "card0"; -1 for connectors ("card0-DP-1"). */
static long card_number(const char *name) {
        char *end;
        long number;

        if (strncmp(name, "card", 4) != 0 || name[4] < '0' || name[4] > '9')
                return -1;
        number = strtol(name + 4, &end, 10);
        return *end == '\0' && number <= CARD_NUMBER_MAX ? number : -1;
}

/* The last component of the target of a link in sysfs, or "" if there is no such link. */
static void read_link_name(char ret[static DRM_NAME_BYTES], int dir_fd, const char *path) {
        char target[CARD_PATH_BYTES];
        const char *name;
        ssize_t n;

        *ret = '\0';
        n = readlinkat(dir_fd, path, target, sizeof(target) - 1);
        if (n <= 0)
                return;
        target[n] = '\0';
        name = strrchr(target, '/');
        snprintf(ret, DRM_NAME_BYTES, "%.*s", DRM_NAME_BYTES - 1, name ? name + 1 : target);
}

static uint32_t read_id(int dir_fd, const char *card, const char *file) {
        char path[CARD_PATH_BYTES], text[32];

        snprintf(path, sizeof(path), "%s/device/%s", card, file);
        if (sysfs_read(text, sizeof(text), dir_fd, path) < 0)
                return 0;
        return (uint32_t)strtoul(text, NULL, 16);
}

static void card_set_label(DrmCard *card) {
        snprintf(card->label,
                 sizeof(card->label),
                 *card->driver ? "%.*s (%.*s)" : "%.*s",
                 DRM_NAME_BYTES / 2,
                 *card->name     ? card->name
                 : *card->device ? card->device
                                 : "device",
                 DRM_NAME_BYTES - 1,
                 card->driver);
}

static bool add_card(const char *name, void *userdata) {
        DrmCards *cards = userdata;
        DrmCard *card = &cards->table[cards->n];
        char path[CARD_PATH_BYTES];

        if (card_number(name) < 0)
                return true;
        *card = (DrmCard){ .vendor = read_id(cards->sysfs, name, "vendor"),
                           .model = read_id(cards->sysfs, name, "device") };
        snprintf(card->name, sizeof(card->name), "%.*s", DRM_NAME_BYTES - 1, name);
        snprintf(path, sizeof(path), "%.32s/device", name);
        read_link_name(card->device, cards->sysfs, path);
        snprintf(path, sizeof(path), "%.32s/device/driver", name);
        read_link_name(card->driver, cards->sysfs, path);
        card_set_label(card);
        return ++cards->n < DRM_CARDS_MAX;
}

static int compare_cards(const void *a, const void *b) {
        return (int)(card_number(((const DrmCard *)a)->name) -
                     card_number(((const DrmCard *)b)->name));
}

void drm_cards_init(DrmCards *cards, int root) {
        *cards = (DrmCards){ .sysfs = openat(
                                     root, "sys/class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        if (cards->sysfs < 0)
                return;
        (void)sysfs_list(cards->sysfs, ".", add_card, cards);
        qsort(cards->table, cards->n, sizeof(*cards->table), compare_cards);
}

void drm_cards_deinit(DrmCards *cards) {
        cards->sysfs = fd_close(cards->sysfs);
        cards->n = 0;
}

static bool is_of(const DrmCard *card, const DrmFdinfo *info) {
        return *info->device ? streq(card->device, info->device)
                             : streq(card->driver, info->driver);
}

DrmCard *drm_cards_find(DrmCards *cards, const DrmFdinfo *info) {
        DrmCard *card;

        for (size_t i = 0; i < cards->n; i++)
                if (is_of(&cards->table[i], info))
                        return &cards->table[i];
        if (cards->n == DRM_CARDS_MAX)
                return NULL;
        card = &cards->table[cards->n++];
        *card = (DrmCard){};
        memcpy(card->driver, info->driver, sizeof(card->driver));
        memcpy(card->device, info->device, sizeof(card->device));
        card_set_label(card);
        return card;
}

static size_t find_name(char names[][DRM_NAME_BYTES], size_t *n, size_t n_max, const char *name) {
        for (size_t i = 0; i < *n; i++)
                if (streq(names[i], name))
                        return i;
        if (*n == n_max)
                return n_max;
        memcpy(names[*n], name, DRM_NAME_BYTES);
        return (*n)++;
}

size_t drm_card_engine(DrmCard *card, const char *name) {
        return find_name(card->engines, &card->n_engines, DRM_ENGINES_MAX, name);
}

size_t drm_card_region(DrmCard *card, const char *name) {
        return find_name(card->regions, &card->n_regions, DRM_REGIONS_MAX, name);
}

static void encode_extra(WireWriter *wire, const char *key, const char *value) {
        size_t begin = wire_begin(wire, GPU_EXTRA);

        wire_put_string(wire, EXTRA_KEY, key);
        wire_put_string(wire, EXTRA_VALUE, value);
        wire_end(wire, begin);
}

static void encode_card(const DrmCard *card, WireWriter *wire) {
        size_t begin = wire_begin(wire, INFO_GPUS);
        char model[32];

        wire_put_string(wire, GPU_NAME, card->label);
        for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
                if (vendors[i].id == card->vendor)
                        wire_put_string(wire, GPU_VENDOR, vendors[i].name);
        if (card->vendor) {
                snprintf(model, sizeof(model), "%04x:%04x", card->vendor, card->model);
                wire_put_string(wire, GPU_MODEL, model);
                wire_put_string(wire, GPU_ADDRESS, card->device);
        }
        if (*card->driver)
                encode_extra(wire, "driver", card->driver);
        wire_end(wire, begin);
}

void drm_cards_encode(const DrmCards *cards, WireWriter *wire) {
        for (size_t i = 0; i < cards->n; i++)
                encode_card(&cards->table[i], wire);
}

static bool
read_number(const DrmCards *cards, const DrmCard *card, const char *file, uint64_t *ret) {
        char path[CARD_PATH_BYTES];

        if (cards->sysfs < 0 || !*card->name)
                return false;
        snprintf(path, sizeof(path), "%s/%s", card->name, file);
        return sysfs_read_uint(ret, cards->sysfs, path);
}

bool drm_card_memory(const DrmCards *cards, const DrmCard *card, uint64_t *ret_bytes) {
        uint64_t vram, gtt;

        if (!read_number(cards, card, "device/mem_info_vram_used", &vram))
                return false;
        if (!read_number(cards, card, "device/mem_info_gtt_used", &gtt))
                gtt = 0;
        return !__builtin_add_overflow(vram, gtt, ret_bytes);
}

const DrmCardCounter drm_card_counters[DRM_CARD_COUNTERS] = {
        { "device/gpu_busy_percent", "busy %", TRACK_UNIT_NONE, false },
        { "device/mem_busy_percent", "memory busy %", TRACK_UNIT_NONE, false },
        { "device/mem_info_vram_used", "VRAM used", TRACK_UNIT_BYTES, true },
        { "device/mem_info_vram_total", "VRAM total", TRACK_UNIT_BYTES, true },
        { "device/mem_info_gtt_used", "GTT used", TRACK_UNIT_BYTES, true },
};

bool drm_card_read_counter(const DrmCards *cards,
                           const DrmCard *card,
                           const DrmCardCounter *counter,
                           uint64_t *ret) {
        return read_number(cards, card, counter->file, ret);
}
