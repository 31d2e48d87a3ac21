//! NVMe over PCIe: what a command puts on the wire beside its data.
//!
//! References: NVM Express Base Specification 2.0, and its PCIe Transport Specification 1.0. A host writes a command
//! into a submission queue in its memory and rings the queue's tail doorbell; the controller fetches the command, moves
//! its data, writes an entry into a completion queue in host memory and interrupts; the host takes the entry out and
//! rings the completion queue's head doorbell.
//!
//! Clauses of the Base Specification 2.0 that were held against public sources which quote them by number: 3.1.3 (CAP,
//! CC), 3.3.3.1, 3.3.3.2 and 4.1.1, with the sizes, and PCIe Transport 1.0, 3.1.2, against the NVMe driver of Fuchsia
//! (commands.h, registers.h, queue-pair.h); 3.3.1.5 against that of SerenityOS and revision 2.1; 5.17 and 5.27.1.1 to
//! 5.27.1.7 against an index of the features of 2.0. Sizes of ranges and their number are those of Linux
//! (`struct nvme_dsm_range`, `NVME_DSM_MAX_RANGES`). From memory, and not checked: 3.3.1 for the identifiers of queues,
//! 5.8 for shadow doorbells, 5.17.2.1 for MDTS, and PCIe 3.0, 6.8.2.
//!
//! NVMe over Fabrics 1.1 and the RDMA Transport Specification 1.0 carry the same commands in messages. A submission and
//! a completion queue are one RDMA queue pair; a capsule is one SEND; data are moved by the controller alone, by RDMA
//! READ and RDMA WRITE, and the response follows all WRITEs of its command on the same queue pair; data of a write may
//! come in its capsule, which has then no list. That is as a summary of revision 1.0a of the RDMA transport has it
//! (its chapters on queues, data transfers and capsules), with the sizes of Linux (`struct nvme_command`, `struct
//! nvme_completion`, drivers/nvme/target/rdma.c). Clauses of Fabrics 1.1 are named by their titles: their numbers
//! could not be confirmed.

/// A command in a submission queue, B (Base 2.0, 3.3.3.1; CC.IOSQES is 6 for the NVM command set).
pub(crate) const COMMAND: u64 = 64;
/// An entry of a completion queue, B (Base 2.0, 3.3.3.2; CC.IOCQES is 4).
pub const COMPLETION: u64 = 16;
/// A write to a tail or head doorbell, B (PCIe Transport 1.0, 3.1.2: SQyTDBL and CQyHDBL have 32 bits).
pub(crate) const DOORBELL: u64 = 4;
/// An interrupt: a write of an MSI-X message, B (PCIe 3.0, 6.8.2).
pub const INTERRUPT: u64 = 4;
/// A command capsule without data, B: its submission queue entry (Fabrics 1.1, Capsules; IOCCSZ is 4 or more units of
/// 16 B, Base 2.0, 5.17.2.1).
pub(crate) const COMMAND_CAPSULE: u64 = COMMAND;
/// A response capsule, B: a completion queue entry; on RDMA no data come in it (Fabrics 1.1, Capsules; IORCSZ is 1).
pub(crate) const RESPONSE_CAPSULE: u64 = COMPLETION;
/// A PRP entry, B (Base 2.0, 4.1.1).
pub(crate) const PRP: u64 = 8;
/// One range of a Dataset Management command, B: what it deallocates is in a list of up to 256 of them (NVM Command
/// Set, Dataset Management; Linux: `struct nvme_dsm_range`).
pub const RANGE: u64 = 16;
/// No queue has more entries: CAP.MQES is a number of 16 bits, from 0 (Base 2.0, 3.1.3.1).
pub(crate) const MOST_ENTRIES: u32 = 1 << 16;
/// No controller has more I/O queue pairs: queue identifiers have 16 bits, and 0 is the admin queue (Base 2.0, 3.3.1).
pub(crate) const MOST_QUEUES: u32 = u16::MAX as u32;

/// Bytes of PRP lists that a controller reads for a command whose buffer begins at a page (Base 2.0, 4.1.1).
///
/// PRP1 and PRP2 lie in the command: up to two pages need no list. Of more, PRP2 points to a list with an entry for
/// each page behind the first; where a list is longer than a page, the last entry of that page points to the next.
pub fn prp_lists(bytes: u64, page: u64) -> u64 {
    let page = page.max(2 * PRP);
    let pages = bytes.div_ceil(page);
    if pages <= 2 {
        return 0;
    }
    // Each page of the list but the last gives its last entry to a pointer.
    let (left, each) = (pages - 1, page / PRP);
    let pointers = left.saturating_sub(each).div_ceil(each - 1);
    (left + pointers) * PRP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pages_lie_in_the_command_and_more_in_lists() {
        assert_eq!([1, 4096, 8192].map(|n| prp_lists(n, 4096)), [0, 0, 0]);
        assert_eq!(prp_lists(8193, 4096), 16);
        assert_eq!(prp_lists(128 << 10, 4096), 31 * 8);
        // 513 pages: 512 entries fill one page of a list; of one more, a pointer leads to two.
        assert_eq!(prp_lists(513 << 12, 4096), 4096);
        assert_eq!(prp_lists(514 << 12, 4096), 4096 + 16);
    }

    /// Page by page, as a controller walks them.
    #[test]
    fn lists_are_those_of_a_walk() {
        let walk = |bytes: u64, page: u64| {
            let (mut left, mut entries, each) = (bytes.div_ceil(page) - 1, 0, page / PRP);
            if left <= 1 {
                return 0;
            }
            loop {
                if left <= each {
                    return (entries + left) * PRP;
                }
                entries += each;
                left -= each - 1;
            }
        };
        for page in [32, 64, 4096] {
            for pages in 1..3000 {
                assert_eq!(prp_lists(pages * page, page), walk(pages * page, page), "{pages} pages of {page} B");
            }
        }
    }
}
