/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a systemd unit as a group of counters. */

#include <errno.h>
#include <stdio.h>

#include "probes/system/cgroup-unit.h"

int cgroup_unit_new(CgroupUnit **ret, bool is_new) {
        CgroupUnit *unit = calloc(1, sizeof(*unit));

        if (!unit)
                return -ENOMEM;
        unit->is_new = is_new;
        cgroup_fds_init(&unit->fds);
        *ret = unit;
        return 0;
}

CgroupUnit *cgroup_unit_free(CgroupUnit *unit) {
        if (!unit)
                return NULL;
        cgroup_fds_close(&unit->fds);
        free(unit->devices);
        free(unit);
        return NULL;
}

/*
 * Tracks
 */

uint64_t cgroup_units_group(const CgroupSample *sample) {
        return track_group(sample->tracks, 0, "Units");
}

/* The groups are nested as the cgroups are. Once in a sample is enough: see track-writer.h. */
static uint64_t cgroup_group(Cgroup *cgroup, const CgroupSample *sample) {
        if (cgroup->group_ns == sample->now_ns && cgroup->group)
                return cgroup->group;
        cgroup->group_ns = sample->now_ns;
        cgroup->group = cgroup->parent ? track_group(sample->tracks,
                                                     cgroup_group(cgroup->parent, sample),
                                                     cgroup->title)
                                       : cgroup_units_group(sample);
        return cgroup->group;
}

typedef struct TrackName {
        const char *text;
        TrackUnit unit;
} TrackName;

static void value_write(CgroupValue *value,
                        int64_t now,
                        Cgroup *cgroup,
                        TrackName name,
                        const CgroupSample *sample) {
        const CgroupUnit *unit = cgroup->unit;
        uint64_t track;

        if (now == 0 && !value->is_shown)
                return;
        track = track_counter(sample->tracks, cgroup_group(cgroup, sample), name.text, name.unit);
        /* A new cgroup may get the track of one that existed at that time. */
        if (!value->is_shown && sample->previous_ns)
                track_count(sample->tracks, track, sample->previous_ns + unit->is_new, 0);
        track_count(sample->tracks, track, sample->now_ns, now);
        value->is_shown = true;
        value->last = now;
}

/* A total that goes down has started over. */
static int64_t value_since(CgroupValue *value, int64_t now, bool from_zero) {
        if (!value->is_based || now < value->base) {
                value->base = from_zero || value->is_based ? 0 : now;
                value->is_based = true;
        }
        return now - value->base;
}

static void write_counter(Cgroup *cgroup,
                          CgroupValue *value,
                          const CgroupCounter *counter,
                          int64_t now,
                          const CgroupSample *sample) {
        const CgroupUnit *unit = cgroup->unit;
        /* If a file has a key or a device that it did not have before, it began at 0. */
        bool from_zero = unit->is_new || unit->files & 1u << counter->file;

        value_write(value,
                    counter->is_total ? value_since(value, now, from_zero) : now,
                    cgroup,
                    (TrackName){ counter->name, counter->unit },
                    sample);
}

/*
 * Devices
 */

static CgroupDevice *unit_device(CgroupUnit *unit, uint32_t major, uint32_t minor) {
        CgroupDevice *devices;

        for (size_t i = 0; i < unit->n_devices; i++)
                if (unit->devices[i].major == major && unit->devices[i].minor == minor)
                        return &unit->devices[i];
        if (unit->n_devices == CGROUP_DEVICES_MAX)
                return NULL;
        devices = reallocarray(unit->devices, unit->n_devices + 1, sizeof(*devices));
        if (!devices)
                return NULL;
        unit->devices = devices;
        devices[unit->n_devices] = (CgroupDevice){ .major = major, .minor = minor };
        return &devices[unit->n_devices++];
}

/* Each device has its own tracks. An encrypted disk and the disk below it count the same bytes, so a sum would show
 * twice what was asked for. */
static void write_io(Cgroup *cgroup, const CgroupIo *io, const CgroupSample *sample) {
        CgroupDevice *device = unit_device(cgroup->unit, io->major, io->minor);

        for (size_t i = 0; device && i < CGROUP_N_IO_COUNTERS; i++) {
                CgroupCounter counter = cgroup_io_counters[i];
                char name[64];

                if (!(io->found & 1u << i))
                        continue;
                snprintf(name,
                         sizeof(name),
                         "%s: %s",
                         counter.name,
                         block_name(sample->blocks, io->major, io->minor));
                counter.name = name;
                write_counter(cgroup, &device->values[i], &counter, io->values[i], sample);
        }
}

void cgroup_unit_write(Cgroup *cgroup, const CgroupReading *reading, const CgroupSample *sample) {
        CgroupUnit *unit = cgroup->unit;

        for (size_t i = 0; i < CGROUP_N_COUNTERS; i++)
                if (reading->found & 1u << i)
                        write_counter(cgroup,
                                      &unit->values[i],
                                      &cgroup_counters[i],
                                      reading->values[i],
                                      sample);
        for (size_t i = 0; i < reading->n_ios; i++)
                write_io(cgroup, &reading->ios[i], sample);
        unit->files |= reading->files;
}

void cgroup_unit_end(Cgroup *cgroup, const CgroupSample *sample) {
        CgroupUnit *unit = cgroup->unit;

        for (size_t i = 0; i < CGROUP_N_COUNTERS; i++)
                if (!cgroup_counters[i].is_total && unit->values[i].last != 0)
                        write_counter(cgroup, &unit->values[i], &cgroup_counters[i], 0, sample);
}
