import AgentConfiguration
import ControlAPI
import FileAccess
import Foundation
import IndexStore
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// One call of the disk fails, once, while something goes to the archive, and the process goes on: each of the calls, one after
/// the other, with each errno. Deaths at the same calls: `VersionTests`, `PlacerCrashTests`, `GroupCrashTests`.
@Suite(.serialized, .timeLimit(.minutes(60))) struct ArchiveFaultTests {
    static let scenes: [ArchiveScene] =
        ArchiveScene.Way.allCases.flatMap { way in
            [ArchiveScene(way: way, kind: .trashcan), ArchiveScene(way: way, kind: .simple, place: .onAnotherDisk)]
        }
        + [ArchiveScene.Way.replaced, .deleted, .symlink].flatMap { way in
            [
                ArchiveScene(way: way, kind: .simple, place: .besideFolder),
                ArchiveScene(way: way, kind: .trashcan, place: .onAnotherDisk),
                ArchiveScene(way: way, kind: .trashcan, hasOlder: true),
                ArchiveScene(way: way, kind: .simple, hasOlder: true),
                ArchiveScene(way: way, kind: .staggered, hasOlder: true),
            ]
        }

    /// A world gets slower the longer it is.
    private static let roundsInAWorld = 12

    @Test(arguments: scenes) func whatIsReplacedIsNeverNowhere(scene: ArchiveScene) async throws {
        let found = Mutex<(problems: [String], faults: [ArchiveFault]?, next: Int)>(([], nil, 0))
        // Many in one world, until something is wrong in it.
        while found.withLock({ found in found.faults.map { found.next < $0.count } ?? true }) {
            var weather = Simulation.Weather(agentCount: 2)
            weather.groups = ["g/*.{a,b,c,d}"]
            try await Simulation.run(seed: 1, weather: weather) { simulation in
                simulation.isQuiet = true
                let second = simulation.agents[1]
                simulation.configure(second) { $0.versions = scene.versions(below: simulation.home) }
                second.disk.mayLosePower = false
                if scene.place == .onAnotherDisk { second.disk.otherDisk = "\(simulation.home)/archive" }
                let archive = ArchiveAttempt(scene: scene, home: simulation.home, agent: second)
                let plain = try await simulation.attempt(archive, round: 0, fault: nil)
                guard plain.problems.isEmpty else {
                    return found.withLock { $0 = ($0.problems + plain.problems, [], 0) }
                }
                let faults = archive.faults(in: plain.calls)
                found.withLock { $0.faults = faults }
                let next = found.withLock { $0.next }
                for index in next..<min(next + Self.roundsInAWorld, faults.count) {
                    let outcome = try await simulation.attempt(archive, round: index + 1, fault: faults[index])
                    found.withLock { found in
                        found.next = index + 1
                        found.problems += outcome.problems
                    }
                    guard outcome.problems.isEmpty else {
                        // One word of each call is enough.
                        let call = faults[index].call
                        found.withLock { $0.next = faults[index...].firstIndex { $0.call != call } ?? faults.count }
                        break
                    }
                }
                #expect(simulation.trace.violations == [])
            }
        }
        let (problems, faults, _) = found.withLock { $0 }
        for problem in problems { Issue.record("\(problem)") }
        #expect((faults ?? []).count >= 5)
    }
}

/// What is done once with one scene.
struct ArchiveAttempt: Sendable {
    struct Outcome: Sendable {
        /// What was changed on the disk, in words and in order.
        var calls: [String] = []
        var problems: [String] = []
    }

    let scene: ArchiveScene
    let home: String
    let agent: SimulatedAgent

    var archive: UserFiles {
        UserFiles(root: scene.place == .inFolder ? "\(agent.files.root)/.stversions" : "\(home)/archive")
    }

    /// Each call with each errno, and with EXDEV those that give a file a name in the archive.
    func faults(in calls: [String]) -> [ArchiveFault] {
        calls.indices.flatMap { call in
            let words = calls[call]
            let mayCross =
                (words.hasPrefix("link ") || words.hasPrefix("rename ")) && isInArchive(words.split(separator: " ")[2])
                && !isInArchive(words.split(separator: " ")[1])
            return (scene.numbers + (mayCross ? [EXDEV] : [])).map { ArchiveFault(call: call, number: $0) }
        }
    }

    private func isInArchive(_ name: Substring) -> Bool {
        name.hasPrefix(".stversions/") || name.hasPrefix(archive.root)
    }

    static func texts(_ files: UserFiles, all: Bool = false) -> [String: String] {
        var texts: [String: String] = [:]
        for name in files.allNames(all: all) {
            switch files.item(name) {
            case .symlink(let target): texts[name] = "-> \(target)"
            case .file: texts[name] = files.read(name).map { String(decoding: $0, as: UTF8.self) }
            case .directory, nil: break
            }
        }
        return texts
    }

