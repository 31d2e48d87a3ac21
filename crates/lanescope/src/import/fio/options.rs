//! fio's options by name: which of them a job's load is made of, which change nothing that is simulated, and which have no counterpart here.
//!
//! Names are those of fio's HOWTO (3.33 and some later ones), in the form in which its JSON repeats them; [`ALIASES`] are other spellings.

/// What an option does to what is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is part of the load, or of how results are put together.
    Modelled,
    /// It is about reports, about how files are made before the first I/O, or about what data are.
    Nothing,
    /// The run would be another one with it.
    Missing,
}

/// Other spellings: (as written, the option).
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blockalign", "ba"),
    ("blocksize_range", "bsrange"),
    ("bs_unaligned", "blocksize_unaligned"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
    ("io_limit", "io_size"),
    ("fileoffset", "offset"),
    ("threads", "thread"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("iomem", "mem"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("ss_interval", "steadystate_check_interval"),
    ("rate_min", "ratemin"),
];

/// Options that are read.
pub(super) const MODELLED: &[&str] = &[
    "ba", "bs", "bsrange", "bssplit", "buffered", "direct", "directory", "filename", "filesize", "group_reporting",
    "io_size", "iodepth", "ioengine", "kb_base", "loops", "name", "new_group", "norandommap", "nrfiles", "numjobs",
    "offset", "offset_increment", "percentage_random", "percentile_list", "ramp_time", "random_distribution",
    "randseed", "rate", "rate_iops", "rate_process", "runtime", "rw", "rwmixread", "rwmixwrite", "size",
    "startdelay", "stonewall", "thinktime", "thinktime_blocks", "time_based", "wait_for",
];

/// Options without a consequence here.
const NOTHING: &[&str] = &[
    "allow_file_create", "allow_mounted_write", "allrandrepeat", "block_error_percentiles", "buffer_compress_chunk",
    "buffer_compress_percentage", "buffer_pattern", "bwavgtime", "clat_percentiles", "clocksource", "create_fsync",
    "create_on_open", "create_only", "create_serialize", "dedupe_global", "dedupe_mode", "dedupe_percentage",
    "dedupe_working_set_percentage", "description", "disable_bw", "disable_bw_measurement", "disable_clat",
    "disable_lat", "disable_slat", "do_verify", "eta", "eta-newline", "exec_postrun", "exec_prerun", "fallocate",
    "file_append", "filename_format", "gtod_cpu", "gtod_reduce", "invalidate", "iopsavgtime", "job_start_clock_id",
    "lat_percentiles", "log_alternate_epoch", "log_alternate_epoch_clock_id", "log_avg_msec", "log_compression",
    "log_compression_cpus", "log_entries", "log_hist_coarseness", "log_hist_msec", "log_issue_time", "log_max_value",
    "log_offset", "log_prio", "log_store_compressed", "log_unix_epoch", "log_window_value", "openfiles", "overwrite",
    "per_job_logs", "pre_read", "profile", "randrepeat", "random_generator", "refill_buffers", "scramble_buffers",
    "significant_figures", "slat_percentiles", "stats", "thread", "unified_rw_reporting", "unique_filename",
    "unit_base", "unlink", "unlink_each_loop", "use_os_rand", "write_bw_log", "write_hist_log", "write_iops_log",
    "write_lat_log", "zero_buffers",
];

/// Options that would change the run.
const MISSING: &[&str] = &[
    "atomic", "blkzonemode", "blocksize_unaligned", "cgroup", "cgroup_nodelete", "cgroup_weight",
    "chunk_size", "clientname", "clustername", "cmdprio", "cmdprio_bssplit", "cmdprio_class", "cmdprio_hint",
    "cmdprio_percentage", "continue_on_error", "cpuchunks", "cpuload", "cpumask", "cpumode", "cpus_allowed",
    "cpus_allowed_policy", "cuda_io", "dataplacement", "deprioritize", "error_dump", "exit_on_io_done", "exit_what",
    "exitall", "exitall_on_error", "experimental_verify", "fadvise_hint", "fdatasync", "fdp", "fdp_pli",
    "fdp_pli_select", "file_service_type", "fill_device", "fill_fs", "fixedbufs", "flow", "flow_id", "flow_sleep",
    "flow_watermark", "force_async", "fsync", "fsync_on_close", "gpu_dev_id", "gpu_dev_ids", "hipri",
    "hipri_percentage", "hostname", "http_host", "http_mode", "http_s3_key", "http_s3_keyid", "http_s3_region",
    "http_swift_auth_token", "http_verbose", "https", "hugepage-size", "ignore_error", "ignore_zone_limits",
    "inplace", "interface", "io_submit_mode", "iodepth_batch", "iodepth_batch_complete_max",
    "iodepth_batch_complete_min", "iodepth_low", "ioscheduler", "job_max_open_zones", "latency_percentile",
    "latency_run", "latency_target", "latency_window", "listen", "lockfile", "lockmem", "max_latency", "max_open_zones",
    "md_per_io_size", "mem", "mem_align", "merge-only", "merge_blktrace_file", "merge_blktrace_iters",
    "merge_blktrace_scalars", "min_ratio", "mss", "namenode", "nice", "no_completion_thread", "nodelay",
    "nonvectored", "nowait", "num_range", "numa_cpu_nodes", "numa_mem_policy", "opendir", "pi_act", "pi_chk", "pingpong",
    "plid_select", "plids", "pool", "port", "prio", "prioclass", "priohint", "protocol", "pvsync2_flags",
    "rate_ignore_thinktime", "rate_iops_min", "ratecycle", "ratemin", "rbdname", "read_beyond_wp",
    "read_iolog", "read_iolog_chunked", "readfua", "recover_zbd_write_error", "registerfiles", "replay_align",
    "replay_no_stall", "replay_redirect", "replay_scale", "replay_skip", "replay_time_scale", "replay_time_scaling",
    "rwmixcycle", "sg_write_mode", "skip_bad", "softrandommap", "split_seqrw", "spdk_mem", "sqthread_poll",
    "sqthread_poll_cpu", "startport", "steadystate", "steadystate_check_interval", "steadystate_duration",
    "steadystate_ramp_time", "sync", "sync_file_range", "swapthreshold",
    "thinktime_blocks_type", "thinktime_iotime", "thinktime_spin", "touch_objects", "trim_backlog",
    "trim_backlog_batch", "trim_percentage", "trim_verify_zero", "ttl", "uid", "gid", "uncached", "verify",
    "verify_async", "verify_async_cpus", "verify_backlog", "verify_backlog_batch", "verify_dump", "verify_fatal",
    "verify_header_seed", "verify_interval", "verify_mode", "verify_offset", "verify_only", "verify_pattern",
    "verify_pattern_interval", "verify_state_load", "verify_state_save", "verify_table", "verify_write_sequence",
    "verifysort", "verifysort_nr", "verb", "bindname", "volname", "brick", "cmd_type", "window_size",
    "write_iolog", "write_mode", "writefua", "zonecapacity", "zonemode", "zonerange", "zonesize", "zoneskip",
    "zone_reset_frequency", "zone_reset_threshold", "xnvme_async", "xnvme_be", "xnvme_dev_nsid", "xnvme_dev_subnqn",
    "xnvme_iovec", "xnvme_mem", "xnvme_sync", "libblkio_driver", "libblkio_path", "libblkio_vfork", "apptag",
    "apptag_mask", "sprandom", "userspace_reap", "ioengine_so_path", "device", "donorname", "iolog", "sync_mode",
];

/// I/O engines: those that wait for each I/O, and those that keep several outstanding.
pub(super) const SYNC_ENGINES: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "sg"];

/// See [`SYNC_ENGINES`].
pub(super) const ASYNC_ENGINES: &[&str] = &[
    "libaio", "io_uring", "io_uring_cmd", "posixaio", "solarisaio", "windowsaio", "xnvme", "libblkio", "libzbc",
    "guasi", "syslet-rw", "nvme", "spdk",
];

/// Engines that do something else than reading and writing a volume, and what that is.
pub(super) const OTHER_ENGINES: &[(&str, &str)] = &[
    ("null", "it does no I/O"),
    ("cpuio", "it does no I/O, it burns cycles"),
    ("net", "it sends over a network; a flow of streams between stations of Ethernet does that here"),
    ("netsplice", "it sends over a network; a flow of streams between stations of Ethernet does that here"),
    ("rdma", "it sends over a network with RDMA; a flow of ranks, or of streams, does that here"),
    ("libcufile", "it moves data between a volume and a GPU; a flow of DMA does that here"),
    ("librpma_apm_client", "it writes to another host's memory"),
    ("librpma_apm_server", "it writes to another host's memory"),
    ("librpma_gpspm_client", "it writes to another host's memory"),
    ("librpma_gpspm_server", "it writes to another host's memory"),
    ("libpmem", "it stores to memory"),
    ("dev-dax", "it stores to memory"),
    ("rados", "it talks to a cluster"),
    ("rbd", "it talks to a cluster"),
    ("http", "it talks to a server"),
    ("gfapi", "it talks to a cluster"),
    ("gfapi_async", "it talks to a cluster"),
    ("libhdfs", "it talks to a cluster"),
    ("libnfs", "it talks to a server"),
    ("nfs", "it talks to a server"),
    ("libiscsi", "it talks to a server"),
    ("nbd", "it talks to a server"),
    ("mtd", "it erases flash blocks"),
    ("ftruncate", "it truncates files"),
    ("falloc", "it allocates files"),
    ("e4defrag", "it moves extents of a file system"),
    ("filecreate", "it creates files"),
    ("filestat", "it asks for files' data"),
    ("filedelete", "it deletes files"),
    ("dircreate", "it creates folders"),
    ("dirstat", "it asks for folders' data"),
    ("dirdelete", "it deletes folders"),
    ("exec", "it runs a program"),
    ("ime_psync", "it talks to a server"),
    ("ime_psyncv", "it talks to a server"),
    ("ime_aio", "it talks to a server"),
    ("external", "its code is somewhere else"),
    ("pmemblk", "it stores to memory"),
];

/// An option's own name and what it does; none where fio has no such option.
pub(super) fn find(written: &str) -> Option<(&'static str, Effect)> {
    let of = |name: &str| {
        let lists = [(MODELLED, Effect::Modelled), (NOTHING, Effect::Nothing), (MISSING, Effect::Missing)];
        lists.into_iter().find_map(|(list, effect)| list.iter().find(|n| **n == name).map(|n| (*n, effect)))
    };
    let alias = ALIASES.iter().find(|a| a.0 == written).map_or(written, |a| a.1);
    of(alias)
}

/// Every name that fio knows, for the nearest to a misspelt one.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let aliases = ALIASES.iter().map(|a| a.0);
    MODELLED.iter().chain(NOTHING).chain(MISSING).copied().chain(aliases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_in_one_list() {
        let all: Vec<&str> = MODELLED.iter().chain(NOTHING).chain(MISSING).copied().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for (written, name) in ALIASES {
            assert!(find(written).is_some_and(|f| f.0 == *name), "{written}");
        }
        assert_eq!(find("readwrite"), Some(("rw", Effect::Modelled)));
        assert_eq!(find("rw_mix"), None);
    }
}
