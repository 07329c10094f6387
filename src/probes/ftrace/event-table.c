/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The numbers are those of Perfetto's protos/perfetto/trace/ftrace/. The names of fields are the kernel's own, and are
 * compared with its format files at run time.
 */

#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/event-table.h"
#include "shared/macro.h"

/* Sorted by group and name. */
const EventSpec event_specs[] = {
        { "binder", "binder_command", 485, "cmd" },
        { "binder", "binder_lock", 53, "tag$" },
        { "binder", "binder_locked", 54, "tag$" },
        { "binder", "binder_return", 486, "cmd" },
        { "binder", "binder_set_priority", 52, "proc thread old_prio new_prio desired_prio" },
        { "binder",
          "binder_transaction",
          50,
          "debug_id target_node to_proc to_thread reply code flags" },
        { "binder",
          "binder_transaction_alloc_buf",
          323,
          "data_size debug_id offsets_size extra_buffers_size" },
        { "binder", "binder_transaction_received", 51, "debug_id" },
        { "binder", "binder_unlock", 55, "tag$" },

        { "block", "block_bio_backmerge", 115, "dev sector nr_sector rwbs$ comm$" },
        { "block", "block_bio_complete", 117, "dev sector nr_sector error rwbs$" },
        { "block", "block_bio_frontmerge", 118, "dev sector nr_sector rwbs$ comm$" },
        { "block", "block_bio_queue", 119, "dev sector nr_sector rwbs$ comm$" },
        { "block", "block_bio_remap", 120, "dev sector nr_sector old_dev old_sector rwbs$" },
        { "block", "block_dirty_buffer", 121, "dev sector size" },
        { "block", "block_getrq", 122, "dev sector nr_sector rwbs$ comm$" },
        { "block", "block_io_done", 547, "dev sector nr_sector bytes ioprio rwbs$ comm$ cmd$" },
        { "block", "block_io_start", 546, "dev sector nr_sector bytes ioprio rwbs$ comm$ cmd$" },
        { "block", "block_plug", 123, "comm$" },
        { "block", "block_rq_complete", 125, "dev sector nr_sector errors rwbs$ cmd$ error" },
        { "block", "block_rq_insert", 126, "dev sector nr_sector bytes rwbs$ comm$ cmd$" },
        { "block", "block_rq_issue", 45, "dev sector nr_sector bytes rwbs$ comm$ cmd$" },
        { "block", "block_rq_remap", 128, "dev sector nr_sector old_dev old_sector nr_bios rwbs$" },
        { "block", "block_rq_requeue", 129, "dev sector nr_sector errors rwbs$ cmd$" },
        { "block", "block_split", 131, "dev sector new_sector rwbs$ comm$" },
        { "block", "block_touch_buffer", 132, "dev sector size" },
        { "block", "block_unplug", 133, "nr_rq comm$" },

        { "cgroup",
          "cgroup_attach_task",
          67,
          "dst_root dst_id pid comm$ cname$ dst_level dst_path$" },
        { "cgroup", "cgroup_destroy_root", 72, "root ss_mask name$" },
        { "cgroup", "cgroup_mkdir", 68, "root id cname$ level path$" },
        { "cgroup", "cgroup_release", 73, "root id cname$ level path$" },
        { "cgroup", "cgroup_remount", 69, "root ss_mask name$" },
        { "cgroup", "cgroup_rename", 74, "root id cname$ level path$" },
        { "cgroup", "cgroup_rmdir", 70, "root id cname$ level path$" },
        { "cgroup", "cgroup_setup_root", 75, "root ss_mask name$" },
        { "cgroup",
          "cgroup_transfer_tasks",
          71,
          "dst_root dst_id pid comm$ cname$ dst_level dst_path$" },

        { "clk", "clk_disable", 321, "name$" },
        { "clk", "clk_enable", 320, "name$" },
        { "clk", "clk_set_rate", 322, "name$ rate" },

        { "cma", "cma_alloc_finish", 576, "name$ pfn page count align errorno" },
        { "cma",
          "cma_alloc_info",
          466,
          "align count err_iso err_mig err_test name$ nr_mapped nr_migrated "
          "nr_reclaimed pfn" },
        { "cma", "cma_alloc_start", 465, "align count name$" },

        { "compaction",
          "mm_compaction_begin",
          99,
          "zone_start migrate_pfn free_pfn zone_end sync" },
        { "compaction",
          "mm_compaction_defer_compaction",
          100,
          "nid idx order considered defer_shift order_failed" },
        { "compaction",
          "mm_compaction_defer_reset",
          102,
          "nid idx order considered defer_shift order_failed" },
        { "compaction",
          "mm_compaction_deferred",
          101,
          "nid idx order considered defer_shift order_failed" },
        { "compaction",
          "mm_compaction_end",
          103,
          "zone_start migrate_pfn free_pfn zone_end sync status" },
        { "compaction", "mm_compaction_finished", 104, "nid idx order ret" },
        { "compaction",
          "mm_compaction_isolate_freepages",
          105,
          "start_pfn end_pfn nr_scanned nr_taken" },
        { "compaction",
          "mm_compaction_isolate_migratepages",
          106,
          "start_pfn end_pfn nr_scanned nr_taken" },
        { "compaction", "mm_compaction_kcompactd_sleep", 107, "nid" },
        { "compaction",
          "mm_compaction_kcompactd_wake",
          108,
          "nid order classzone_idx highest_zoneidx" },
        { "compaction", "mm_compaction_migratepages", 109, "nr_migrated nr_failed" },
        { "compaction", "mm_compaction_suitable", 110, "nid idx order ret" },
        { "compaction", "mm_compaction_try_to_compact_pages", 111, "order gfp_mask mode prio" },
        { "compaction",
          "mm_compaction_wakeup_kcompactd",
          112,
          "nid order classzone_idx highest_zoneidx" },

        { "cpuhp", "cpuhp_enter", 345, "cpu fun idx target" },
        { "cpuhp", "cpuhp_exit", 343, "cpu idx ret state" },
        { "cpuhp", "cpuhp_multi_enter", 344, "cpu fun idx target" },

        { "devfreq", "devfreq_frequency", 541, "dev_name$ freq prev_freq busy_time total_time" },

        { "dma_fence", "dma_fence_emit", 415, "context driver$ seqno timeline$" },
        { "dma_fence", "dma_fence_init", 414, "context driver$ seqno timeline$" },
        { "dma_fence", "dma_fence_signaled", 416, "context driver$ seqno timeline$" },
        { "dma_fence", "dma_fence_wait_end", 418, "context driver$ seqno timeline$" },
        { "dma_fence", "dma_fence_wait_start", 417, "context driver$ seqno timeline$" },

        { "drm", "drm_vblank_event", 409, "crtc high_prec seq time" },
        { "drm", "drm_vblank_event_delivered", 410, "crtc file seq" },

        { "ext4", "ext4_alloc_da_blocks", 134, "dev ino data_blocks meta_blocks" },
        { "ext4",
          "ext4_allocate_blocks",
          135,
          "dev ino block len logical lleft lright goal pleft pright flags" },
        { "ext4", "ext4_allocate_inode", 136, "dev ino dir mode" },
        { "ext4", "ext4_begin_ordered_truncate", 137, "dev ino new_size" },
        { "ext4", "ext4_collapse_range", 138, "dev ino offset len" },
        { "ext4",
          "ext4_da_release_space",
          139,
          "dev ino i_blocks freed_blocks reserved_data_blocks "
          "reserved_meta_blocks allocated_meta_blocks mode" },
        { "ext4",
          "ext4_da_reserve_space",
          140,
          "dev ino i_blocks reserved_data_blocks reserved_meta_blocks mode "
          "md_needed" },
        { "ext4",
          "ext4_da_update_reserve_space",
          141,
          "dev ino i_blocks used_blocks reserved_data_blocks reserved_meta_blocks "
          "allocated_meta_blocks quota_claim mode" },
        { "ext4", "ext4_da_write_begin", 41, "dev ino pos len flags" },
        { "ext4", "ext4_da_write_end", 42, "dev ino pos len copied" },
        { "ext4", "ext4_da_write_pages_extent", 143, "dev ino lblk len flags" },
        { "ext4", "ext4_discard_blocks", 146, "dev blk count" },
        { "ext4", "ext4_discard_preallocations", 147, "dev ino len needed" },
        { "ext4", "ext4_drop_inode", 148, "dev ino drop" },
        { "ext4", "ext4_es_cache_extent", 149, "dev ino lblk len pblk status" },
        { "ext4", "ext4_es_insert_extent", 152, "dev ino lblk len pblk status" },
        { "ext4", "ext4_es_lookup_extent_enter", 153, "dev ino lblk" },
        { "ext4", "ext4_es_lookup_extent_exit", 154, "dev ino lblk len pblk status found" },
        { "ext4", "ext4_es_remove_extent", 155, "dev ino lblk len" },
        { "ext4", "ext4_es_shrink", 156, "dev nr_shrunk scan_time nr_skipped retried" },
        { "ext4", "ext4_es_shrink_count", 157, "dev nr_to_scan cache_cnt" },
        { "ext4", "ext4_es_shrink_scan_enter", 158, "dev nr_to_scan cache_cnt" },
        { "ext4", "ext4_es_shrink_scan_exit", 159, "dev nr_shrunk cache_cnt" },
        { "ext4", "ext4_evict_inode", 160, "dev ino nlink" },
        { "ext4",
          "ext4_ext_convert_to_initialized_enter",
          161,
          "dev ino m_lblk m_len u_lblk u_len u_pblk" },
        { "ext4",
          "ext4_ext_convert_to_initialized_fastpath",
          162,
          "dev ino m_lblk m_len u_lblk u_len u_pblk i_lblk i_len i_pblk" },
        { "ext4",
          "ext4_ext_handle_unwritten_extents",
          163,
          "dev ino flags lblk pblk len allocated newblk" },
        { "ext4", "ext4_ext_load_extent", 165, "dev ino pblk lblk" },
        { "ext4", "ext4_ext_map_blocks_enter", 166, "dev ino lblk len flags" },
        { "ext4", "ext4_ext_map_blocks_exit", 167, "dev ino flags pblk lblk len mflags ret" },
        { "ext4", "ext4_ext_remove_space", 169, "dev ino start end depth" },
        { "ext4",
          "ext4_ext_remove_space_done",
          170,
          "dev ino start end depth partial eh_entries pc_lblk pc_pclu pc_state" },
        { "ext4", "ext4_ext_rm_idx", 171, "dev ino pblk" },
        { "ext4",
          "ext4_ext_rm_leaf",
          172,
          "dev ino partial start ee_lblk ee_pblk ee_len pc_lblk pc_pclu pc_state" },
        { "ext4", "ext4_ext_show_extent", 173, "dev ino pblk lblk len" },
        { "ext4", "ext4_fallocate_enter", 174, "dev ino offset len mode pos" },
        { "ext4", "ext4_fallocate_exit", 175, "dev ino pos blocks ret" },
        { "ext4", "ext4_forget", 177, "dev ino block is_metadata mode" },
        { "ext4", "ext4_free_blocks", 178, "dev ino block count flags mode" },
        { "ext4", "ext4_free_inode", 179, "dev ino uid gid blocks mode" },
        { "ext4", "ext4_get_implied_cluster_alloc_exit", 180, "dev flags lblk pblk len ret" },
        { "ext4", "ext4_ind_map_blocks_enter", 182, "dev ino lblk len flags" },
        { "ext4", "ext4_ind_map_blocks_exit", 183, "dev ino flags pblk lblk len mflags ret" },
        { "ext4", "ext4_insert_range", 184, "dev ino offset len" },
        { "ext4", "ext4_journal_start_reserved", 187, "dev ip blocks" },
        { "ext4", "ext4_journalled_write_end", 189, "dev ino pos len copied" },
        { "ext4", "ext4_load_inode", 190, "dev ino" },
        { "ext4", "ext4_load_inode_bitmap", 191, "dev group" },
        { "ext4", "ext4_mark_inode_dirty", 192, "dev ino ip" },
        { "ext4", "ext4_mb_bitmap_load", 193, "dev group" },
        { "ext4", "ext4_mb_buddy_bitmap_load", 194, "dev group" },
        { "ext4", "ext4_mb_discard_preallocations", 195, "dev needed" },
        { "ext4", "ext4_mb_new_group_pa", 196, "dev ino pa_pstart pa_lstart pa_len" },
        { "ext4", "ext4_mb_new_inode_pa", 197, "dev ino pa_pstart pa_lstart pa_len" },
        { "ext4", "ext4_mb_release_group_pa", 198, "dev pa_pstart pa_len" },
        { "ext4", "ext4_mb_release_inode_pa", 199, "dev ino block count" },
        { "ext4",
          "ext4_mballoc_alloc",
          200,
          "dev ino orig_logical orig_start orig_group orig_len goal_logical "
          "goal_start goal_group goal_len result_logical result_start "
          "result_group result_len found groups buddy flags tail cr" },
        { "ext4", "ext4_mballoc_discard", 201, "dev ino result_start result_group result_len" },
        { "ext4", "ext4_mballoc_free", 202, "dev ino result_start result_group result_len" },
        { "ext4",
          "ext4_mballoc_prealloc",
          203,
          "dev ino orig_logical orig_start orig_group orig_len result_logical "
          "result_start result_group result_len" },
        { "ext4", "ext4_other_inode_update_time", 204, "dev ino orig_ino uid gid mode" },
        { "ext4", "ext4_punch_hole", 205, "dev ino offset len mode" },
        { "ext4", "ext4_read_block_bitmap_load", 206, "dev group prefetch" },
        { "ext4",
          "ext4_remove_blocks",
          209,
          "dev ino from to partial ee_pblk ee_lblk ee_len pc_lblk pc_pclu "
          "pc_state" },
        { "ext4",
          "ext4_request_blocks",
          210,
          "dev ino len logical lleft lright goal pleft pright flags" },
        { "ext4", "ext4_request_inode", 211, "dev dir mode" },
        { "ext4", "ext4_sync_file_enter", 43, "dev ino parent datasync" },
        { "ext4", "ext4_sync_file_exit", 44, "dev ino ret" },
        { "ext4", "ext4_sync_fs", 212, "dev wait" },
        { "ext4", "ext4_trim_all_free", 213, "dev_major dev_minor group start len" },
        { "ext4", "ext4_trim_extent", 214, "dev_major dev_minor group start len" },
        { "ext4", "ext4_truncate_enter", 215, "dev ino blocks" },
        { "ext4", "ext4_truncate_exit", 216, "dev ino blocks" },
        { "ext4", "ext4_unlink_enter", 217, "dev ino parent size" },
        { "ext4", "ext4_unlink_exit", 218, "dev ino ret" },
        { "ext4", "ext4_write_begin", 219, "dev ino pos len flags" },
        { "ext4", "ext4_write_end", 230, "dev ino pos len copied" },
        { "ext4",
          "ext4_writepages",
          232,
          "dev ino nr_to_write pages_skipped range_start range_end "
          "writeback_index sync_mode for_kupdate range_cyclic" },
        { "ext4",
          "ext4_writepages_result",
          233,
          "dev ino ret pages_written pages_skipped writeback_index sync_mode" },
        { "ext4", "ext4_zero_range", 234, "dev ino offset len mode" },

        { "f2fs", "f2fs_background_gc", 495, "dev wait_ms prefree free" },
        { "f2fs", "f2fs_do_submit_bio", 243, "dev btype sync sector size" },
        { "f2fs", "f2fs_evict_inode", 244, "dev ino pino mode size nlink blocks advise" },
        { "f2fs", "f2fs_fallocate", 245, "dev ino mode offset len size blocks ret" },
        { "f2fs",
          "f2fs_gc_begin",
          496,
          "dev sync background dirty_nodes dirty_dents dirty_imeta free_sec "
          "free_seg reserved_seg prefree_seg gc_type no_bg_gc nr_free_secs" },
        { "f2fs",
          "f2fs_gc_end",
          497,
          "dev ret seg_freed sec_freed dirty_nodes dirty_dents dirty_imeta "
          "free_sec free_seg reserved_seg prefree_seg" },
        { "f2fs", "f2fs_get_data_block", 246, "dev ino iblock bh_start bh_size ret" },
        { "f2fs",
          "f2fs_get_victim",
          247,
          "dev type gc_type alloc_mode gc_mode victim ofs_unit pre_victim prefree "
          "free cost" },
        { "f2fs", "f2fs_iget", 248, "dev ino pino mode size nlink blocks advise" },
        { "f2fs", "f2fs_iget_exit", 249, "dev ino ret" },
        { "f2fs",
          "f2fs_iostat",
          419,
          "app_bio app_brio app_dio app_drio app_mio app_mrio app_rio app_wio dev "
          "fs_cdrio fs_cp_dio fs_cp_mio fs_cp_nio fs_dio fs_discard fs_drio "
          "fs_gc_dio fs_gc_nio fs_gdrio fs_mio fs_mrio fs_nio fs_nrio" },
        { "f2fs",
          "f2fs_iostat_latency",
          420,
          "d_rd_avg d_rd_cnt d_rd_peak d_wr_as_avg d_wr_as_cnt d_wr_as_peak "
          "d_wr_s_avg d_wr_s_cnt d_wr_s_peak dev m_rd_avg m_rd_cnt m_rd_peak "
          "m_wr_as_avg m_wr_as_cnt m_wr_as_peak m_wr_s_avg m_wr_s_cnt m_wr_s_peak "
          "n_rd_avg n_rd_cnt n_rd_peak n_wr_as_avg n_wr_as_cnt n_wr_as_peak "
          "n_wr_s_avg n_wr_s_cnt n_wr_s_peak" },
        { "f2fs",
          "f2fs_lock_elapsed_time",
          603,
          "dev comm$ pid prio ioprio_class ioprio_data lock_name is_write "
          "total_time running_time runnable_time io_sleep_time other_time" },
        { "f2fs", "f2fs_new_inode", 250, "dev ino ret" },
        { "f2fs", "f2fs_readpage", 251, "dev ino index blkaddr type dir dirty uptodate" },
        { "f2fs", "f2fs_reserve_new_block", 252, "dev nid ofs_in_node" },
        { "f2fs", "f2fs_set_page_dirty", 253, "dev ino type dir index dirty uptodate" },
        { "f2fs", "f2fs_submit_write_page", 254, "dev ino type index block" },
        { "f2fs", "f2fs_sync_file_enter", 255, "dev ino pino mode size nlink blocks advise" },
        { "f2fs", "f2fs_sync_file_exit", 256, "dev ino need_cp datasync ret cp_reason" },
        { "f2fs", "f2fs_sync_fs", 257, "dev dirty wait" },
        { "f2fs", "f2fs_truncate", 258, "dev ino pino mode size nlink blocks advise" },
        { "f2fs", "f2fs_truncate_blocks_enter", 259, "dev ino size blocks from" },
        { "f2fs", "f2fs_truncate_blocks_exit", 260, "dev ino ret" },
        { "f2fs", "f2fs_truncate_data_blocks_range", 261, "dev ino nid ofs free" },
        { "f2fs", "f2fs_truncate_inode_blocks_enter", 262, "dev ino size blocks from" },
        { "f2fs", "f2fs_truncate_inode_blocks_exit", 263, "dev ino ret" },
        { "f2fs", "f2fs_truncate_node", 264, "dev ino nid blk_addr" },
        { "f2fs", "f2fs_truncate_nodes_enter", 265, "dev ino nid blk_addr" },
        { "f2fs", "f2fs_truncate_nodes_exit", 266, "dev ino ret" },
        { "f2fs", "f2fs_truncate_partial_nodes", 267, "dev ino nid depth err" },
        { "f2fs", "f2fs_unlink_enter", 268, "dev ino size blocks name$" },
        { "f2fs", "f2fs_unlink_exit", 269, "dev ino ret" },
        { "f2fs", "f2fs_vm_page_mkwrite", 270, "dev ino type dir index dirty uptodate" },
        { "f2fs", "f2fs_write_begin", 271, "dev ino pos len flags" },
        { "f2fs", "f2fs_write_checkpoint", 272, "dev is_umount msg$ reason phase" },
        { "f2fs", "f2fs_write_end", 273, "dev ino pos len copied" },

        { "filemap", "mm_filemap_add_to_page_cache", 97, "pfn i_ino index s_dev page" },
        { "filemap", "mm_filemap_delete_from_page_cache", 98, "pfn i_ino index s_dev page" },

        { "ftrace", "funcgraph_entry", 437, "depth func&" },
        { "ftrace", "funcgraph_exit", 438, "calltime depth func& overrun rettime" },
        { "ftrace", "print", 3, "ip buf$" },

        { "gpu_mem", "gpu_mem_total", 340, "gpu_id pid size" },

        { "gpu_scheduler", "drm_run_job", 412, "entity fence hw_job_count id job_count name$" },
        { "gpu_scheduler", "drm_sched_job", 411, "entity fence hw_job_count id job_count name$" },
        { "gpu_scheduler", "drm_sched_job_add_dep", 591, "fence_context fence_seqno ctx seqno" },
        { "gpu_scheduler", "drm_sched_job_done", 592, "fence_context fence_seqno" },
        { "gpu_scheduler",
          "drm_sched_job_queue",
          593,
          "name$ job_count hw_job_count dev$ fence_context fence_seqno client_id" },
        { "gpu_scheduler",
          "drm_sched_job_run",
          594,
          "name$ job_count hw_job_count dev$ fence_context fence_seqno client_id" },
        { "gpu_scheduler",
          "drm_sched_job_unschedulable",
          595,
          "fence_context fence_seqno ctx seqno" },
        { "gpu_scheduler", "drm_sched_process_job", 413, "fence" },

        { "i2c", "i2c_read", 27, "adapter_nr msg_nr addr flags len" },
        { "i2c", "i2c_reply", 30, "adapter_nr msg_nr addr flags len - buf" },
        { "i2c", "i2c_result", 29, "adapter_nr nr_msgs ret" },
        { "i2c", "i2c_write", 28, "adapter_nr msg_nr addr flags len - buf" },
        { "i2c", "smbus_read", 31, "adapter_nr flags addr command protocol" },
        { "i2c", "smbus_reply", 34, "adapter_nr addr flags command len protocol" },
        { "i2c", "smbus_result", 33, "adapter_nr addr flags read_write command res protocol" },
        { "i2c", "smbus_write", 32, "adapter_nr addr flags command len protocol" },

        { "ipi", "ipi_entry", 21, "reason$" },
        { "ipi", "ipi_exit", 22, "reason$" },
        { "ipi", "ipi_raise", 23, "target_cpus reason$" },

        { "irq", "irq_handler_entry", 36, "irq name$ handler" },
        { "irq", "irq_handler_exit", 37, "irq ret" },
        { "irq", "softirq_entry", 24, "vec" },
        { "irq", "softirq_exit", 25, "vec" },
        { "irq", "softirq_raise", 26, "vec" },

        { "irq_vectors", "local_timer_entry", 559, "vector" },
        { "irq_vectors", "local_timer_exit", 560, "vector" },

        { "kmem", "kfree", 298, "call_site ptr" },
        { "kmem", "kmalloc", 299, "bytes_alloc bytes_req call_site gfp_flags ptr" },
        { "kmem", "kmalloc_node", 300, "bytes_alloc bytes_req call_site gfp_flags node ptr" },
        { "kmem", "kmem_cache_alloc", 301, "bytes_alloc bytes_req call_site gfp_flags ptr" },
        { "kmem",
          "kmem_cache_alloc_node",
          302,
          "bytes_alloc bytes_req call_site gfp_flags node ptr" },
        { "kmem", "kmem_cache_free", 303, "call_site ptr" },
        { "kmem", "mm_page_alloc", 307, "gfp_flags migratetype order page pfn" },
        { "kmem",
          "mm_page_alloc_extfrag",
          308,
          "alloc_migratetype alloc_order fallback_migratetype fallback_order page "
          "change_ownership pfn" },
        { "kmem", "mm_page_alloc_zone_locked", 309, "migratetype order page pfn" },
        { "kmem", "mm_page_free", 310, "order page pfn" },
        { "kmem", "mm_page_free_batched", 311, "cold page pfn" },
        { "kmem", "mm_page_pcpu_drain", 312, "migratetype order page pfn" },
        { "kmem", "rss_stat", 313, "member size curr mm_id" },

        { "net",
          "napi_gro_receive_entry",
          365,
          "data_len gso_size gso_type hash ip_summed l4_hash len mac_header "
          "mac_header_valid name$ napi_id nr_frags protocol queue_mapping skbaddr "
          "truesize vlan_proto vlan_tagged vlan_tci" },
        { "net", "napi_gro_receive_exit", 366, "ret" },
        { "net", "net_dev_xmit", 361, "len name$ rc skbaddr" },
        { "net", "netif_receive_skb", 360, "len name$ skbaddr" },

        { "oom", "mark_victim", 334, "pid" },
        { "oom", "oom_score_adj_update", 326, "comm$ oom_score_adj pid" },

        { "power", "clock_disable", 15, "name$ state cpu_id" },
        { "power", "clock_enable", 14, "name$ state cpu_id" },
        { "power", "clock_set_rate", 16, "name$ state cpu_id" },
        { "power", "cpu_frequency", 11, "state cpu_id" },
        { "power", "cpu_frequency_limits", 12, "min_freq max_freq cpu_id" },
        { "power", "cpu_idle", 13, "state cpu_id" },
        { "power", "device_pm_callback_end", 505, "device$ driver$ error" },
        { "power", "device_pm_callback_start", 504, "device$ driver$ parent$ pm_ops$ event" },
        { "power", "gpu_frequency", 332, "gpu_id state" },
        { "power", "gpu_power_state", 601, "old_state new_state" },
        { "power",
          "gpu_work_period",
          488,
          "gpu_id uid start_time_ns end_time_ns total_active_duration_ns" },
        { "power", "suspend_resume", 113, "action$ val start" },
        { "power", "wakeup_source_activate", 404, "name$ state" },
        { "power", "wakeup_source_deactivate", 405, "name$ state" },

        { "printk", "console", 408, "msg$" },

        { "raw_syscalls", "sys_enter", 329, "id args[]" },
        { "raw_syscalls", "sys_exit", 330, "id ret" },

        { "regulator", "regulator_disable", 60, "name$" },
        { "regulator", "regulator_disable_complete", 61, "name$" },
        { "regulator", "regulator_enable", 62, "name$" },
        { "regulator", "regulator_enable_complete", 63, "name$" },
        { "regulator", "regulator_enable_delay", 64, "name$" },
        { "regulator", "regulator_set_voltage", 65, "name$ min max" },
        { "regulator", "regulator_set_voltage_complete", 66, "name$ val" },

        { "rpm", "rpm_status", 489, "name$ status" },

        { "sched", "sched_blocked_reason", 18, "pid caller& io_wait" },
        { "sched", "sched_migrate_task", 491, "comm$ pid prio orig_cpu dest_cpu running load" },
        { "sched", "sched_pi_setprio", 353, "comm$ newprio oldprio pid" },
        { "sched", "sched_process_exec", 237, "filename$ pid old_pid" },
        { "sched", "sched_process_exit", 238, "comm$ pid tgid prio" },
        { "sched", "sched_process_fork", 239, "parent_comm$ parent_pid child_comm$ child_pid" },
        { "sched", "sched_process_free", 240, "comm$ pid prio" },
        { "sched", "sched_process_hang", 241, "comm$ pid" },
        { "sched", "sched_process_wait", 242, "comm$ pid prio" },
        { "sched",
          "sched_switch",
          4,
          "prev_comm$ prev_pid prev_prio prev_state next_comm$ next_pid next_prio" },
        { "sched", "sched_wakeup", 17, "comm$ pid prio success target_cpu" },
        { "sched", "sched_wakeup_new", 114, "comm$ pid prio success target_cpu" },
        { "sched", "sched_waking", 20, "comm$ pid prio success target_cpu" },

        { "scsi",
          "scsi_dispatch_cmd_error",
          597,
          "host_no channel id lun rtn opcode cmd_len data_sglen prot_sglen "
          "prot_op - driver_tag scheduler_tag cmnd" },
        { "scsi",
          "scsi_dispatch_cmd_timeout",
          598,
          "host_no channel id lun result opcode cmd_len data_sglen prot_sglen "
          "prot_op - driver_tag scheduler_tag sense_key asc ascq cmnd" },
        { "scsi", "scsi_eh_wakeup", 599, "host_no" },

        { "signal", "signal_deliver", 324, "code sa_flags sig" },
        { "signal", "signal_generate", 325, "code comm$ group pid result sig" },

        { "skb", "kfree_skb", 367, "location protocol skbaddr" },

        { "sock",
          "inet_sock_set_state",
          362,
          "daddr dport family newstate oldstate protocol saddr skaddr sport" },

        { "task", "task_newtask", 235, "pid comm$ clone_flags oom_score_adj" },
        { "task", "task_rename", 236, "pid oldcomm$ newcomm$ oom_score_adj" },

        { "tcp", "tcp_retransmit_skb", 363, "daddr dport saddr skaddr skbaddr sport state" },

        { "thermal", "cdev_update", 342, "target type$" },
        { "thermal", "thermal_temperature", 341, "id temp temp_prev thermal_zone$" },

        { "timer", "hrtimer_cancel", 552, "hrtimer" },
        { "timer", "hrtimer_expire_entry", 553, "hrtimer now function&" },
        { "timer", "hrtimer_expire_exit", 554, "hrtimer" },
        { "timer", "hrtimer_start", 551, "hrtimer function expires softexpires mode" },
        { "timer", "timer_cancel", 556, "timer" },
        { "timer", "timer_expire_entry", 557, "timer now function baseclk" },
        { "timer", "timer_expire_exit", 558, "timer" },
        { "timer",
          "timer_start",
          555,
          "timer function expires now deferrable flags bucket_expiry" },

        { "ufs", "ufshcd_clk_gating", 407, "dev_name$ state" },
        { "ufs",
          "ufshcd_command",
          406,
          "dev_name$ doorbell intr lba opcode str$ tag transfer_len group_id "
          "str_t" },

        { "v4l2",
          "v4l2_dqbuf",
          423,
          "bytesused field flags index minor sequence timecode_flags "
          "timecode_frames timecode_hours timecode_minutes timecode_seconds "
          "timecode_type timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp type" },
        { "v4l2",
          "v4l2_qbuf",
          422,
          "bytesused field flags index minor sequence timecode_flags "
          "timecode_frames timecode_hours timecode_minutes timecode_seconds "
          "timecode_type timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp type" },
        { "v4l2",
          "vb2_v4l2_buf_done",
          425,
          "field flags minor sequence timecode_flags timecode_frames "
          "timecode_hours timecode_minutes timecode_seconds timecode_type "
          "timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp" },
        { "v4l2",
          "vb2_v4l2_buf_queue",
          424,
          "field flags minor sequence timecode_flags timecode_frames "
          "timecode_hours timecode_minutes timecode_seconds timecode_type "
          "timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp" },
        { "v4l2",
          "vb2_v4l2_dqbuf",
          427,
          "field flags minor sequence timecode_flags timecode_frames "
          "timecode_hours timecode_minutes timecode_seconds timecode_type "
          "timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp" },
        { "v4l2",
          "vb2_v4l2_qbuf",
          426,
          "field flags minor sequence timecode_flags timecode_frames "
          "timecode_hours timecode_minutes timecode_seconds timecode_type "
          "timecode_userbits0 timecode_userbits1 timecode_userbits2 "
          "timecode_userbits3 timestamp" },

        { "virtio_gpu",
          "virtio_gpu_cmd_queue",
          468,
          "ctx_id dev fence_id flags name$ num_free seqno type vq" },
        { "virtio_gpu",
          "virtio_gpu_cmd_response",
          469,
          "ctx_id dev fence_id flags name$ num_free seqno type vq" },

        { "virtio_video", "virtio_video_cmd", 439, "stream_id type" },
        { "virtio_video", "virtio_video_cmd_done", 440, "stream_id type" },
        { "virtio_video",
          "virtio_video_resource_queue",
          441,
          "data_size0 data_size1 data_size2 data_size3 queue_type resource_id "
          "stream_id timestamp" },
        { "virtio_video",
          "virtio_video_resource_queue_done",
          442,
          "data_size0 data_size1 data_size2 data_size3 queue_type resource_id "
          "stream_id timestamp" },

        { "vmscan",
          "mm_shrink_slab_end",
          444,
          "new_scan retval shr shrink total_scan unused_scan nid" },
        { "vmscan",
          "mm_shrink_slab_start",
          443,
          "cache_items delta gfp_flags lru_pgs nr_objects_to_shrink pgs_scanned "
          "shr shrink& total_scan nid priority" },
        { "vmscan", "mm_vmscan_direct_reclaim_begin", 46, "order may_writepage gfp_flags" },
        { "vmscan", "mm_vmscan_direct_reclaim_end", 47, "nr_reclaimed" },
        { "vmscan", "mm_vmscan_kswapd_sleep", 49, "nid" },
        { "vmscan", "mm_vmscan_kswapd_wake", 48, "nid order zid" },
        { "vmscan", "mm_vmscan_memcg_reclaim_begin", 607, "order may_writepage gfp_flags" },
        { "vmscan", "mm_vmscan_memcg_reclaim_end", 608, "nr_reclaimed" },

        { "workqueue", "workqueue_activate_work", 56, "work function&" },
        { "workqueue", "workqueue_execute_end", 57, "work function&" },
        { "workqueue", "workqueue_execute_start", 58, "work function&" },
        { "workqueue", "workqueue_queue_work", 59, "work function& - req_cpu cpu workqueue$" },
};

const size_t n_event_specs = ARRAY_SIZE(event_specs);

static int compare_specs(const void *a, const void *b) {
        const EventSpec *x = a, *y = b;
        int r = strcmp(x->group, y->group);

        return r ?: strcmp(x->name, y->name);
}

const EventSpec *event_spec_find(const char *group, const char *name) {
        EventSpec key = { .group = group, .name = name };

        return bsearch(&key, event_specs, n_event_specs, sizeof(key), compare_specs);
}

static const char *field_suffix(char first) {
        return first == '$' ? "$" : first == '[' ? "[]" : first == '&' ? "&" : "";
}

uint32_t event_spec_field(const EventSpec *spec, const char *name, const char **ret_suffix) {
        const char *at = spec->fields;
        size_t n_name = strlen(name);

        for (uint32_t number = 1; *at; number++) {
                size_t n_word = strcspn(at, " ");
                size_t n_plain = strcspn(at, " $[&");

                if (n_plain == n_name && memcmp(at, name, n_name) == 0) {
                        *ret_suffix = field_suffix(at[n_plain]);
                        return number;
                }
                at += n_word;
                at += *at == ' ';
        }
        return 0;
}