    /// Leaves nothing in a folder but these.
    func put(_ wanted: [String: String], at files: UserFiles) {
        let now = Self.texts(files)
        for (name, text) in now where wanted[name] == nil || wanted[name]?.hasPrefix("->") != text.hasPrefix("->") {
            #expect(files.remove(name))
        }
        for name in files.allNames().reversed()
        where files.isDirectory(name) && files.names(in: name).isEmpty && name.contains("/") {
            #expect(files.remove(name))
        }
        for (name, text) in wanted.sorted(by: { $0.key < $1.key }) where now[name] != text {
            let parents = name.split(separator: "/").dropLast()
            for count in parents.indices {
                let parent = parents[...count].joined(separator: "/")
                if !files.isDirectory(parent) { #expect(files.makeDirectory(parent)) }
            }
            if text.hasPrefix("-> ") {
                #expect(files.makeSymlink(name, target: String(text.dropFirst(3))))
            } else {
                #expect(files.write(Array(text.utf8), to: name))
            }
        }
    }

    /// The archive has what the scene says, and nothing else.
    func prepareArchive(_ round: Int) throws {
        try? FileManager.default.removeItem(atPath: archive.root)
        if scene.place != .inFolder {
            try FileManager.default.createDirectory(atPath: archive.root, withIntermediateDirectories: true)
            try ArchiveMarker.mark(archive.root)
        }
        for (name, text) in scene.archivedBefore(round) {
            let path = "\(archive.root)/\(name)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            archive.setTime(FileTime(seconds: 998_000_000), of: name)
        }
    }

    // MARK: what must be true

    /// At every moment: each old text is somewhere on the disk, and each place has all of the old one or of the new one.
    func momentProblems(_ round: Int) -> [String] {
        let (before, after) = (scene.before(round), scene.after(round))
        var problems: [String] = []
        var everything: Set<String>?
        for (name, old) in scene.replaced(round) {
            let now = agent.files.read(name).map { String(decoding: $0, as: UTF8.self) }
            if now == old { continue }
            if everything == nil {
                everything = Set(Self.texts(agent.files, all: true).values).union(Self.texts(archive, all: true).values)
            }
            if everything?.contains(old) == false { problems.append("“\(old)” is nowhere on the disk") }
            if agent.files.item(name) == nil, after[name] != nil { problems.append("\(name) is missing") }
            if let now, now != after[name], now != before[name] { problems.append("\(name) is “\(now)”") }
        }
        return problems
    }

    /// When nobody is at it.
    func restProblems(_ round: Int) -> [String] {
        let (before, after) = (scene.before(round), scene.after(round))
        let (here, archived) = (Self.texts(agent.files), archivedTexts)
        var problems: [String] = []
        for (name, old) in scene.replaced(round) {
            let isConflict = here.contains { $0.key.contains("conflict") && $0.value == old }
            if here[name] != old, !archived.contains(old), !isConflict {
                problems.append("“\(old)” is neither in its place nor in the archive")
            }
            if let now = here[name] {
                if now != old, now != after[name] { problems.append("\(name) is “\(now)”") }
            } else if after[name] != nil {
                problems.append("\(name) is missing")
            }
        }
        if scene.way == .group, here != before, here != after { problems.append("half of a group: \(here)") }
        if here == before, !Set(scene.archivedBefore(round).values).isSubset(of: archived) {
            problems.append("nothing was replaced, and the archive has lost what it had: \(archived)")
        }
        return problems
    }

    /// When all has gone well in the end.
    func endProblems(_ round: Int, isFaulty: Bool) -> [String] {
        let after = scene.after(round)
        var problems: [String] = []
        let here = Self.texts(agent.files)
        if here != after { problems.append("it has \(here) in the end and not \(after)") }
        // In a trashcan the version before stays beside one of which it was not certain that it has lost its place.
        let doubled = (scene.archivedAfter(round) + scene.archivedBefore(round).values).sorted()
        if archivedTexts != scene.archivedAfter(round), !isFaulty || !scene.givesWay || archivedTexts != doubled {
            problems.append("the archive has \(archivedTexts) and not \(scene.archivedAfter(round))")
        }
        for files in [agent.files, archive] {
            for name in files.allNames(all: true) where RelativePath(name)?.isTemporary != false {
                problems.append("\(name) is left over")
            }
        }
        return problems
    }

    private var archivedTexts: [String] {
        let names = archive.allNames(all: true).filter { $0 != ArchiveMarker.name }
        return names.filter { RelativePath($0)?.isTemporary == false }.compactMap {
            archive.read($0).map { String(decoding: $0, as: UTF8.self) }
        }.sorted()
    }
}

extension Simulation {
    /// Makes a scene, lets it happen while one call fails, and then once more while none does.
    fileprivate func attempt(
        _ archive: ArchiveAttempt, round: Int, fault: ArchiveFault?
    ) async throws -> ArchiveAttempt.Outcome {
        let (first, second, scene) = (agents[0], agents[1], archive.scene)
        try await prepare(archive, round)
        let calls = Mutex<[String]>([])
        let seen = Mutex<[String]>([])
        second.interruption = { call in
            // That two disks are two is no fault.
            if !call.hasSuffix(": other disk") { calls.withLock { $0.append(call) } }
            let found = archive.momentProblems(round).map { "before \(call): \($0)" }
            seen.withLock { $0 += found }
        }
        if let fault { second.disk.planFailure(fault.number, after: fault.call) }
        let isSaid = Flag()
        await act(scene, isSaid)
        second.interruption = nil
        let failed = second.disk.endFailure()

        var problems = Array(seen.withLock { $0 }.prefix(1)) + archive.restProblems(round).map { "at once: \($0)" }
        if fault != nil, failed == nil { problems.append("there was no such call") }
        let isDone = ArchiveAttempt.texts(second.files) == scene.after(round)
        if !isDone, !isSaid.isSet { problems.append("nothing is said of it") }

        await pass(.seconds(700))
        second.process?.folder.boards.inbox.scanEverything()
        await work(second, Flag())
        if ArchiveAttempt.texts(second.files) != scene.after(round) { await act(scene, Flag()) }
        problems += archive.endProblems(round, isFaulty: fault != nil)
        problems += try await indexProblems(of: second)
        if let said = second.process.map({ words($0) }), !said.isEmpty { problems.append("still said: \(said)") }
        await carry()
        await work(first, Flag())
        await carry()
        let (here, there) = (second.files.tree(), first.files.tree())
        if here != there { problems.append("the other device has \(there) and not \(here)") }
        return ArchiveAttempt.Outcome(
            calls: calls.withLock { $0 },
            problems: problems.map {
                "\(scene.testDescription): \(fault.map { "\($0) (\(failed ?? "none"))" } ?? "without a fault"): \($0)"
            })
    }

