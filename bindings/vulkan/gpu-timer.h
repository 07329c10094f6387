/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * GPU timer: how long a queue works on what is submitted to it
 *
 * Two small command buffers of its own, one before and one behind what the program submits, have the GPU write down its
 * time. They are read later, when a fence says that they are there, and told in the trace's clock. A queue has few of
 * them at a time; what is submitted while all are under way is not measured. Programs use a queue from one thread at a
 * time, which covers these as well.
 */

#include <stdbool.h>
#include <vulkan/vk_layer.h>

#define GPU_SLOTS 32 /* that may be under way */
#define GPU_CALIBRATION_NS \
        UINT64_C(1000000000) /* how long the difference of two clocks is believed */

/* Functions below the layer. */
typedef struct GpuFunctions {
        PFN_vkCreateCommandPool create_commands;
        PFN_vkDestroyCommandPool destroy_commands;
        PFN_vkAllocateCommandBuffers allocate;
        PFN_vkBeginCommandBuffer begin;
        PFN_vkEndCommandBuffer end;
        PFN_vkCreateQueryPool create_queries;
        PFN_vkDestroyQueryPool destroy_queries;
        PFN_vkCmdResetQueryPool reset;
        PFN_vkCmdWriteTimestamp write;
        PFN_vkGetQueryPoolResults read;
        PFN_vkCreateFence create_fence;
        PFN_vkDestroyFence destroy_fence;
        PFN_vkGetFenceStatus get_fence;
        PFN_vkResetFences reset_fences;
        PFN_vkQueueSubmit submit;
        PFN_vkGetCalibratedTimestampsEXT get_clocks;
        PFN_vkSetDeviceLoaderData set_loader_data;
} GpuFunctions;

typedef enum GpuTimerState {
        GPU_TIMER_NEW,
        GPU_TIMER_READY,
        GPU_TIMER_FAILED,
} GpuTimerState;

typedef struct GpuTimer {
        VkQueue queue;
        uint32_t family, number; /* number: of the queue, from 1 on */
        double tick_ns;
        GpuTimerState state;
        VkDevice device;
        GpuFunctions functions;
        VkCommandPool commands;
        VkQueryPool queries;
        VkCommandBuffer buffers[2 * GPU_SLOTS];
        VkFence fences[GPU_SLOTS];
        uint64_t n_begun, n_read; /* slots, modulo GPU_SLOTS */
        uint64_t calibrated_ns;   /* when, in the trace's clock */
        uint64_t ticks, at_ns;    /* the same moment in both clocks */
        uint64_t last_ns;         /* when the last slice has ended */
} GpuTimer;

/* Before the program's submission. False: it is not measured. */
bool gpu_timer_begin(GpuTimer *timer,
                     VkDevice device,
                     PFN_vkGetDeviceProcAddr get_proc,
                     PFN_vkSetDeviceLoaderData set_loader_data);

/* Behind it. */
void gpu_timer_end(GpuTimer *timer);

/* Writes what is known by now as slices. */
void gpu_timer_read(GpuTimer *timer);

/* The device must be idle. */
void gpu_timer_deinit(GpuTimer *timer);
