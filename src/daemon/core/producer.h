/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer: a connected process with data sources
 *
 * Created when a peer registers, freed when its connection ends; a free drains what it had finished into the
 * buffers of its sessions first. Owned by the transport that made it, listed by the service.
 */

#include "core/ingest/producer-awake.h"
#include "core/ingest/producer-foreign.h"
#include "core/ingest/producer-take.h"
#include "core/life/producer-make.h"
#include "shared/bytes.h"

/* Adds a source or changes its options; joins it to running sessions that want it. */
int producer_add_source(Producer *producer,
                        const char *name,
                        const SourceOptions *options,
                        uint64_t now);
int producer_remove_source(Producer *producer, const char *name, uint64_t now);

/* The config of an instance, as setup_source() had it. May also be called from within other ProducerOps. Returns 0,
 * -ENOENT or -ENOMEM. */
int producer_instance_config(const Producer *producer, uint64_t instance, Bytes *ret);

/* Answers to ProducerOps requests. Unknown numbers are ignored: the instance may be gone by now. */
void producer_source_started(Producer *producer, uint64_t instance, uint64_t now);
void producer_source_failed(Producer *producer, uint64_t instance, const char *why, uint64_t now);
/* What an instance does not record although it records, for people. One more than it may have is left out. */
void producer_source_note(Producer *producer, uint64_t instance, const char *text, uint64_t now);
void producer_source_stopped(Producer *producer, uint64_t instance, uint64_t now);
void producer_flushed(Producer *producer, uint64_t request, uint64_t now);
