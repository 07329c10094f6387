/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Devices: what the layer knows of each of the program's instances and devices, and the functions below the layer */

#include <pthread.h>
#include <stdlib.h>

#include "device.h"

#define FAMILIES_MAX 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Instance *instances;
static Device *devices;

void devices_add_instance(Instance *instance) {
        pthread_mutex_lock(&lock);
        instance->next = instances;
        instances = instance;
        pthread_mutex_unlock(&lock);
}

void devices_add(Device *device) {
        pthread_mutex_lock(&lock);
        device->next = devices;
        devices = device;
        pthread_mutex_unlock(&lock);
}

Instance *devices_take_instance(const void *key) {
        Instance **at = &instances, *instance;

        pthread_mutex_lock(&lock);
        while (*at && (*at)->key != key)
                at = &(*at)->next;
        instance = *at;
        if (instance)
                *at = instance->next;
        pthread_mutex_unlock(&lock);
        return instance;
}

Device *devices_take(const void *key) {
        Device **at = &devices, *device;

        pthread_mutex_lock(&lock);
        while (*at && (*at)->key != key)
                at = &(*at)->next;
        device = *at;
        if (device)
                *at = device->next;
        pthread_mutex_unlock(&lock);
        return device;
}

Instance *devices_find_instance(const void *key) {
        Instance *instance;

        pthread_mutex_lock(&lock);
        instance = instances;
        while (instance && instance->key != key)
                instance = instance->next;
        pthread_mutex_unlock(&lock);
        return instance;
}

Device *devices_find(const void *key) {
        Device *device;

        pthread_mutex_lock(&lock);
        device = devices;
        while (device && device->key != key)
                device = device->next;
        pthread_mutex_unlock(&lock);
        return device;
}

/*
 * Queues
 */

/* Whether a family of queues can say when it does something. */
static bool has_timestamps(const Device *device, uint32_t family) {
        VkQueueFamilyProperties families[FAMILIES_MAX];
        uint32_t n = FAMILIES_MAX;

        device->instance->get_families(device->physical, &n, families);
        return family < n && families[family].timestampValidBits == 64;
}

static bool is_known(const Device *device, VkQueue handle) {
        for (uint32_t i = 0; i < device->n_queues; i++)
                if (device->queues[i].handle == handle)
                        return true;
        return false;
}

void device_add_queue(Device *device, VkQueue handle, uint32_t family) {
        VkPhysicalDeviceProperties properties;
        Queue *queue;

        pthread_mutex_lock(&lock);
        if (handle && device->has_clock && device->n_queues < QUEUES_MAX &&
            !is_known(device, handle) && has_timestamps(device, family)) {
                device->instance->get_properties(device->physical, &properties);
                queue = &device->queues[device->n_queues++];
                queue->handle = handle;
                queue->timer = (GpuTimer){
                        .queue = handle,
                        .family = family,
                        .number = device->n_queues,
                        .tick_ns = (double)properties.limits.timestampPeriod,
                };
        }
        pthread_mutex_unlock(&lock);
}

Queue *device_find_queue(Device *device, VkQueue handle) {
        Queue *found = NULL;

        pthread_mutex_lock(&lock);
        for (uint32_t i = 0; i < device->n_queues; i++)
                if (device->queues[i].handle == handle)
                        found = &device->queues[i];
        pthread_mutex_unlock(&lock);
        return found;
}
