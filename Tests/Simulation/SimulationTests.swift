import Cryptography
import Foundation
import SyncTestKit
import Synchronization
import Testing

/// Seeds in the environment choose what is run: `SYNCTRAIN_SIMULATION_SEED=n` one, with its trace;
/// `SYNCTRAIN_SIMULATION_SEEDS=n` so many from `SYNCTRAIN_SIMULATION_FIRST` (1) on, or `SYNCTRAIN_SIMULATION_MINUTES=n` as many
/// as fit into the time. 200 otherwise.
@Suite struct SimulationTests {
    private static func number(_ name: String) -> UInt64? { SimulationRun.number(name) }

    /// After any order of edits, faults and deaths, and then quiet: all agree, and nothing that anybody wrote is lost.
    @Test func replicasConvergeAndNothingIsLost() async throws {
        if let seed = Self.number("SEED") {
            let outcome = try await Simulation.run(seed: seed)
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        guard Self.number("FREEING_SEED") == nil else { return }
        let hasGroups = Flag()
        let hasLies = Flag()
        let histories = Mutex<[UInt64: String]>([:])
        try await SimulationRun.run(SimulationRun.seeds(200)) { outcome in
            histories.withLock { $0[outcome.seed] = outcome.hash }
            if outcome.lines.contains(where: { $0.hasPrefix("the liar, to ") }) { hasLies.set() }
            if outcome.lines.contains(where: { $0.contains(" files of a group") }) { hasGroups.set() }
            report(outcome)
        }
        // Where no two files of a group ever come together, nothing is tested of groups.
        #expect(hasGroups.isSet)
        #expect(hasLies.isSet)
        // The same for the same seeds.
        let hashes = histories.withLock { $0 }.sorted { $0.key < $1.key }
        let history = SHA256.digest(Array(hashes.map(\.value).joined().utf8))
        print("seeds: \(hashes.count), history \("\(history)".prefix(12))")
    }

    /// The same with archives, where every device has a policy for conflicts of its own and users settle the rest: all
    /// agree, and what is not in its place any more is in an archive.
    @Test func devicesWithPoliciesConvergeAndArchiveWhatTheyDrop() async throws {
        if let seed = Self.number("POLICY_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(policies: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        guard ["SEED", "NOTES_SEED", "FREEING_SEED"].allSatisfy({ Self.number($0) == nil }) else { return }
        let seeds = SimulationRun.seeds(45)
        try await SimulationRun.run(seeds, { .init(policies: $0) }) { report($0) }
    }

    /// The same with one device that may only read: what its user does reaches no other until the others let it in, and then
    /// all agree and nothing is lost.
    @Test func whatAReaderDoesStaysWithItUntilItIsLetIn() async throws {
        if let seed = Self.number("READER_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(readers: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        guard ["SEED", "POLICY_SEED", "NOTES_SEED", "FREEING_SEED"].allSatisfy({ Self.number($0) == nil }) else {
            return
        }
        let seeds = SimulationRun.seeds(40)
        let hasRefused = Flag()
        try await SimulationRun.run(seeds, { .init(readers: $0) }) { outcome in
            if outcome.lines.contains(where: { $0.contains(" refuses ") }) { hasRefused.set() }
            report(outcome)
        }
        // Where nothing is refused, nothing is tested.
        #expect(hasRefused.isSet)
    }

    /// The same with users who note things of files, on several devices at once: all read the same in the end, and it is what
    /// somebody said last.
    @Test func notesAreMergedWithoutConflicts() async throws {
        if let seed = Self.number("NOTES_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(notes: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        let others = ["SEED", "POLICY_SEED", "READER_SEED", "FREEING_SEED"]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        let seeds = SimulationRun.seeds(40)
        let hasNotes = Flag()
        try await SimulationRun.run(seeds, { .init(notes: $0) }) { outcome in
            if outcome.lines.contains(where: { $0.contains("tells") && $0.contains(".synctrain/notes/") }) {
                hasNotes.set()
            }
            report(outcome)
        }
        // Where no notes go from one to another, nothing is tested.
        #expect(hasNotes.isSet)
    }

    /// The same with users who free space, by hand and unattended, on devices that are apart and meet, of which some are brought
    /// back from backups: whatever goes from one disk is on another.
    @Test func whatIsFreedIsKeptElsewhere() async throws {
        if let seed = Self.number("FREEING_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(freeing: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        let others = ["SEED", "POLICY_SEED", "READER_SEED", "NOTES_SEED"]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        let seeds = SimulationRun.seeds(60)
        let counts = Mutex<[String: Int]>([:])
        try await SimulationRun.run(seeds, { .init(freeing: $0) }) { outcome in
            for line in outcome.lines {
                for words in [": freed [\"", "keeps space free of", "is restored", "are apart", ": ask", " promised"]
                where line.contains(words) { counts.withLock { $0[words, default: 0] += 1 } }
            }
            report(outcome)
        }
        // Where nothing goes, nothing is tested.
        print("freeing: \(counts.withLock { $0 }.sorted { $0.key < $1.key })")
        #expect(counts.withLock { $0 }.count == 6)
    }

    /// The same with users who make files where others make directories, and rename directories to such names: in the end all have
    /// the directory, and the file under another name.
    @Test func filesGiveWayToDirectories() async throws {
        if let seed = Self.number("COLLISION_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(collisions: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        let others = ["SEED", "POLICY_SEED", "READER_SEED", "NOTES_SEED", "FREEING_SEED"]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        try await SimulationRun.run(SimulationRun.seeds(40), { .init(collisions: $0) }) { outcome in
            report(outcome)
        }
    }

    /// The same with disks that take names for one which differ in case, or in how their letters are composed: what such a disk
    /// cannot hold is on the others, and everything else is everywhere.
    @Test func namesThatAreOneToADiskHarmNothing() async throws {
        if let seed = Self.number("FOLDING_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(folding: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        let others = ["SEED", "POLICY_SEED", "READER_SEED", "NOTES_SEED", "FREEING_SEED", "COLLISION_SEED"]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        let without = Mutex(0)
        try await SimulationRun.run(SimulationRun.seeds(40), { .init(folding: $0) }) { outcome in
            let count = outcome.lines.count { $0.contains(": has no room for ") }
            without.withLock { $0 += count }
            report(outcome)
        }
        // Where every name has room, nothing is tested.
        print("folding: \(without.withLock { $0 }) names without room")
        #expect(without.withLock { $0 } > 0)
    }

    /// The same where agents give one of two such files another name: in the end all files are on all disks.
    @Test func ofTwoFilesWithOneNameToADiskOneIsRenamed() async throws {
        if let seed = Self.number("CLASH_SEED") {
            let outcome = try await Simulation.run(seed: seed, weather: .init(clashes: seed))
            print(outcome.lines.joined(separator: "\n"))
            return report(outcome)
        }
        let others = [
            "SEED", "POLICY_SEED", "READER_SEED", "NOTES_SEED", "FREEING_SEED", "COLLISION_SEED", "FOLDING_SEED",
        ]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        let renamed = Mutex(0)
        try await SimulationRun.run(SimulationRun.seeds(40), { .init(clashes: $0) }) { outcome in
            if outcome.lines.contains(where: { $0.contains(".case-clash-") }) { renamed.withLock { $0 += 1 } }
            report(outcome)
        }
        // Where nothing is renamed, nothing is tested.
        print("clashes: \(renamed.withLock { $0 }) seeds with renamed files")
        #expect(renamed.withLock { $0 } > 10)
    }

    /// A simulation that could not fail would prove nothing: on disks that forget, seeds do fail.
    @Test(arguments: [FaultyDisk.Forgetting.contents, .names])
    func aDiskThatForgetsIsFoundOut(_ forgetting: FaultyDisk.Forgetting) async throws {
        let others = [
            "SEED", "POLICY_SEED", "READER_SEED", "NOTES_SEED", "FREEING_SEED", "COLLISION_SEED", "FOLDING_SEED",
            "CLASH_SEED", "SEEDS", "MINUTES",
        ]
        guard others.allSatisfy({ Self.number($0) == nil }) else { return }
        let found = Mutex<[UInt64: [String]]>([:])
        // Those that lose power, on disks that do not fail otherwise.
        let seeds = (1...(Self.number("FORGETTING") ?? 40)).filter { $0 % 3 == 2 && $0 % 4 != 3 }
        try await SimulationRun.run(seeds, { .init(seed: $0, forgetting: forgetting) }) { outcome in
            guard !outcome.problems.isEmpty else { return }
            found.withLock { $0[outcome.seed] = outcome.problems }
        }
        print("forgotten \(forgetting): \(found.withLock { $0.keys.sorted() }) of \(seeds.count)")
        #expect(found.withLock { !$0.isEmpty })
    }

    private func report(_ outcome: Simulation.Outcome) {
        guard !outcome.problems.isEmpty else { return }
        Issue.record("seed \(outcome.seed):\n  \(outcome.problems.joined(separator: "\n  "))")
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func theSameSeedRunsTheSameWay(seed: UInt64) async throws {
        let first = try await Simulation.run(seed: seed)
        let second = try await Simulation.run(seed: seed)
        let difference = zip(first.lines, second.lines).first { $0 != $1 }
        #expect(first.hash == second.hash, "\(difference.map { "\($0.0)\n\($0.1)" } ?? "")")
        // A run in which nothing happens would be the same each time, too.
        #expect(first.lines.count > 100)
    }
}
