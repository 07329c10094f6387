/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GPU timer: how long a queue works on what is submitted to it */

#include <desktrace/track-event.h>
#include <stddef.h>
#include <time.h>

#include "events.h"
#include "gpu-timer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CLOCK_TRIES  4

/*
 * Making
 */

static bool load(GpuTimer *timer, PFN_vkGetDeviceProcAddr get_proc) {
        static const struct {
                const char *name;
                size_t offset;
        } functions[] = {
                { "vkCreateCommandPool", offsetof(GpuFunctions, create_commands) },
                { "vkDestroyCommandPool", offsetof(GpuFunctions, destroy_commands) },
                { "vkAllocateCommandBuffers", offsetof(GpuFunctions, allocate) },
                { "vkBeginCommandBuffer", offsetof(GpuFunctions, begin) },
                { "vkEndCommandBuffer", offsetof(GpuFunctions, end) },
                { "vkCreateQueryPool", offsetof(GpuFunctions, create_queries) },
                { "vkDestroyQueryPool", offsetof(GpuFunctions, destroy_queries) },
                { "vkCmdResetQueryPool", offsetof(GpuFunctions, reset) },
                { "vkCmdWriteTimestamp", offsetof(GpuFunctions, write) },
                { "vkGetQueryPoolResults", offsetof(GpuFunctions, read) },
                { "vkCreateFence", offsetof(GpuFunctions, create_fence) },
                { "vkDestroyFence", offsetof(GpuFunctions, destroy_fence) },
                { "vkGetFenceStatus", offsetof(GpuFunctions, get_fence) },
                { "vkResetFences", offsetof(GpuFunctions, reset_fences) },
                { "vkQueueSubmit", offsetof(GpuFunctions, submit) },
                { "vkGetCalibratedTimestampsEXT", offsetof(GpuFunctions, get_clocks) },
        };

        for (size_t i = 0; i < COUNT(functions); i++) {
                PFN_vkVoidFunction function = get_proc(timer->device, functions[i].name);

                if (!function)
                        return false;
                *(PFN_vkVoidFunction *)((char *)&timer->functions + functions[i].offset) = function;
        }
        return true;
}

static bool make_pools(GpuTimer *timer) {
        const GpuFunctions *functions = &timer->functions;
        const VkCommandPoolCreateInfo commands = {
                .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                .queueFamilyIndex = timer->family,
        };
        const VkQueryPoolCreateInfo queries = {
                .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                .queryCount = 2 * GPU_SLOTS,
        };
        const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
        VkCommandBufferAllocateInfo buffers = {
                .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                .commandBufferCount = 2 * GPU_SLOTS,
        };

        if (functions->create_commands(timer->device, &commands, NULL, &timer->commands) ||
            functions->create_queries(timer->device, &queries, NULL, &timer->queries))
                return false;
        for (size_t i = 0; i < GPU_SLOTS; i++)
                if (functions->create_fence(timer->device, &fence, NULL, &timer->fences[i]))
                        return false;
        buffers.commandPool = timer->commands;
        return functions->allocate(timer->device, &buffers, timer->buffers) == VK_SUCCESS;
}

/* The first of a slot's two forgets what both queries held. */
static bool record(GpuTimer *timer, uint32_t i) {
        const VkCommandBufferBeginInfo begin = {
                .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        };
        const VkPipelineStageFlagBits stage =
                i % 2 ? VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT;
        VkCommandBuffer buffer = timer->buffers[i];

        /* The loader has not seen it, and it has to begin as the program's do. */
        if (timer->functions.set_loader_data(timer->device, buffer) ||
            timer->functions.begin(buffer, &begin))
                return false;
        if (i % 2 == 0)
                timer->functions.reset(buffer, timer->queries, i, 2);
        timer->functions.write(buffer, stage, timer->queries, i);
        return timer->functions.end(buffer) == VK_SUCCESS;
}

static bool make(GpuTimer *timer, PFN_vkGetDeviceProcAddr get_proc) {
        if (!load(timer, get_proc) || !make_pools(timer))
                return false;
        for (uint32_t i = 0; i < 2 * GPU_SLOTS; i++)
                if (!record(timer, i))
                        return false;
        return true;
}

void gpu_timer_deinit(GpuTimer *timer) {
        const GpuFunctions *functions = &timer->functions;

        for (size_t i = 0; i < GPU_SLOTS; i++)
                if (timer->fences[i])
                        functions->destroy_fence(timer->device, timer->fences[i], NULL);
        if (timer->queries)
                functions->destroy_queries(timer->device, timer->queries, NULL);
        if (timer->commands)
                functions->destroy_commands(timer->device, timer->commands, NULL);
        timer->state = GPU_TIMER_FAILED;
}

/*
 * Measuring
 */

