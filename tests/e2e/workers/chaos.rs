//! Workers, database and network fail again and again while threads are run: in the end every thread has ended, and each of its
//! steps is there once.
//!
//! By hand with other counts: `FLEET_WORKERS=16 FLEET_THREADS=2000 FLEET_FAULTS=400 cargo test --release --test e2e
//! workers::chaos -- --nocapture`. The disks that run full are file systems in memory, which only root can make; without, these
//! faults are left out, and it is said.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use uwf_engine::open_store;
use uwf_engine::thread::{self, ThreadId};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::{nodes, sync};
use uwf_store::Hash;

use super::fleet::{Fleet, Machine, Worker, now};
use super::proxy::{Network, Proxy};
use crate::site::Site;

/// How long a lease is, and how long a worker is frozen.
const LEASE: &str = "3s";
const FROZEN: Duration = Duration::from_secs(6);
const STEPS: i64 = 6;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// A machine with its worker, whatever has become of that.
struct Station {
    worker: Option<Worker>,
    machine: Machine,
    thaws_at: Option<Instant>,
    disk: Option<Disk>,
}

impl Station {
    fn tend(&mut self, has_died: &mut u32) {
        if self.thaws_at.is_some_and(|at| at <= Instant::now()) {
            self.worker.iter().for_each(|worker| worker.signal("-CONT"));
            self.thaws_at = None;
        }
        if let Some(worker) = &mut self.worker
            && worker.0.try_wait().unwrap().is_some()
        {
            *has_died += 1;
            self.worker = None;
        }
        if self.worker.is_none() {
            self.thaws_at = None;
            self.worker = Some(self.machine.start(&["--lease", LEASE, "--grace", "30s", "--parallel", "2"]));
        }
    }

    fn kill(&mut self) {
        self.worker = None;
    }

    fn freeze(&mut self) {
        if self.thaws_at.is_none()
            && let Some(worker) = &self.worker
        {
            worker.signal("-STOP");
            self.thaws_at = Some(Instant::now() + FROZEN);
        }
    }
}

/// A small file system in memory.
struct Disk(PathBuf);

impl Disk {
    /// None where this user may not make one.
    #[expect(clippy::print_stdout, reason = "who looks at a test's output sees what was left out")]
    fn at(dir: PathBuf, megabytes: usize) -> Option<Disk> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"]).arg(&dir);
        let mounted = mount.output().ok().is_some_and(|said| said.status.success());
        if !mounted {
            println!("no disk is full: this user may not mount any");
        }
        mounted.then_some(Disk(dir))
    }

    /// One that the data of a database are on from now on.
    fn below(postgres: &mut Postgres, megabytes: usize) -> Option<Disk> {
        let (data, before) = (postgres.path().join("data"), postgres.path().join("before"));
        postgres.stop();
        fs::rename(&data, &before).unwrap();
        fs::create_dir(&data).unwrap();
        let disk = Disk::at(data.clone(), megabytes);
        // With its owner and rights.
        let copied = Command::new("cp").arg("-aT").args([&before, &data]).status().unwrap();
        assert!(copied.success());
        postgres.restart();
        disk
    }

    fn fill(&self) {
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 1 << 16]).is_ok() {}
    }

    fn empty(&self) {
        fs::remove_file(self.0.join("ballast")).ok();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).output().ok();
    }
}

/// Numbers that look like chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

const FAULTS: [&str; 10] = [
    "killed",
    "frozen",
    "clock set",
    "database crashed",
    "network closed",
    "network cut",
    "network silent",
    "network slow",
    "disk full",
    "database full",
];

/// What fails, and how often it did.
struct Chaos {
    stations: Vec<Station>,
    proxy: Proxy,
    database: Option<Disk>,
    counts: BTreeMap<&'static str, u32>,
    chance: Chance,
    died: u32,
    /// What ends at which time.
    ends: Vec<(Instant, &'static str, usize)>,
}

impl Chaos {
    fn fault(&mut self, fleet: &mut Fleet, kind: &'static str) {
        let at = self.chance.below(self.stations.len());
        let later = |ms: u64| Instant::now() + Duration::from_millis(ms);
        match kind {
            "killed" => self.stations[at].kill(),
            "frozen" => self.stations[at].freeze(),
            "database crashed" => {
                fleet.postgres.kill();
                fleet.postgres.restart();
            }
            "clock set" => {
                let clocks: Vec<_> =
                    self.stations.iter().filter_map(|station| station.machine.clock()).collect();
                let Some(clock) = clocks.get(self.chance.below(clocks.len().max(1))) else { return };
                clock.set([3_600, -3_600, 0][self.chance.below(3)]);
            }
            "disk full" => {
                let Some(at) = self.stations.iter().position(|station| station.disk.is_some()) else {
                    return;
                };
                self.stations[at].disk.iter().for_each(Disk::fill);
                self.ends.push((later(8_000), kind, at));
            }
            "database full" => {
                let Some(disk) = &self.database else { return };
                disk.fill();
                self.ends.push((later(2_000), kind, 0));
            }
            _ => {
                let (network, ms) = match kind {
                    "network closed" => (Network::Closed, 1_000),
                    "network cut" => (Network::Cuts, 300),
                    "network silent" => (Network::Silent, 5_000),
                    _ => (Network::Slow, 2_000),
                };
                self.proxy.set(network);
                self.ends.push((later(ms), kind, 0));
            }
        }
        *self.counts.entry(kind).or_default() += 1;
    }

