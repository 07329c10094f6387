/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Vulkan layer: frames of programs with Vulkan, and when their GPU works
 *
 * The loader puts it between a program and its driver where a variable asks for it (desktrace.json.in). So it also sees
 * what probes in the loader cannot: programs mostly get the driver's own functions, which have no names. While nothing
 * is recorded, a call costs a search for the device and a branch.
 */

#include <desktrace/track-event.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "events.h"

#define CLOCK_EXTENSION     VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME
#define LAYER_VERSION       2
#define PUBLIC              __attribute__((visibility("default")))
#define COUNT(array)        (sizeof(array) / sizeof((array)[0]))
#define LOAD(get, of, name) ((PFN_vk##name)(get)(of, "vk" #name))

/*
 * What is watched
 */

static VKAPI_ATTR VkResult VKAPI_CALL on_present(VkQueue queue, const VkPresentInfoKHR *info) {
        Device *device = devices_find(key_of(queue));
        Queue *timed;
        VkResult result;

        if (!dt_category_enabled(&vulkan_events))
                return device->present(queue, info);
        DT_SLICE_BEGIN(vulkan_events,
                       "vkQueuePresentKHR",
                       DT_UINT("swapchains", info->swapchainCount),
                       DT_UINT("present_id", events_present_id(info, 0)));
        result = device->present(queue, info);
        DT_SLICE_END(vulkan_events);
        if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
                events_present(info);
        timed = device_find_queue(device, queue);
        if (timed)
                gpu_timer_read(&timed->timer);
        return result;
}

/* The queue's timer, if this submission is measured. */
static GpuTimer *begin_submit(Device *device, VkQueue handle, const char *name, uint32_t n) {
        Queue *queue;

        if (!dt_category_enabled(&vulkan_events))
                return NULL;
        DT_SLICE_BEGIN(vulkan_events, name, DT_UINT("submits", n));
        queue = n > 0 ? device_find_queue(device, handle) : NULL;
        return queue && gpu_timer_begin(&queue->timer,
                                        device->handle,
                                        device->get_proc,
                                        device->set_loader_data)
                       ? &queue->timer
                       : NULL;
}

