/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Events: what the layer writes */

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "host/frames.h"

#define NAME_BYTES 64

DT_CATEGORY(vulkan_events, "vulkan", "Frames of Vulkan, what waits for them, and what GPUs do");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Frames frames;
static bool has_frames;

uint64_t events_present_id(const VkPresentInfoKHR *info, uint32_t i) {
        const VkBaseInStructure *next = info->pNext;
        const VkPresentIdKHR *ids;

        while (next && next->sType != VK_STRUCTURE_TYPE_PRESENT_ID_KHR)
                next = next->pNext;
        ids = (const VkPresentIdKHR *)next;
        return ids && ids->pPresentIds && i < ids->swapchainCount ? ids->pPresentIds[i] : 0;
}

/* In the shape that frames have everywhere. */
static void write_frame(const Frame *frame, uint64_t at_ns, uint64_t id) {
        char name[NAME_BYTES], rate[NAME_BYTES];
        const dt_track track = DT_TRACK(name, 0), fps = DT_COUNTER_TRACK(rate, NULL);

        snprintf(name, sizeof(name), "Frames %u (Vulkan)", frame->ordinal);
        snprintf(rate, sizeof(rate), "fps %u (Vulkan)", frame->ordinal);
        if (frame->has_begin) {
                DT_SLICE_BEGIN_ON(vulkan_events,
                                  &track,
                                  frame->n_missed > 0 ? "late frame" : "frame",
                                  DT_AT(frame->begin_ns),
                                  DT_UINT("number", frame->number),
                                  DT_UINT("usual_us", frame->usual_ns / 1000),
                                  DT_UINT("missed", frame->n_missed),
                                  DT_UINT("present_id", id));
                DT_SLICE_END_ON_WITH(vulkan_events, &track, DT_AT(at_ns));
        }
        if (frame->fps >= 0)
                DT_COUNTER_ON(vulkan_events, &fps, frame->fps);
}

void events_present(const VkPresentInfoKHR *info) {
        struct timespec now;
        uint64_t at_ns;

        clock_gettime(CLOCK_BOOTTIME, &now);
        at_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
        pthread_mutex_lock(&lock);
        has_frames = has_frames || frames_init(&frames) == 0;
        for (uint32_t i = 0; has_frames && i < info->swapchainCount; i++) {
                const FrameKey key = {
                        .pid = getpid(),
                        .point = &frames,
                        .surface = (uint64_t)info->pSwapchains[i],
                };
                Frame frame;

                if (frames_add(&frames, &key, at_ns, 0, &frame))
                        write_frame(&frame, at_ns, events_present_id(info, i));
        }
        pthread_mutex_unlock(&lock);
}
