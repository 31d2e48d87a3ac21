//! The 34 statistics that Iometer's bar charts show, in the seven categories of its menu, by the names of that menu
//! (Iometer 1.1.0).
//!
//! What their values are is worked out where results are (room `pens`); here are their names, units and how Iometer
//! prints them.

/// A submenu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// I/Os, transactions and connections per second.
    Operations,
    /// Data per second.
    Megabytes,
    /// Mean times.
    AverageLatency,
    /// Longest times.
    MaximumLatency,
    /// Processors.
    Cpu,
    /// Packets.
    Network,
    /// Errors.
    Errors,
}

impl Category {
    /// All, in the order of the menu.
    pub const ALL: [Category; 7] = [
        Category::Operations,
        Category::Megabytes,
        Category::AverageLatency,
        Category::MaximumLatency,
        Category::Cpu,
        Category::Network,
        Category::Errors,
    ];

    /// Its name in the menu.
    pub fn name(self) -> &'static str {
        match self {
            Category::Operations => "Operations per Second",
            Category::Megabytes => "Megabytes per Second",
            Category::AverageLatency => "Average Latency",
            Category::MaximumLatency => "Maximum Latency",
            Category::Cpu => "CPU",
            Category::Network => "Network",
            Category::Errors => "Errors",
        }
    }
}