static VkResult end_submit(GpuTimer *timer, VkResult result) {
        if (timer)
                gpu_timer_end(timer);
        DT_SLICE_END(vulkan_events);
        return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL on_submit(VkQueue queue,
                                                uint32_t n,
                                                const VkSubmitInfo *submits,
                                                VkFence fence) {
        Device *device = devices_find(key_of(queue));
        GpuTimer *timer = begin_submit(device, queue, "vkQueueSubmit", n);

        return end_submit(timer, device->submit(queue, n, submits, fence));
}

static VKAPI_ATTR VkResult VKAPI_CALL on_submit2(VkQueue queue,
                                                 uint32_t n,
                                                 const VkSubmitInfo2 *submits,
                                                 VkFence fence) {
        Device *device = devices_find(key_of(queue));
        GpuTimer *timer = begin_submit(device, queue, "vkQueueSubmit2", n);

        return end_submit(timer, device->submit2(queue, n, submits, fence));
}

static VKAPI_ATTR VkResult VKAPI_CALL on_submit2_khr(VkQueue queue,
                                                     uint32_t n,
                                                     const VkSubmitInfo2 *submits,
                                                     VkFence fence) {
        Device *device = devices_find(key_of(queue));
        GpuTimer *timer = begin_submit(device, queue, "vkQueueSubmit2KHR", n);

        return end_submit(timer, device->submit2_khr(queue, n, submits, fence));
}

static VKAPI_ATTR VkResult VKAPI_CALL on_acquire(VkDevice handle,
                                                 VkSwapchainKHR swapchain,
                                                 uint64_t timeout,
                                                 VkSemaphore semaphore,
                                                 VkFence fence,
                                                 uint32_t *ret) {
        DT_SLICE(vulkan_events, "vkAcquireNextImageKHR");

        return devices_find(key_of(handle))
                ->acquire(handle, swapchain, timeout, semaphore, fence, ret);
}

static VKAPI_ATTR VkResult VKAPI_CALL on_acquire2(VkDevice handle,
                                                  const VkAcquireNextImageInfoKHR *info,
                                                  uint32_t *ret) {
        DT_SLICE(vulkan_events, "vkAcquireNextImage2KHR");

        return devices_find(key_of(handle))->acquire2(handle, info, ret);
}

static VKAPI_ATTR VkResult VKAPI_CALL
on_wait(VkDevice handle, uint32_t n, const VkFence *fences, VkBool32 for_all, uint64_t timeout) {
        DT_SLICE(vulkan_events, "vkWaitForFences");

        return devices_find(key_of(handle))->wait(handle, n, fences, for_all, timeout);
}

static VKAPI_ATTR void VKAPI_CALL on_get_queue(VkDevice handle,
                                               uint32_t family,
                                               uint32_t index,
                                               VkQueue *ret) {
        Device *device = devices_find(key_of(handle));

        device->get_queue(handle, family, index, ret);
        device_add_queue(device, *ret, family);
}

/* Queues with flags are protected, and take no commands of others. */
static VKAPI_ATTR void VKAPI_CALL on_get_queue2(VkDevice handle,
                                                const VkDeviceQueueInfo2 *info,
                                                VkQueue *ret) {
        Device *device = devices_find(key_of(handle));

        device->get_queue2(handle, info, ret);
        if (info->flags == 0)
                device_add_queue(device, *ret, info->queueFamilyIndex);
}

/*
 * Instances and devices
 */

/* The link that the loader has put into the chain of what is made, for this layer to take. */
static VkLayerInstanceCreateInfo *find_instance_link(const VkInstanceCreateInfo *info) {
        VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;

        while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                        link->function != VK_LAYER_LINK_INFO))
                link = (VkLayerInstanceCreateInfo *)link->pNext;
        return link;
}

static VkLayerDeviceCreateInfo *find_device_link(const VkDeviceCreateInfo *info,
                                                 VkLayerFunction function) {
        VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;

        while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
                        link->function != function))
                link = (VkLayerDeviceCreateInfo *)link->pNext;
        return link;
}

static void
add_instance(Instance *instance, VkInstance handle, PFN_vkGetInstanceProcAddr get_proc) {
        *instance = (Instance){
                .key = key_of(handle),
                .get_proc = get_proc,
                .destroy = LOAD(get_proc, handle, DestroyInstance),
                .list_extensions = LOAD(get_proc, handle, EnumerateDeviceExtensionProperties),
                .get_properties = LOAD(get_proc, handle, GetPhysicalDeviceProperties),
                .get_families = LOAD(get_proc, handle, GetPhysicalDeviceQueueFamilyProperties),
        };
        devices_add_instance(instance);
}

static VKAPI_ATTR VkResult VKAPI_CALL on_create_instance(const VkInstanceCreateInfo *info,
                                                         const VkAllocationCallbacks *allocator,
                                                         VkInstance *ret) {
        VkLayerInstanceCreateInfo *link = find_instance_link(info);
        PFN_vkGetInstanceProcAddr get_proc;
        PFN_vkCreateInstance create;
        Instance *instance;
        VkResult result;

        if (!link)
                return VK_ERROR_INITIALIZATION_FAILED;
        instance = malloc(sizeof(*instance));
        if (!instance)
                return VK_ERROR_OUT_OF_HOST_MEMORY;
        get_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        create = LOAD(get_proc, NULL, CreateInstance);
        result = create(info, allocator, ret);
        if (result == VK_SUCCESS) {
                (void)dt_init(NULL);
                add_instance(instance, *ret, get_proc);
        } else {
                free(instance);
        }
        return result;
}

