/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Profile cycle: what PipeWire's profiler reports about one cycle of its graph */

#include "bridges/pipewire/profile-cycle.h"

enum {
        OBJECT_PROFILER = 0x4000a,
        KEY_INFO = 0x10001,
        KEY_CLOCK = 0x10002,
        KEY_DRIVER = 0x10003,
        KEY_FOLLOWER = 0x20001,
};

bool profile_begin(PodReader *ret, const void *data, size_t n) {
        PodReader whole;
        Pod pod;

        pod_reader_init(&whole, data, n);
        return pod_next(&whole, &pod) && pod_struct(&pod, ret);
}

/* A value that is missing leaves the field as it was. */
static void read_info(PodReader values, ProfileCycle *cycle) {
        (void)(pod_take_long(&values, &cycle->number) && pod_take_float(&values, &cycle->load) &&
               pod_skip(&values, 2) && pod_take_int(&values, &cycle->n_xruns));
}

static void read_clock(PodReader values, ProfileCycle *cycle) {
        cycle->has_clock = pod_skip(&values, 3) && pod_take_long(&values, &cycle->at_ns) &&
                           pod_take_fraction(&values, &cycle->rate) && pod_skip(&values, 1) &&
                           pod_take_long(&values, &cycle->duration) && pod_skip(&values, 2) &&
                           pod_take_long(&values, &cycle->next_ns);
}

static bool read_node(PodReader values, ProfileNode *ret) {
        int32_t id;

        *ret = (ProfileNode){};
        if (!pod_take_int(&values, &id) || !pod_take_text(&values, ret->name, sizeof(ret->name)) ||
            !pod_skip(&values, 1) || !pod_take_long(&values, &ret->signal_ns) ||
            !pod_take_long(&values, &ret->awake_ns) || !pod_take_long(&values, &ret->finish_ns) ||
            !pod_take_int(&values, &ret->status))
                return false;
        ret->id = (uint32_t)id;
        return true;
}

static void read_follower(PodReader values, ProfileCycle *cycle) {
        ProfileNode one_too_many;

        if (cycle->n_followers == PROFILE_FOLLOWERS_MAX)
                cycle->n_left_out += read_node(values, &one_too_many);
        else
                cycle->n_followers += read_node(values, &cycle->followers[cycle->n_followers]);
}

static void read_property(ProfileCycle *cycle, uint32_t key, const Pod *pod) {
        PodReader values;

        if (!pod_struct(pod, &values))
                return;
        if (key == KEY_INFO)
                read_info(values, cycle);
        else if (key == KEY_CLOCK)
                read_clock(values, cycle);
        else if (key == KEY_DRIVER)
                cycle->has_driver = read_node(values, &cycle->driver);
        else if (key == KEY_FOLLOWER)
                read_follower(values, cycle);
}

bool profile_next(PodReader *reader, ProfileCycle *ret, bool *ret_is_known) {
        PodReader properties;
        uint32_t key;
        Pod pod;

        if (!pod_next(reader, &pod))
                return false;
        ret->number = ret->at_ns = ret->next_ns = ret->duration = 0;
        ret->load = 0;
        ret->n_xruns = 0;
        ret->rate = (PodFraction){};
        ret->has_clock = ret->has_driver = false;
        ret->n_followers = ret->n_left_out = 0;
        if (pod_object(&pod, OBJECT_PROFILER, &properties))
                while (pod_next_property(&properties, &key, &pod))
                        read_property(ret, key, &pod);
        *ret_is_known = ret->has_driver;
        return true;
}
