//! The memory that processes hold together, from what /proc tells of each: private memory, and shared memory once.
//!
//! Files that are mapped or cached are not counted: the kernel takes those pages back when it needs them. Where it cannot
//! be told whether two hold the same memory it is counted once: a command that is ended really held more than the limit.
//! What /proc tells of no process is not counted either: memory of the kernel's for them (sockets, page tables), shared
//! pages that nobody maps any more. A control group counts these.

use std::fs;

use crate::process_table::{Process, ProcessTable, kilobytes};
use crate::sandbox::SharedMemory;

/// What a command may always hold: so one that frees what earlier commands left can run.
const ALWAYS: u64 = 64 << 20;

/// What processes may hold.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    /// How much processes may hold together, in bytes.
    pub(crate) limit: u64,
    /// The memory of the run's namespaces that need not be in any process.
    shared: SharedMemory,
    /// How many bytes of `shared` earlier commands left.
    before: u64,
}

/// Memory that processes hold, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MemoryUse {
    private: u64,
    shared: u64,
}

impl MemoryUse {
    fn and(self, other: MemoryUse) -> MemoryUse {
        MemoryUse { private: self.private + other.private, shared: self.shared + other.shared }
    }

    fn sum(self) -> u64 {
        self.private + self.shared
    }
}

impl MemoryBudget {
    /// What a command may hold that begins now.
    pub(crate) fn of_command(limit: u64, shared: SharedMemory) -> MemoryBudget {
        MemoryBudget { limit, before: shared.bytes(), shared }
    }

    /// Whether the machine as a whole uses more than the limit: else nobody does, and no process need be asked.
    pub(crate) fn may_be_short(&self) -> bool {
        let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        in_use(&machine).is_none_or(|used| used > self.limit)
    }

    /// Whether these processes of `table` hold more than the limit. Each is asked for what it has, which counts twice
    /// what two share; if that is too much, for its part of it, which takes longer.
    pub(crate) fn is_over(&self, processes: &[Process], table: &ProcessTable) -> bool {
        let by_memory_pid = |process: &Process| Process { pid: table.memory_pid(process), ..*process };
        let processes: Vec<Process> = processes.iter().map(by_memory_pid).collect();
        let processes = &processes[..];
        let read = |process: &Process, name: &str| {
            table.read(process.pid, name).map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        let whole =
            |process: &Process| read(process, "status").map_or(MemoryUse::default(), |text| of_status(&text));
        let unmapped = self.shared.bytes() + table.memory_files(processes);
        let most = processes.iter().map(whole).fold(MemoryUse::default(), MemoryUse::and);
        if most.sum() + unmapped <= self.limit {
            return false;
        }
        let part = |process: &Process| {
            read(process, "smaps_rollup").and_then(|text| of_rollup(&text)).unwrap_or_else(|| whole(process))
        };
        let parts = processes.iter().map(part).fold(MemoryUse::default(), MemoryUse::and);
        let own = parts.private + parts.shared.max(unmapped.saturating_sub(self.before));
        parts.private + parts.shared.max(unmapped) > self.limit && own > ALWAYS.min(self.limit / 4)
    }
}

/// What a process has, alone or with others.
fn of_status(status: &str) -> MemoryUse {
    let field = |name| kilobytes(status, name).unwrap_or_default();
    MemoryUse { private: field("RssAnon:") + field("VmSwap:"), shared: field("RssShmem:") }
}

/// What a process has, with each shared page divided by the processes that map it; nothing where the kernel does not tell
/// (before Linux 5.4).
fn of_rollup(rollup: &str) -> Option<MemoryUse> {
    let private = kilobytes(rollup, "Pss_Anon:")? + kilobytes(rollup, "SwapPss:").unwrap_or_default();
    Some(MemoryUse { private, shared: kilobytes(rollup, "Pss_Shmem:")? })
}

/// What cannot be taken back of the memory of the machine, at most.
fn in_use(meminfo: &str) -> Option<u64> {
    let used = kilobytes(meminfo, "MemTotal:")?.saturating_sub(kilobytes(meminfo, "MemAvailable:")?);
    let swapped = kilobytes(meminfo, "SwapTotal:")?.saturating_sub(kilobytes(meminfo, "SwapFree:")?);
    Some(used + swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let status =
            "Name:\ta\nVmSwap:\t       4 kB\nRssAnon:\t      10 kB\nRssFile:\t  999 kB\nRssShmem:\t 2 kB\n";
        assert_eq!(of_status(status), MemoryUse { private: 14 << 10, shared: 2 << 10 });
        assert_eq!(of_status("Name:\tkthread\n"), MemoryUse::default());
        let rollup = "Rss: 9 kB\nPss_Anon: 3 kB\nPss_File: 99 kB\nPss_Shmem: 1 kB\nSwapPss: 2 kB\n";
        assert_eq!(of_rollup(rollup), Some(MemoryUse { private: 5 << 10, shared: 1 << 10 }));
        assert_eq!(of_rollup("Rss: 9 kB\n"), None);
        let machine =
            "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 60 kB\nSwapTotal: 8 kB\nSwapFree: 7 kB\n";
        assert_eq!(in_use(machine), Some(41 << 10));
        assert_eq!(in_use("MemTotal: 100 kB\n"), None);
    }
}