    fn tend(&mut self, fleet: &mut Fleet) {
        self.stations.iter_mut().for_each(|station| station.tend(&mut self.died));
        let now = Instant::now();
        let (over, still) = std::mem::take(&mut self.ends).into_iter().partition(|(at, ..)| *at <= now);
        self.ends = still;
        for (_, kind, at) in over {
            self.mend(fleet, (kind, at));
        }
    }

    fn mend(&mut self, fleet: &mut Fleet, (kind, at): (&str, usize)) {
        match kind {
            "disk full" => self.stations[at].disk.iter().for_each(Disk::empty),
            "database full" => {
                self.database.iter().for_each(Disk::empty);
                // Where its log found no place it has ended.
                fleet.postgres.restart();
            }
            _ => self.proxy.set(Network::Works),
        }
    }

    /// Everything works again, and the workers end as they are asked to.
    fn end(&mut self, fleet: &mut Fleet) {
        for (_, kind, at) in std::mem::take(&mut self.ends) {
            self.mend(fleet, (kind, at));
        }
        for station in &mut self.stations {
            if let Some(worker) = station.worker.take() {
                worker.signal("-CONT");
                worker.signal("-TERM");
                assert_eq!(worker.wait(), 0, "{}", fs::read_to_string(station.machine.log()).unwrap());
            }
        }
    }
}

fn chaos(fleet: &mut Fleet, workers: usize, threads: usize) -> Chaos {
    let database = Disk::below(&mut fleet.postgres, 128 + threads / 4);
    let fleet = &*fleet;
    let proxy = Proxy::to(fleet.postgres.path().join(".s.PGSQL.5432"));
    let station = |number: usize| {
        let mut disk = None;
        if number == 0 {
            let dir = fleet.submitter.home().with_file_name("disk");
            fs::create_dir(&dir).unwrap();
            disk = Disk::at(dir, 24);
        }
        let machine = match &disk {
            Some(disk) => fleet.machine_at(&disk.0),
            None => fleet.machine(),
        };
        let machine = machine.slow(200);
        let machine = if number % 3 == 1 { machine.with_a_clock() } else { machine };
        // Half of them by the network, half by the socket.
        let machine = if number.is_multiple_of(2) { machine.by(proxy.url()) } else { machine };
        Station { machine, worker: None, thaws_at: None, disk }
    };
    let stations = (0..workers).map(station).collect();
    Chaos { stations, proxy, database, counts: BTreeMap::new(), chance: Chance(7), died: 0, ends: Vec::new() }
}

#[test]
fn whatever_fails_every_thread_ends_and_has_each_step_once() {
    let Some(mut fleet) = Fleet::new(6) else { return };
    let (workers, count) = (number("FLEET_WORKERS", 4), number("FLEET_THREADS", 24));
    let faults = number("FLEET_FAULTS", 14);
    let threads = fleet.submit(count);
    let mut chaos = chaos(&mut fleet, workers, count);
    let begun = Instant::now();
    let left = "SELECT count(*) FROM uwf.thread WHERE state <> 'done'";
    let (mut made, mut next) = (0, Instant::now() + Duration::from_secs(1));
    loop {
        chaos.tend(&mut fleet);
        if made < faults && Instant::now() >= next {
            chaos.fault(&mut fleet, FAULTS[made % FAULTS.len()]);
            made += 1;
            next = Instant::now() + Duration::from_millis(500 + chaos.chance.below(1_000) as u64);
        }
        sleep(Duration::from_millis(100));
        if fleet.try_count(left) == Some(0) {
            break;
        }
        let limit = Duration::from_secs(number("FLEET_SECONDS", 600) as u64);
        assert!(begun.elapsed() < limit, "{} are left; {:?}", fleet.count(left), chaos.counts);
    }
    let took = begun.elapsed();
    chaos.end(&mut fleet);
    check(&fleet, &threads, &chaos, took);
}

/// Everything that must be so, and what came of it in numbers.
#[expect(clippy::print_stdout, reason = "who looks at a test's output sees what came of it")]
fn check(fleet: &Fleet, threads: &[ThreadId], chaos: &Chaos, took: Duration) {
    let total = i64::try_from(threads.len()).unwrap();
    let one = |sql: &str| fleet.count(sql);
    assert_eq!(
        one(&format!(
            "SELECT count(*) FROM uwf.thread WHERE state = 'done' AND status = 'end' AND steps = {STEPS}"
        )),
        total
    );
    // By what was told of them: no step twice, none lost, each from where the one before it led to, fences that only grow.
    let steps = one("SELECT count(*) FROM uwf.event WHERE kind = 'step'");
    assert_eq!(steps, total * STEPS);
    let broken = "SELECT count(*) FROM (
        SELECT data ->> 'from' AS origin, lag(data ->> 'to') OVER each AS before, fence, lag(fence) OVER each AS earlier
        FROM uwf.event WHERE kind = 'step' WINDOW each AS (PARTITION BY thread ORDER BY id)) AS s
        WHERE before IS NOT NULL AND (before <> origin OR earlier > fence)";
    assert_eq!(one(broken), 0);
    let claims = "SELECT count(*) FROM (
        SELECT fence, lag(fence) OVER (PARTITION BY thread ORDER BY id) AS earlier FROM uwf.event WHERE kind = 'claimed') AS c
        WHERE earlier >= fence";
    assert_eq!(one(claims), 0);
    let nodes = whole(fleet, threads);
    for station in &chaos.stations {
        station.machine.site.verify();
    }
    let calls = calls(fleet, &chaos.stations);
    assert_eq!(calls.after_push, 0, "what was pushed is not made again");
    let event = |kind: &str| one(&format!("SELECT count(*) FROM uwf.event WHERE kind = '{kind}'"));
    println!(
        "{} workers, {total} threads, {steps} steps in {:.0} s; faults: {:?}; connections cut: {}; workers that ended by themselves: {}\n\
         claims {}, leases lost {}, failures {}, handed back {}; nodes at the remote, all whole: {nodes}\n\
         agents begun {}, of these with a step {}; steps made again because they were not pushed: {}",
        chaos.stations.len(),
        took.as_secs_f64(),
        chaos.counts,
        chaos.proxy.closed(),
        chaos.died,
        event("claimed"),
        event("lost"),
        event("failed"),
        event("handed back"),
        calls.begun,
        calls.ended,
        i64::from(calls.ended) - steps,
    );
}