static VKAPI_ATTR void VKAPI_CALL on_destroy_instance(VkInstance handle,
                                                      const VkAllocationCallbacks *allocator) {
        Instance *instance = handle ? devices_take_instance(key_of(handle)) : NULL;

        if (instance)
                instance->destroy(handle, allocator);
        free(instance);
}

static bool can_calibrate(const Instance *instance, VkPhysicalDevice physical) {
        VkExtensionProperties *extensions;
        uint32_t n = 0;
        bool found = false;

        instance->list_extensions(physical, NULL, &n, NULL);
        extensions = calloc(n + 1, sizeof(*extensions));
        if (!extensions || instance->list_extensions(physical, NULL, &n, extensions))
                n = 0;
        for (uint32_t i = 0; i < n; i++)
                found = found || strcmp(extensions[i].extensionName, CLOCK_EXTENSION) == 0;
        free(extensions);
        return found;
}

/* With the extension that the GPU's clock needs, unless the program asks for that itself. */
static VkResult create_device(PFN_vkCreateDevice create,
                              VkPhysicalDevice physical,
                              const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator,
                              VkDevice *ret) {
        const char **names = calloc(info->enabledExtensionCount + 1, sizeof(*names));
        VkDeviceCreateInfo extended = *info;
        VkResult result;

        if (!names)
                return VK_ERROR_OUT_OF_HOST_MEMORY;
        for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
                names[i] = info->ppEnabledExtensionNames[i];
        names[info->enabledExtensionCount] = CLOCK_EXTENSION;
        extended.ppEnabledExtensionNames = names;
        extended.enabledExtensionCount++;
        for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
                if (strcmp(names[i], CLOCK_EXTENSION) == 0)
                        extended.enabledExtensionCount = info->enabledExtensionCount;
        result = create(physical, &extended, allocator, ret);
        free(names);
        return result;
}

static void add_device(Device *device, VkDevice handle, PFN_vkGetDeviceProcAddr get_proc) {
        device->handle = handle;
        device->key = key_of(handle);
        device->get_proc = get_proc;
        device->destroy = LOAD(get_proc, handle, DestroyDevice);
        device->get_queue = LOAD(get_proc, handle, GetDeviceQueue);
        device->get_queue2 = LOAD(get_proc, handle, GetDeviceQueue2);
        device->submit = LOAD(get_proc, handle, QueueSubmit);
        device->submit2 = LOAD(get_proc, handle, QueueSubmit2);
        device->submit2_khr = LOAD(get_proc, handle, QueueSubmit2KHR);
        device->present = LOAD(get_proc, handle, QueuePresentKHR);
        device->acquire = LOAD(get_proc, handle, AcquireNextImageKHR);
        device->acquire2 = LOAD(get_proc, handle, AcquireNextImage2KHR);
        device->wait = LOAD(get_proc, handle, WaitForFences);
        devices_add(device);
}

static VKAPI_ATTR VkResult VKAPI_CALL on_create_device(VkPhysicalDevice physical,
                                                       const VkDeviceCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator,
                                                       VkDevice *ret) {
        VkLayerDeviceCreateInfo *link = find_device_link(info, VK_LAYER_LINK_INFO);
        VkLayerDeviceCreateInfo *data = find_device_link(info, VK_LOADER_DATA_CALLBACK);
        const Instance *instance = devices_find_instance(key_of(physical));
        PFN_vkGetDeviceProcAddr get_proc;
        PFN_vkCreateDevice create;
        Device *device;
        VkResult result;

        if (!link || !instance)
                return VK_ERROR_INITIALIZATION_FAILED;
        device = calloc(1, sizeof(*device));
        if (!device)
                return VK_ERROR_OUT_OF_HOST_MEMORY;
        create = LOAD(link->u.pLayerInfo->pfnNextGetInstanceProcAddr, NULL, CreateDevice);
        get_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        device->physical = physical;
        device->instance = instance;
        device->set_loader_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
        device->has_clock = data && can_calibrate(instance, physical);
        result = device->has_clock ? create_device(create, physical, info, allocator, ret)
                                   : create(physical, info, allocator, ret);
        if (result == VK_SUCCESS)
                add_device(device, *ret, get_proc);
        else
                free(device);
        return result;
}

