//! The keys of NVMe: a controller and its queues. What is behind it has the keys of a solid-state drive, what is before
//! it those of an endpoint; the host's side of a queue stands with the flow of I/Os.

use super::*;

words! {
    /// How a command says where its data are.
    DataPointers {
        /// Physical region pages: one page each, in lists where there are more than two.
        Prp = "prp",
        /// A scatter-gather list: one descriptor in the command, of a buffer in one piece.
        Sgl = "sgl",
    }
}

words! {
    /// How a host tells a controller of new commands, and of completions that it has taken out.
    Doorbells {
        /// By a write to a register of the controller.
        Registers = "registers",
        /// By a write to host memory that the controller looks at by itself: nothing crosses the link for it, as where
        /// a hypervisor is the controller.
        Shadow = "shadow",
    }
}

words! {
    /// How a worker hears of completions.
    Completions {
        /// The controller interrupts.
        Interrupts = "interrupts",
        /// The worker looks at the queue all the time.
        Polling = "polling",
    }
}

words! {
    /// What lies between a program and the drive: the ways of a host to issue I/Os.
    HostSoftware {
        /// A kernel of 2006 with its SCSI layer and one lock.
        Kernel2006 = "kernel-2006",
        /// The kernel's asynchronous I/O (libaio), by interrupts.
        Libaio = "libaio",
        /// io_uring, by interrupts.
        IoUring = "io_uring",
        /// io_uring with polled queues (IOPOLL).
        IoUringPolled = "io_uring-polled",
        /// Synchronous calls, each a system call that sleeps.
        Psync = "psync",
        /// A driver in user space that polls (SPDK).
        Spdk = "spdk",
    }
}

words! {
    /// A host's processor, by its generation.
    HostProcessor {
        /// A server of 2006.
        Server2006 = "server-2006",
        /// A server of 2012.
        Server2012 = "server-2012",
        /// A server of 2017.
        Server2017 = "server-2017",
        /// A server of 2021.
        Server2021 = "server-2021",
        /// A desktop of 2021, at its turbo clock.
        Desktop2021 = "desktop-2021",
        /// A single-board computer of 2020: small cores.
        Board2020 = "board-2020",
    }
}

table! {
    /// An NVMe controller. The drive behind it has the keys of a solid-state drive, its port those of an endpoint.
    Nvme, NVME, "an NVMe drive" {
        /// I/O queue pairs that it has (Base 2.0, 5.27.1.5). Where workers ask for more they share them.
        queue_pairs: default NonZeroU32, Low = "64" Assumed Likely
            "controllers of 2015 to 2023 have 8 (clients) to 128 (servers)";
        /// Entries of a queue: CAP.MQES + 1 (Base 2.0, 3.1.3.1). One of them stays free; more commands wait in the
        /// host.
        queue_entries: default NonZeroU32, Low = "1024" Assumed Likely "what Linux asks for, and most allow";
        /// Commands that one read fetches at most, of those that have been rung for.
        commands_fetched: default NonZeroU32, Low = "1" Assumed Guess "each by itself";
        /// Time of its processor for one command, one after the other: what caps the I/Os of all queues.
        command_time: default Time, High = "{ low = \"500 ns\", typical = \"1 us\", high = \"4 us\" }" Assumed Guess
            "250,000 to 2,000,000 commands per second";
        /// Time for one command of one queue pair, one after the other: what caps the I/Os of a queue.
        queue_time: default Time, High = "\"0 ns\"" Assumed Guess "a queue can have all of the controller";
        /// What it adds to each command beside others: firmware, mapping table, error correction.
        command_latency: default Time, High = "{ low = \"1 us\", typical = \"3 us\", high = \"10 us\" }" Assumed Guess
            "what drives with write caches take for a write beyond their link";
        /// Time of its processor for a deallocation (Dataset Management), beside command_time. Without it the drive
        /// takes no trims.
        trim_time: opt Time, High;
        /// With trim_time: what a deallocation takes off its map in a second, one after the other, beside trim_time.
        trim_rate: opt Rate, Low;
        /// Data of one command: MDTS (Base 2.0, 5.17.2.1). The host splits larger I/Os.
        max_transfer: default Bytes, Low = "\"128 KiB\"" Assumed Likely
            "MDTS of 5 pages of 4 KiB, the least that is common";
        /// How commands say where their data are.
        data_pointers: default DataPointers, One = "\"prp\"" Standard Likely
            "Base 2.0, 4.1.1: every controller on PCIe";
        /// A page of host memory, of PRP lists (CC.MPS).
        memory_page: default Bytes, Low = "\"4 KiB\"" Standard Likely "the page of x86, and what drivers set";
        /// How it is told of commands, and of completions that were taken out (Base 2.0, 5.8).
        doorbells: default Doorbells, One = "\"registers\"" Standard Likely
            "shadow doorbells are for controllers that a hypervisor emulates";
        /// Completion entries that one interrupt stands for, at most: aggregation threshold (Base 2.0, 5.27.1.6).
        coalesced: default NonZeroU32, High = "1" Standard Likely "Base 2.0, 5.27.1.6: none until it is set";
        /// For how long an entry waits for others before an interrupt: aggregation time; 0 does not wait.
        coalesce_time: default Time, High = "\"0 ns\"" Standard Likely "Base 2.0, 5.27.1.6: none until it is set";
        /// Header of its requests on PCIe: 3DW for 32-bit addresses, 4DW above 4 GiB (2.0, 2.2.4.1).
        header: default Header, Low = "\"4DW\"" Assumed Likely "buffers above 4 GiB";
    }
}

/// A controller, and the drive behind it.
#[derive(Clone, Debug)]
pub struct NvmeDrive {
    /// The controller.
    pub controller: Nvme,
    /// What is behind it: the model of every solid-state drive. Its command_time is the controller's.
    pub flash: Ssd,
}

impl NvmeDrive {
    /// Takes the two tables of a part apart.
    pub(in crate::scenario) fn of(
        diagnostics: &mut Diagnostics,
        [controller, flash]: [&Table; 2],
        span: Span,
    ) -> Option<Self> {
        let (controller, flash) = (Nvme::read(diagnostics, controller, span), Ssd::read(diagnostics, flash, span));
        let (controller, mut flash) = (controller?, flash?);
        flash.command_time = controller.command_time.clone();
        Some(NvmeDrive { controller, flash })
    }

    /// Never alone: a drive has the keys of its port too.
    pub(in crate::scenario) fn read(diagnostics: &mut Diagnostics, table: &Table, span: Span) -> Option<Self> {
        NvmeDrive::of(diagnostics, [table, &Table::default()], span)
    }

    /// Everything that is set of both.
    pub fn settings(&self) -> Vec<Setting> {
        [self.controller.settings(), self.flash.settings()].concat()
    }
}
