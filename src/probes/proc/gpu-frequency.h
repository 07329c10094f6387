/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * GPU frequency: the files in which graphics drivers report clock rates
 */

#include <stdbool.h>
#include <stdint.h>

#include "probes/proc/sys-files.h"
#include "wire/wire-writer.h"

/* For SysFiles. The first number in each path is that of the card. */
extern const char *const gpu_frequency_patterns[];

/* SysFileAccept: leaves out a card's old file if it has new ones. The label says which part of the card it is about,
 * and the place is the GPU's number in traces. */
bool gpu_frequency_accept(SysFile *file, int root);

/* Reads a file's text. Returns false if it is not a frequency. */
bool gpu_frequency_parse(const SysFile *file, const char *text, uint64_t *ret_khz);

/* Whether a card is switched off to save power. Some drivers would switch it on to tell its frequency. */
bool gpu_is_asleep(const SysFile *file, int root);

/* A GenericGpuFrequencyEvent, as a field of TracePacket. */
void gpu_frequency_encode(uint32_t gpu, uint64_t khz, WireWriter *wire);