/// Fetches everything that the remote has into a new store, where each node is checked by its hash and its digest.
fn whole(fleet: &Fleet, threads: &[ThreadId]) -> usize {
    let site = Site::in_memory();
    let store = open_store(&site.home().join(".ocas"), now).unwrap();
    let mut at = fleet.connection();
    let rows = at.client().query("SELECT hash FROM uwf.node", &[]).unwrap();
    let hashes: Vec<Hash> = rows.iter().map(|row| row.get::<_, String>(0).parse().unwrap()).collect();
    nodes::get(&mut at, &store, &hashes).unwrap();
    for thread in threads {
        sync::fetch(&mut at, &store, thread).unwrap();
        let chain = thread::chain(&store, &thread::head(&store, thread).unwrap().hash).unwrap();
        let roles: Vec<&str> = chain.steps.iter().map(|(_, step)| step.role.as_str()).collect();
        assert_eq!(roles, ["one", "two", "three", "four", "five", "six"], "{thread}");
    }
    site.verify();
    hashes.len()
}

#[derive(Default)]
struct Calls {
    begun: u32,
    ended: u32,
    /// Begun after a step of the same role was at the remote.
    after_push: u32,
}

/// What the agents have noted: `begin THREAD ROLE UPTIME`.
fn calls(fleet: &Fleet, stations: &[Station]) -> Calls {
    let boot = boot();
    let sql =
        "SELECT thread, data ->> 'role', extract(epoch FROM at)::float8 FROM uwf.event WHERE kind = 'step'";
    let rows = fleet.postgres.client().query(sql, &[]).unwrap();
    let pushed: BTreeMap<(String, String), f64> =
        rows.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect();
    let mut calls = Calls::default();
    for line in stations.iter().flat_map(|station| station.machine.calls()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, thread, role, uptime] = words[..] else { panic!("{line}") };
        if what == "end" {
            calls.ended += 1;
            continue;
        }
        calls.begun += 1;
        let begun = boot + uptime.parse::<f64>().unwrap();
        // The clock of the kernel is told in hundredths.
        if pushed.get(&(thread.to_owned(), role.to_owned())).is_some_and(|pushed| begun > pushed + 0.1) {
            calls.after_push += 1;
        }
    }
    calls
}

/// When the machine was started, in seconds since the epoch.
fn boot() -> f64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    now() as f64 / 1e3 - uptime.split(' ').next().unwrap().parse::<f64>().unwrap()
}
