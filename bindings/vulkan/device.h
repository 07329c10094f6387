/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Devices: what the layer knows of each of the program's instances and devices, and the functions below the layer
 *
 * They are found by what the loader puts at the beginning of each handle, which is the same for a device, its queues
 * and its command buffers. Programs call from any thread.
 */

#include <stdbool.h>
#include <vulkan/vk_layer.h>

#include "gpu-timer.h"

#define QUEUES_MAX 32 /* of a device, of which the GPU time is known */

typedef struct Instance {
        struct Instance *next;
        const void *key;
        PFN_vkGetInstanceProcAddr get_proc;
        PFN_vkDestroyInstance destroy;
        PFN_vkEnumerateDeviceExtensionProperties list_extensions;
        PFN_vkGetPhysicalDeviceProperties get_properties;
        PFN_vkGetPhysicalDeviceQueueFamilyProperties get_families;
} Instance;

typedef struct Queue {
        VkQueue handle;
        GpuTimer timer;
} Queue;

typedef struct Device {
        struct Device *next;
        const void *key;
        VkDevice handle;
        VkPhysicalDevice physical;
        const Instance *instance;
        bool has_clock; /* VK_EXT_calibrated_timestamps */
        PFN_vkSetDeviceLoaderData set_loader_data;
        PFN_vkGetDeviceProcAddr get_proc;
        PFN_vkDestroyDevice destroy;
        PFN_vkGetDeviceQueue get_queue;
        PFN_vkGetDeviceQueue2 get_queue2;
        PFN_vkQueueSubmit submit;
        PFN_vkQueueSubmit2 submit2, submit2_khr;
        PFN_vkQueuePresentKHR present;
        PFN_vkAcquireNextImageKHR acquire;
        PFN_vkAcquireNextImage2KHR acquire2;
        PFN_vkWaitForFences wait;
        Queue queues[QUEUES_MAX];
        uint32_t n_queues;
} Device;

/* What a dispatchable handle begins with. */
static inline const void *key_of(const void *handle) {
        return *(const void *const *)handle;
}

/* These take what malloc() gave. */
void devices_add_instance(Instance *instance);
void devices_add(Device *device);

/* Afterwards they are the caller's. NULL: there is none. */
Instance *devices_take_instance(const void *key);
Device *devices_take(const void *key);

/* They stay while the program may use the handle. NULL: there is none. */
Instance *devices_find_instance(const void *key);
Device *devices_find(const void *key);

/* A queue that the program has asked for. */
void device_add_queue(Device *device, VkQueue handle, uint32_t family);

/* NULL: there is no room for it, or its GPU has no clock. */
Queue *device_find_queue(Device *device, VkQueue handle);