static VKAPI_ATTR void VKAPI_CALL on_destroy_device(VkDevice handle,
                                                    const VkAllocationCallbacks *allocator) {
        Device *device = handle ? devices_take(key_of(handle)) : NULL;
        PFN_vkDeviceWaitIdle wait;

        if (!device)
                return;
        wait = LOAD(device->get_proc, handle, DeviceWaitIdle);
        if (device->n_queues > 0)
                wait(handle);
        for (uint32_t i = 0; i < device->n_queues; i++) {
                gpu_timer_read(&device->queues[i].timer);
                gpu_timer_deinit(&device->queues[i].timer);
        }
        device->destroy(handle, allocator);
        free(device);
}

/*
 * The loader's questions
 */

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance handle,
                                                                  const char *name);

#define FUNCTION(name, function) \
        { "vk" #name, (PFN_vkVoidFunction)(function) }

static const struct Function {
        const char *name;
        PFN_vkVoidFunction function;
} device_functions[] = {
        FUNCTION(GetDeviceProcAddr, get_device_proc),
        FUNCTION(DestroyDevice, on_destroy_device),
        FUNCTION(GetDeviceQueue, on_get_queue),
        FUNCTION(GetDeviceQueue2, on_get_queue2),
        FUNCTION(QueueSubmit, on_submit),
        FUNCTION(QueueSubmit2, on_submit2),
        FUNCTION(QueueSubmit2KHR, on_submit2_khr),
        FUNCTION(QueuePresentKHR, on_present),
        FUNCTION(AcquireNextImageKHR, on_acquire),
        FUNCTION(AcquireNextImage2KHR, on_acquire2),
        FUNCTION(WaitForFences, on_wait),
}, instance_functions[] = {
        FUNCTION(GetInstanceProcAddr, get_instance_proc),
        FUNCTION(CreateInstance, on_create_instance),
        FUNCTION(DestroyInstance, on_destroy_instance),
        FUNCTION(CreateDevice, on_create_device),
};

static PFN_vkVoidFunction find(const struct Function *functions, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(functions[i].name, name) == 0)
                        return functions[i].function;
        return NULL;
}

/* What the driver does not have, the layer does not offer either. */
static PFN_vkVoidFunction get_device_proc(VkDevice handle, const char *name) {
        const Device *device = devices_find(key_of(handle));
        PFN_vkVoidFunction below = device ? device->get_proc(handle, name) : NULL;
        PFN_vkVoidFunction own = find(device_functions, COUNT(device_functions), name);

        return below && own ? own : below;
}

static PFN_vkVoidFunction get_instance_proc(VkInstance handle, const char *name) {
        PFN_vkVoidFunction own = find(instance_functions, COUNT(instance_functions), name);
        const Instance *instance;
        PFN_vkVoidFunction below;

        if (own || !handle)
                return own;
        instance = devices_find_instance(key_of(handle));
        below = instance ? instance->get_proc(handle, name) : NULL;
        own = find(device_functions, COUNT(device_functions), name);
        return below && own ? own : below;
}

PUBLIC VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation) {
        if (negotiation->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
            negotiation->loaderLayerInterfaceVersion < LAYER_VERSION)
                return VK_ERROR_INITIALIZATION_FAILED;
        negotiation->loaderLayerInterfaceVersion = LAYER_VERSION;
        negotiation->pfnGetInstanceProcAddr = get_instance_proc;
        negotiation->pfnGetDeviceProcAddr = get_device_proc;
        negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
        return VK_SUCCESS;
}