    /// Both have what is there before, and the second knows what it is to become.
    private func prepare(_ archive: ArchiveAttempt, _ round: Int) async throws {
        let (first, second, scene) = (agents[0], agents[1], archive.scene)
        let start = scene.way == .repaired ? scene.after(round) : scene.before(round)
        archive.put(start, at: first.files)
        for _ in 0..<3 {
            try await tell(first, second)
            await work(second, Flag())
            if ArchiveAttempt.texts(second.files) == start { break }
            await pass(.seconds(700))
        }
        #expect(ArchiveAttempt.texts(second.files) == start)
        try archive.prepareArchive(round)
        switch scene.way {
        case .repaired: try await decay("d/f", to: scene.before(round)["d/f"] ?? "", at: second)
        case .restored: break
        case .renamed:
            #expect(first.files.rename("d/g", to: "d/f"))
            try await tell(first, second)
        default:
            archive.put(scene.after(round), at: first.files)
            try await tell(first, second)
        }
        hideRealTimes(second)
    }

    /// Changes bytes as a disk does: no time tells, and the index takes the file's times for those that it saw.
    private func decay(_ name: String, to text: String, at agent: SimulatedAgent) async throws {
        guard let process = agent.process, let before = agent.files.status(name) else { return }
        #expect(agent.files.write(Array(text.utf8), to: name))
        agent.files.setTime(
            FileTime(seconds: Int64(before.st_mtim.tv_sec), nanoseconds: Int32(before.st_mtim.tv_nsec)), of: name)
        guard let status = try RootDirectory(path: agent.files.root).status(of: RelativePath(parsing: name)) else {
            return
        }
        _ = try await process.index.applyLocal(
            in: SimulatedAgent.folder, [.note(name, IndexedStatus(status))], isIgnored: { _ in false })
    }

    private func act(_ scene: ArchiveScene, _ isSaid: Flag) async {
        let second = agents[1]
        switch scene.way {
        case .restored:
            await inProcess(of: second) { process in
                let step = RestoreVersionStep(path: "d/f", time: nil, isConfirmed: true)
                if (try? await process.folder.runner.perform(step)) == nil { isSaid.set() }
            }
        case .repaired:
            await inProcess(of: second) { process in
                do {
                    try await process.folder.runner.scrub(below: "d/f", isRepairing: true) { event in
                        if event.type == "failed" { isSaid.set() }
                    }
                } catch {
                    isSaid.set()
                }
            }
        default: break
        }
        await work(second, isSaid)
    }

    /// Lets an agent do all that is due now.
    private func work(_ agent: SimulatedAgent, _ isSaid: Flag) async {
        for _ in 0..<20 {
            let isDone = Flag()
            await inProcess(of: agent) { if await $0.folder.runner.performDue() { isDone.set() } }
            if let process = agent.process, !words(process).isEmpty { isSaid.set() }
            if !isDone.isSet { return }
        }
    }

    /// What `status` says is wrong.
    private func words(_ process: SimulatedAgent.Process) -> [String] {
        let snapshot = process.folder.boards.status.snapshot
        return snapshot.problems.values.map(\.english) + [snapshot.halt?.message].compactMap { $0 }
    }
}
