/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Names that people use, for the numbers in trace files. The numbers of events are the field numbers of
 * perfetto.protos.FtraceEvent. Events that are not listed here are recorded together with a description of their own.
 */

#include "trace/trace-names.h"
#include "shared/macro.h"

typedef struct NumberName {
        uint32_t number;
        const char *name;
} NumberName;

/* Sorted by number. */
/* clang-format off */
static const NumberName event_names[] = {
        { 3, "print" }, { 4, "sched_switch" }, { 11, "cpu_frequency" },
        { 12, "cpu_frequency_limits" }, { 13, "cpu_idle" }, { 14, "clock_enable" },
        { 15, "clock_disable" }, { 16, "clock_set_rate" }, { 17, "sched_wakeup" },
        { 19, "sched_cpu_hotplug" }, { 20, "sched_waking" }, { 21, "ipi_entry" },
        { 22, "ipi_exit" }, { 23, "ipi_raise" }, { 24, "softirq_entry" }, { 25, "softirq_exit" },
        { 26, "softirq_raise" }, { 27, "i2c_read" }, { 28, "i2c_write" }, { 29, "i2c_result" },
        { 30, "i2c_reply" }, { 36, "irq_handler_entry" }, { 37, "irq_handler_exit" },
        { 41, "ext4_da_write_begin" }, { 42, "ext4_da_write_end" }, { 43, "ext4_sync_file_enter" },
        { 44, "ext4_sync_file_exit" }, { 45, "block_rq_issue" },
        { 46, "mm_vmscan_direct_reclaim_begin" }, { 47, "mm_vmscan_direct_reclaim_end" },
        { 48, "mm_vmscan_kswapd_wake" }, { 49, "mm_vmscan_kswapd_sleep" },
        { 50, "binder_transaction" }, { 51, "binder_transaction_received" },
        { 52, "binder_set_priority" }, { 53, "binder_lock" }, { 54, "binder_locked" },
        { 55, "binder_unlock" }, { 56, "workqueue_activate_work" }, { 57, "workqueue_execute_end" },
        { 58, "workqueue_execute_start" }, { 59, "workqueue_queue_work" },
        { 60, "regulator_disable" }, { 61, "regulator_disable_complete" },
        { 62, "regulator_enable" }, { 63, "regulator_enable_complete" },
        { 64, "regulator_enable_delay" }, { 65, "regulator_set_voltage" },
        { 66, "regulator_set_voltage_complete" }, { 67, "cgroup_attach_task" },
        { 68, "cgroup_mkdir" }, { 69, "cgroup_remount" }, { 70, "cgroup_rmdir" },
        { 71, "cgroup_transfer_tasks" }, { 72, "cgroup_destroy_root" }, { 73, "cgroup_release" },
        { 74, "cgroup_rename" }, { 75, "cgroup_setup_root" },
        { 97, "mm_filemap_add_to_page_cache" }, { 99, "mm_compaction_begin" },
        { 100, "mm_compaction_defer_compaction" }, { 101, "mm_compaction_deferred" },
        { 102, "mm_compaction_defer_reset" }, { 103, "mm_compaction_end" },
        { 104, "mm_compaction_finished" }, { 107, "mm_compaction_kcompactd_sleep" },
        { 108, "mm_compaction_kcompactd_wake" }, { 109, "mm_compaction_migratepages" },
        { 110, "mm_compaction_suitable" }, { 112, "mm_compaction_wakeup_kcompactd" },
        { 113, "suspend_resume" }, { 114, "sched_wakeup_new" }, { 115, "block_bio_backmerge" },
        { 116, "block_bio_bounce" }, { 117, "block_bio_complete" }, { 118, "block_bio_frontmerge" },
        { 119, "block_bio_queue" }, { 120, "block_bio_remap" }, { 121, "block_dirty_buffer" },
        { 122, "block_getrq" }, { 123, "block_plug" }, { 124, "block_rq_abort" },
        { 125, "block_rq_complete" }, { 126, "block_rq_insert" }, { 128, "block_rq_remap" },
        { 129, "block_rq_requeue" }, { 130, "block_sleeprq" }, { 131, "block_split" },
        { 132, "block_touch_buffer" }, { 133, "block_unplug" }, { 134, "ext4_alloc_da_blocks" },
        { 135, "ext4_allocate_blocks" }, { 136, "ext4_allocate_inode" },
        { 137, "ext4_begin_ordered_truncate" }, { 138, "ext4_collapse_range" },
        { 139, "ext4_da_release_space" }, { 140, "ext4_da_reserve_space" },
        { 141, "ext4_da_update_reserve_space" }, { 142, "ext4_da_write_pages" },
        { 143, "ext4_da_write_pages_extent" }, { 144, "ext4_direct_IO_enter" },
        { 145, "ext4_direct_IO_exit" }, { 146, "ext4_discard_blocks" },
        { 147, "ext4_discard_preallocations" }, { 148, "ext4_drop_inode" },
        { 149, "ext4_es_cache_extent" }, { 152, "ext4_es_insert_extent" },
        { 153, "ext4_es_lookup_extent_enter" }, { 154, "ext4_es_lookup_extent_exit" },
        { 155, "ext4_es_remove_extent" }, { 156, "ext4_es_shrink" },
        { 157, "ext4_es_shrink_count" }, { 158, "ext4_es_shrink_scan_enter" },
        { 159, "ext4_es_shrink_scan_exit" }, { 160, "ext4_evict_inode" },
        { 164, "ext4_ext_in_cache" }, { 165, "ext4_ext_load_extent" },
        { 166, "ext4_ext_map_blocks_enter" }, { 167, "ext4_ext_map_blocks_exit" },
        { 168, "ext4_ext_put_in_cache" }, { 169, "ext4_ext_remove_space" },
        { 170, "ext4_ext_remove_space_done" }, { 171, "ext4_ext_rm_idx" },
        { 172, "ext4_ext_rm_leaf" }, { 173, "ext4_ext_show_extent" },
        { 174, "ext4_fallocate_enter" }, { 175, "ext4_fallocate_exit" },
        { 176, "ext4_find_delalloc_range" }, { 177, "ext4_forget" }, { 178, "ext4_free_blocks" },
        { 179, "ext4_free_inode" }, { 182, "ext4_ind_map_blocks_enter" },
        { 183, "ext4_ind_map_blocks_exit" }, { 184, "ext4_insert_range" },
        { 185, "ext4_invalidatepage" }, { 186, "ext4_journal_start" },
        { 187, "ext4_journal_start_reserved" }, { 189, "ext4_journalled_write_end" },
        { 190, "ext4_load_inode" }, { 191, "ext4_load_inode_bitmap" },
        { 192, "ext4_mark_inode_dirty" }, { 193, "ext4_mb_bitmap_load" },
        { 194, "ext4_mb_buddy_bitmap_load" }, { 195, "ext4_mb_discard_preallocations" },
        { 196, "ext4_mb_new_group_pa" }, { 197, "ext4_mb_new_inode_pa" },
        { 198, "ext4_mb_release_group_pa" }, { 199, "ext4_mb_release_inode_pa" },
        { 200, "ext4_mballoc_alloc" }, { 201, "ext4_mballoc_discard" },
        { 202, "ext4_mballoc_free" }, { 203, "ext4_mballoc_prealloc" },
        { 204, "ext4_other_inode_update_time" }, { 205, "ext4_punch_hole" },
        { 206, "ext4_read_block_bitmap_load" }, { 207, "ext4_readpage" },
        { 208, "ext4_releasepage" }, { 209, "ext4_remove_blocks" }, { 210, "ext4_request_blocks" },
        { 211, "ext4_request_inode" }, { 212, "ext4_sync_fs" }, { 213, "ext4_trim_all_free" },
        { 214, "ext4_trim_extent" }, { 215, "ext4_truncate_enter" }, { 216, "ext4_truncate_exit" },
        { 217, "ext4_unlink_enter" }, { 218, "ext4_unlink_exit" }, { 219, "ext4_write_begin" },
        { 230, "ext4_write_end" }, { 231, "ext4_writepage" }, { 232, "ext4_writepages" },
        { 233, "ext4_writepages_result" }, { 234, "ext4_zero_range" }, { 235, "task_newtask" },
        { 236, "task_rename" }, { 237, "sched_process_exec" }, { 238, "sched_process_exit" },
        { 239, "sched_process_fork" }, { 240, "sched_process_free" }, { 241, "sched_process_hang" },
        { 242, "sched_process_wait" }, { 280, "dma_alloc_contiguous_retry" },
        { 281, "iommu_map_range" }, { 298, "kfree" }, { 299, "kmalloc" }, { 300, "kmalloc_node" },
        { 301, "kmem_cache_alloc" }, { 302, "kmem_cache_alloc_node" }, { 303, "kmem_cache_free" },
        { 304, "migrate_pages_end" }, { 306, "migrate_retry" }, { 307, "mm_page_alloc" },
        { 308, "mm_page_alloc_extfrag" }, { 309, "mm_page_alloc_zone_locked" },
        { 310, "mm_page_free" }, { 311, "mm_page_free_batched" }, { 312, "mm_page_pcpu_drain" },
        { 313, "rss_stat" }, { 323, "binder_transaction_alloc_buf" }, { 324, "signal_deliver" },
        { 325, "signal_generate" }, { 326, "oom_score_adj_update" }, { 327, "generic" },
        { 329, "sys_enter" }, { 330, "sys_exit" }, { 332, "gpu_frequency" }, { 334, "mark_victim" },
        { 341, "thermal_temperature" }, { 342, "cdev_update" }, { 343, "cpuhp_exit" },
        { 344, "cpuhp_multi_enter" }, { 345, "cpuhp_enter" }, { 346, "cpuhp_latency" },
        { 351, "dma_heap_stat" }, { 352, "cpuhp_pause" }, { 353, "sched_pi_setprio" },
        { 359, "rss_stat_throttled" }, { 360, "netif_receive_skb" }, { 361, "net_dev_xmit" },
        { 362, "inet_sock_set_state" }, { 363, "tcp_retransmit_skb" },
        { 364, "cros_ec_sensorhub_data" }, { 365, "napi_gro_receive_entry" },
        { 366, "napi_gro_receive_exit" }, { 367, "kfree_skb" }, { 368, "kvm_access_fault" },
        { 369, "kvm_ack_irq" }, { 370, "kvm_age_hva" }, { 371, "kvm_age_page" },
        { 372, "kvm_arm_clear_debug" }, { 373, "kvm_arm_set_dreg32" },
        { 374, "kvm_arm_set_regset" }, { 375, "kvm_arm_setup_debug" }, { 376, "kvm_entry" },
        { 377, "kvm_exit" }, { 378, "kvm_fpu" }, { 379, "kvm_get_timer_map" },
        { 380, "kvm_guest_fault" }, { 381, "kvm_handle_sys_reg" }, { 382, "kvm_hvc_arm64" },
        { 383, "kvm_irq_line" }, { 384, "kvm_mmio" }, { 385, "kvm_mmio_emulate" },
        { 386, "kvm_set_guest_debug" }, { 387, "kvm_set_irq" }, { 388, "kvm_set_spte_hva" },
        { 389, "kvm_set_way_flush" }, { 390, "kvm_sys_access" }, { 391, "kvm_test_age_hva" },
        { 392, "kvm_timer_emulate" }, { 393, "kvm_timer_hrtimer_expire" },
        { 394, "kvm_timer_restore_state" }, { 395, "kvm_timer_save_state" },
        { 396, "kvm_timer_update_irq" }, { 397, "kvm_toggle_cache" },
        { 398, "kvm_unmap_hva_range" }, { 399, "kvm_userspace_exit" }, { 400, "kvm_vcpu_wakeup" },
        { 401, "kvm_wfx_arm64" }, { 403, "vgic_update_irq_pending" },
        { 404, "wakeup_source_activate" }, { 405, "wakeup_source_deactivate" },
        { 406, "ufshcd_command" }, { 407, "ufshcd_clk_gating" }, { 408, "console" },
        { 409, "drm_vblank_event" }, { 410, "drm_vblank_event_delivered" },
        { 411, "drm_sched_job" }, { 412, "drm_run_job" }, { 413, "drm_sched_process_job" },
        { 414, "dma_fence_init" }, { 415, "dma_fence_emit" }, { 416, "dma_fence_signaled" },
        { 417, "dma_fence_wait_start" }, { 418, "dma_fence_wait_end" }, { 422, "v4l2_qbuf" },
        { 423, "v4l2_dqbuf" }, { 424, "vb2_v4l2_buf_queue" }, { 425, "vb2_v4l2_buf_done" },
        { 426, "vb2_v4l2_qbuf" }, { 427, "vb2_v4l2_dqbuf" }, { 437, "funcgraph_entry" },
        { 438, "funcgraph_exit" }, { 443, "mm_shrink_slab_start" }, { 444, "mm_shrink_slab_end" },
        { 468, "virtio_gpu_cmd_queue" }, { 469, "virtio_gpu_cmd_response" },
        { 485, "binder_command" }, { 486, "binder_return" }, { 487, "sched_switch_with_ctrs" },
        { 488, "gpu_work_period" }, { 489, "rpm_status" }, { 491, "sched_migrate_task" },
        { 504, "device_pm_callback_start" }, { 505, "device_pm_callback_end" },
        { 541, "devfreq_frequency" }, { 544, "do_sys_open" }, { 545, "open_exec" },
        { 546, "block_io_start" }, { 547, "block_io_done" }, { 551, "hrtimer_start" },
        { 552, "hrtimer_cancel" }, { 553, "hrtimer_expire_entry" }, { 554, "hrtimer_expire_exit" },
        { 555, "timer_start" }, { 556, "timer_cancel" }, { 557, "timer_expire_entry" },
        { 558, "timer_expire_exit" }, { 559, "local_timer_entry" }, { 560, "local_timer_exit" },
        { 561, "dwc3_alloc_request" }, { 562, "dwc3_complete_trb" }, { 563, "dwc3_ctrl_req" },
        { 564, "dwc3_ep_dequeue" }, { 565, "dwc3_ep_queue" }, { 566, "dwc3_event" },
        { 567, "dwc3_free_request" }, { 568, "dwc3_gadget_ep_cmd" },
        { 569, "dwc3_gadget_ep_disable" }, { 570, "dwc3_gadget_ep_enable" },
        { 571, "dwc3_gadget_generic_cmd" }, { 572, "dwc3_gadget_giveback" },
        { 573, "dwc3_prepare_trb" }, { 574, "dwc3_readl" }, { 575, "dwc3_writel" },
        { 580, "iommu_idmap" }, { 581, "psci_mem_protect" }, { 582, "hypervisor_host_hcall" },
        { 583, "hypervisor_host_smc" }, { 584, "hypervisor_hyp_exit" },
        { 585, "hypervisor_iommu_idmap" }, { 586, "hypervisor_psci_mem_protect" },
        { 587, "hypervisor_host_mem_abort" }, { 588, "hypervisor_hyp_enter" },
        { 590, "hypervisor_vcpu_illegal_trap" }, { 591, "drm_sched_job_add_dep" },
        { 592, "drm_sched_job_done" }, { 593, "drm_sched_job_queue" }, { 594, "drm_sched_job_run" },
        { 595, "drm_sched_job_unschedulable" }, { 597, "scsi_dispatch_cmd_error" },
        { 598, "scsi_dispatch_cmd_timeout" }, { 599, "scsi_eh_wakeup" }, { 601, "gpu_power_state" },
        { 602, "gram_collision" }, { 604, "sched_group_tracker" },
        { 607, "mm_vmscan_memcg_reclaim_begin" }, { 608, "mm_vmscan_memcg_reclaim_end" },
        { 614, "psci_domain_idle_exit" }, { 615, "psci_domain_idle_enter" }, { 616, "long_irq" },
        { 617, "long_softirq" },
};
/* clang-format on */

static const NumberName clock_names[] = {
        { 1, "realtime" },      { 2, "realtime-coarse" },
        { 3, "monotonic" },     { 4, "monotonic-coarse" },
        { 5, "monotonic-raw" }, { 6, "boottime" },
        { 9, "tsc" },           { 10, "perf" },
};

static const char *number_name(const NumberName *names, size_t n_names, uint32_t number) {
        size_t low = 0, high = n_names;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (names[middle].number == number)
                        return names[middle].name;
                if (names[middle].number < number)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

const char *trace_event_name(uint32_t number) {
        return number_name(event_names, ARRAY_SIZE(event_names), number);
}

const char *trace_clock_name(uint32_t number) {
        return number_name(clock_names, ARRAY_SIZE(clock_names), number);
}