static bool put(GpuTimer *timer, uint32_t i, VkFence fence) {
        const VkSubmitInfo submit = {
                .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                .commandBufferCount = 1,
                .pCommandBuffers = &timer->buffers[i],
        };

        return timer->functions.submit(timer->queue, 1, &submit, fence) == VK_SUCCESS;
}

bool gpu_timer_begin(GpuTimer *timer,
                     VkDevice device,
                     PFN_vkGetDeviceProcAddr get_proc,
                     PFN_vkSetDeviceLoaderData set_loader_data) {
        if (timer->state == GPU_TIMER_NEW) {
                timer->device = device;
                timer->functions.set_loader_data = set_loader_data;
                timer->state = make(timer, get_proc) ? GPU_TIMER_READY : GPU_TIMER_FAILED;
        }
        if (timer->state != GPU_TIMER_READY)
                return false;
        gpu_timer_read(timer);
        return timer->n_begun - timer->n_read < GPU_SLOTS &&
               put(timer, (uint32_t)(timer->n_begun % GPU_SLOTS * 2), VK_NULL_HANDLE);
}

void gpu_timer_end(GpuTimer *timer) {
        const uint32_t slot = (uint32_t)(timer->n_begun % GPU_SLOTS);

        if (put(timer, 2 * slot + 1, timer->fences[slot]))
                timer->n_begun++;
        else
                timer->state = GPU_TIMER_FAILED; /* the device is lost */
}

/*
 * Reading
 */

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* How far the trace's clock is ahead: asked until nothing has come in between, but not for ever. */
static uint64_t clocks_apart_ns(void) {
        uint64_t apart_ns = 0, best_ns = UINT64_MAX;

        for (unsigned i = 0; i < CLOCK_TRIES; i++) {
                const uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
                const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
                const uint64_t n_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;

                if (n_ns < best_ns)
                        apart_ns = now_ns - before_ns;
                best_ns = n_ns < best_ns ? n_ns : best_ns;
        }
        return apart_ns;
}

/* The GPU's time and the system's, of that try in which they were closest. */
static bool read_clocks(const GpuTimer *timer, uint64_t ret[2]) {
        const VkCalibratedTimestampInfoEXT infos[] = {
                { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
                  .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT },
                { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
                  .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT },
        };
        uint64_t times[2], deviation, best = UINT64_MAX;

        for (unsigned i = 0; i < CLOCK_TRIES; i++)
                if (timer->functions.get_clocks(timer->device, 2, infos, times, &deviation) ==
                            VK_SUCCESS &&
                    deviation < best) {
                        ret[0] = times[0];
                        ret[1] = times[1];
                        best = deviation;
                }
        return best < UINT64_MAX;
}

static bool calibrate(GpuTimer *timer) {
        const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
        uint64_t times[2];

        if (timer->calibrated_ns > 0 && now_ns < timer->calibrated_ns + GPU_CALIBRATION_NS)
                return true;
        if (!read_clocks(timer, times))
                return false;
        timer->ticks = times[0];
        timer->at_ns = times[1] + clocks_apart_ns();
        timer->calibrated_ns = now_ns;
        return true;
}

static uint64_t trace_ns(const GpuTimer *timer, uint64_t ticks) {
        return timer->at_ns +
               (uint64_t)(int64_t)((double)(int64_t)(ticks - timer->ticks) * timer->tick_ns);
}

/* What is submitted next may begin before this has ended: slices of a track cannot. */
static void write_slice(GpuTimer *timer, const uint64_t ticks[2]) {
        const dt_track track = DT_TRACK("GPU queue (Vulkan)", timer->number);
        uint64_t begin_ns = trace_ns(timer, ticks[0]), end_ns = trace_ns(timer, ticks[1]);

        begin_ns = begin_ns > timer->last_ns ? begin_ns : timer->last_ns;
        end_ns = end_ns > begin_ns ? end_ns : begin_ns;
        timer->last_ns = end_ns;
        DT_SLICE_BEGIN_ON(vulkan_events, &track, "GPU work", DT_AT(begin_ns));
        DT_SLICE_END_ON_WITH(vulkan_events, &track, DT_AT(end_ns));
}

void gpu_timer_read(GpuTimer *timer) {
        while (timer->state == GPU_TIMER_READY && timer->n_read < timer->n_begun) {
                const uint32_t slot = (uint32_t)(timer->n_read % GPU_SLOTS);
                uint64_t ticks[2];

                if (timer->functions.get_fence(timer->device, timer->fences[slot]))
                        return;
                if (timer->functions.read(timer->device,
                                          timer->queries,
                                          2 * slot,
                                          2,
                                          sizeof(ticks),
                                          ticks,
                                          sizeof(ticks[0]),
                                          VK_QUERY_RESULT_64_BIT) == VK_SUCCESS &&
                    calibrate(timer))
                        write_slice(timer, ticks);
                timer->functions.reset_fences(timer->device, 1, &timer->fences[slot]);
                timer->n_read++;
        }
}