/// Declares the statistics: variant, category, name, decimals on the display.
macro_rules! statistics {
    ($($(#[$m:meta])* $variant:ident $category:ident $name:literal $decimals:literal,)+) => {
        /// A statistic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Statistic { $($(#[$m])* $variant,)+ }

        impl Statistic {
            /// All, in the order of the menu.
            pub const ALL: &[Statistic] = &[$(Statistic::$variant),+];

            /// Its name in the menu and in set-ups.
            pub fn name(self) -> &'static str {
                match self { $(Statistic::$variant => $name),+ }
            }

            /// Where it stands in the menu.
            pub fn category(self) -> Category {
                match self { $(Statistic::$variant => Category::$category),+ }
            }

            /// Digits after the point where Iometer shows it.
            pub fn decimals(self) -> usize {
                match self { $(Statistic::$variant => $decimals),+ }
            }
        }
    };
}

statistics! {
    /// I/Os per second.
    Iops Operations "Total I/Os per Second" 2,
    /// Reads per second.
    ReadIops Operations "Read I/Os per Second" 2,
    /// Writes per second.
    WriteIops Operations "Write I/Os per Second" 2,
    /// Transactions per second.
    Transactions Operations "Transactions per Second" 2,
    /// Connections per second.
    Connections Operations "Connections per Second" 2,
    /// 10^6 bytes per second.
    MbpsDecimal Megabytes "Total MBs per Second (Decimal)" 2,
    /// 10^6 bytes read per second.
    ReadMbpsDecimal Megabytes "Read MBs per Second (Decimal)" 2,
    /// 10^6 bytes written per second.
    WriteMbpsDecimal Megabytes "Write MBs per Second (Decimal)" 2,
    /// 2^20 bytes per second.
    MbpsBinary Megabytes "Total MBs per Second (Binary)" 2,
    /// 2^20 bytes read per second.
    ReadMbpsBinary Megabytes "Read MBs per Second (Binary)" 2,
    /// 2^20 bytes written per second.
    WriteMbpsBinary Megabytes "Write MBs per Second (Binary)" 2,
    /// Mean time of an I/O, ms.
    Average AverageLatency "Average I/O Response Time (ms)" 4,
    /// Mean time of a read, ms.
    AverageRead AverageLatency "Avg. Read Response Time (ms)" 4,
    /// Mean time of a write, ms.
    AverageWrite AverageLatency "Avg. Write Response Time (ms)" 4,
    /// Mean time of a transaction, ms.
    AverageTransaction AverageLatency "Avg. Transaction Time (ms)" 4,
    /// Mean time of a connection, ms.
    AverageConnection AverageLatency "Avg. Connection Time (ms)" 4,
    /// Longest time of an I/O, ms.
    Maximum MaximumLatency "Maximum I/O Response Time (ms)" 4,
    /// Longest time of a read, ms.
    MaximumRead MaximumLatency "Max. Read Response Time (ms)" 4,
    /// Longest time of a write, ms.
    MaximumWrite MaximumLatency "Max. Write Response Time (ms)" 4,
    /// Longest time of a transaction, ms.
    MaximumTransaction MaximumLatency "Max. Transaction Time (ms)" 4,
    /// Longest time of a connection, ms.
    MaximumConnection MaximumLatency "Max. Connection Time (ms)" 4,
    /// Share of processors that work, %.
    Cpu Cpu "% CPU Utilization (total)" 2,
    /// Of that in user mode, %.
    CpuUser Cpu "% User Time" 2,
    /// Of that in privileged mode, %.
    CpuPrivileged Cpu "% Privileged Time" 2,
    /// Of that in deferred procedure calls, %.
    CpuDpc Cpu "% DPC Time" 2,
    /// Of that in interrupts, %.
    CpuInterrupt Cpu "% Interrupt Time" 2,
    /// Interrupts per second.
    Interrupts Cpu "Interrupts per Second" 2,
    /// I/Os per second for each % of the processors.
    Effectiveness Cpu "CPU Effectiveness" 2,
    /// Packets per second.
    Packets Network "Network Packets per Second" 2,
    /// Packets with errors.
    PacketErrors Network "Packet Errors" 2,
    /// TCP segments sent again per second.
    Retransmissions Network "TCP Segments Retrans. per Sec." 2,
    /// I/Os that failed.
    TotalErrors Errors "Total Error Count" 0,
    /// Reads that failed.
    ReadErrors Errors "Read Error Count" 0,
    /// Writes that failed.
    WriteErrors Errors "Write Error Count" 0,
}

impl Statistic {
    /// What the six bar charts show at first.
    pub const DEFAULT: [Statistic; 6] = [
        Statistic::Iops,
        Statistic::MbpsDecimal,
        Statistic::Average,
        Statistic::Maximum,
        Statistic::Cpu,
        Statistic::TotalErrors,
    ];

    /// From its name, in any case. Up to 2008 the three of megabytes were called without "(Binary)", and were so.
    pub fn named(name: &str) -> Option<Statistic> {
        let old = ["Total MBs per Second", "Read MBs per Second", "Write MBs per Second"];
        let new = [Statistic::MbpsBinary, Statistic::ReadMbpsBinary, Statistic::WriteMbpsBinary];
        let by = |s: &&Statistic| s.name().eq_ignore_ascii_case(name);
        let before = || old.iter().zip(new).find(|(o, _)| o.eq_ignore_ascii_case(name)).map(|(_, s)| s);
        Statistic::ALL.iter().find(by).copied().or_else(before)
    }

    /// As Iometer's display shows a value: `1196.49`, `0.8350`, `1.22 %`.
    pub fn show(self, value: f64) -> String {
        let percent = matches!(
            self,
            Statistic::Cpu
                | Statistic::CpuUser
                | Statistic::CpuPrivileged
                | Statistic::CpuDpc
                | Statistic::CpuInterrupt
        );
        format!("{value:.*}{}", self.decimals(), if percent { " %" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_34_in_7_categories() {
        let sizes = Category::ALL.map(|c| Statistic::ALL.iter().filter(|s| s.category() == c).count());
        assert_eq!(sizes, [5, 6, 5, 5, 7, 3, 3]);
        assert_eq!(Statistic::ALL.len(), 34);
        for s in Statistic::ALL {
            assert_eq!(Statistic::named(&s.name().to_uppercase()), Some(*s));
        }
        assert_eq!(Statistic::named("Total MBs per Second"), Some(Statistic::MbpsBinary));
        assert_eq!(Statistic::named("Total MBs"), None);
        assert_eq!(
            (Statistic::Cpu.show(1.218407), Statistic::Average.show(0.835007)),
            ("1.22 %".into(), "0.8350".into())
        );
        assert_eq!(Statistic::TotalErrors.show(0.0), "0");
    }
}
