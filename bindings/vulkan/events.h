/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Events: what the layer writes
 */

#include <desktrace/track-event.h>
#include <vulkan/vulkan_core.h>

DT_CATEGORY_DECLARE(vulkan_events);

/* The program has presented, just now: a frame of each of the swapchains. */
void events_present(const VkPresentInfoKHR *info);

/* The number that the program has given to the presentation of a swapchain (VK_KHR_present_id); 0: none. */
uint64_t events_present_id(const VkPresentInfoKHR *info, uint32_t i);
