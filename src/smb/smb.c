/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The shared-memory ABI: which sizes are valid, and how an area is made and attached */

#include <errno.h>
#include <string.h>

#include "shared/macro.h"
#include "smb/smb.h"

static uint32_t slots_for(uint32_t n_pages) {
        uint32_t n_slots = SMB_SLOTS_MIN;

        /* A chunk has at most one commit under way, and a page at most 14 chunks: the rest stays for retirements
         * and patches. A full ring would do little harm: only a rescan may then find a writer's later chunk
         * before an earlier one, if that is completed where the rescan has looked already. */
        while (n_slots < SMB_SLOTS_PER_PAGE * n_pages)
                n_slots *= 2;
        return n_slots;
}

static size_t control_bytes(uint32_t n_slots, uint32_t page_bytes) {
        return ALIGN_UP(sizeof(SmbControl) + n_slots * sizeof(SmbSlot), page_bytes);
}

bool smb_sizes_valid(size_t pages_bytes, uint32_t page_bytes) {
        if (page_bytes < SMB_PAGE_BYTES_MIN || page_bytes > SMB_PAGE_BYTES_MAX)
                return false;
        if ((page_bytes & (page_bytes - 1)) != 0)
                return false;
        return pages_bytes > 0 && pages_bytes <= SMB_PAGES_BYTES_MAX &&
               pages_bytes % page_bytes == 0;
}

size_t smb_native_bytes(size_t pages_bytes, uint32_t page_bytes) {
        uint32_t n_pages = (uint32_t)(pages_bytes / page_bytes);

        return control_bytes(slots_for(n_pages), page_bytes) + pages_bytes;
}

void smb_area_create_plain(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes) {
        *ret = (SmbArea){
                .memory = memory,
                .n_bytes = pages_bytes,
                .pages = memory,
                .page_bytes = page_bytes,
                .n_pages = (uint32_t)(pages_bytes / page_bytes),
        };
}

void smb_area_create(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes) {
        uint32_t n_pages = (uint32_t)(pages_bytes / page_bytes);
        uint32_t n_slots = slots_for(n_pages);
        size_t n_control = control_bytes(n_slots, page_bytes);
        SmbControl *control = memory;

        control->geometry.magic = SMB_CONTROL_MAGIC;
        control->geometry.version = SMB_CONTROL_VERSION;
        control->geometry.page_bytes = page_bytes;
        control->geometry.n_pages = n_pages;
        control->geometry.n_slots = n_slots;
        control->geometry.pages_offset = (uint32_t)n_control;
        /* The slots are left untouched: fresh memory is an empty ring. */

        *ret = (SmbArea){
                .memory = memory,
                .n_bytes = n_control + pages_bytes,
                .control = control,
                .pages = (uint8_t *)memory + n_control,
                .page_bytes = page_bytes,
                .n_pages = n_pages,
                .n_slots = n_slots,
        };
}

int smb_area_attach(SmbArea *ret, void *memory, size_t n_bytes) {
        SmbControl *control = memory;
        size_t n_pages_bytes, n_control;

        if (n_bytes < sizeof(SmbControl))
                return -EBADMSG;
        if (control->geometry.magic != SMB_CONTROL_MAGIC ||
            control->geometry.version != SMB_CONTROL_VERSION)
                return -EBADMSG;

        *ret = (SmbArea){
                .memory = memory,
                .n_bytes = n_bytes,
                .control = control,
                .page_bytes = control->geometry.page_bytes,
                .n_pages = control->geometry.n_pages,
                .n_slots = control->geometry.n_slots,
        };
        if (__builtin_mul_overflow((size_t)ret->n_pages, ret->page_bytes, &n_pages_bytes) ||
            !smb_sizes_valid(n_pages_bytes, ret->page_bytes))
                return -EBADMSG;
        if (ret->n_slots < SMB_SLOTS_MIN || (ret->n_slots & (ret->n_slots - 1)) != 0 ||
            ret->n_slots > n_bytes / sizeof(SmbSlot))
                return -EBADMSG;
        n_control = control_bytes(ret->n_slots, ret->page_bytes);
        if (control->geometry.pages_offset != n_control || n_bytes < n_control + n_pages_bytes)
                return -EBADMSG;

        ret->pages = (uint8_t *)memory + n_control;
        return 0;
}
