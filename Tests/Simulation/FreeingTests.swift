import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import Dispatch
import FileAccess
import Glibc
import IndexStore
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Freeing space with real agents, indexes and files: what goes, what stays, and that others never hear of a deletion.
@Suite(.serialized, .timeLimit(.minutes(60))) struct FreeingTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static let names = ["d/a", "d/b", "d/e/c", "f"]

    /// Two agents that have `names` with their own name as contents, settled.
    private func pair(
        seed: UInt64 = 1, _ names: [String] = names,
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        try await Simulation.run(seed: seed, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for directory in ["d", "d/e"] where names.contains(where: { $0.hasPrefix(directory + "/") }) {
                #expect(first.files.makeDirectory(directory))
            }
            for name in names { #expect(first.files.write(Self.bytes(name), to: name)) }
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            #expect(second.files.allNames().filter { !second.files.isDirectory($0) } == names.sorted())
            try await body(simulation, first, second)
            #expect(simulation.trace.violations == [])
        }
    }

    private func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            guard let path = RelativePath(name), !path.isInternal, !path.isTemporary || path.isSwap else { continue }
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    private static func own(_ names: [String]) -> [String: String] {
        Dictionary(names.map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func whatOthersHoldGoesHereAndStaysThere() async throws {
        try await pair { simulation, first, second in
            let dry = try #require(await simulation.deselect(["d"], at: second, isDryRun: true))
            #expect((dry.freedFiles, dry.freedBytes, dry.freed) == (3, 11, ["d/a", "d/b", "d/e/c"]))
            #expect(files(second) == Self.own(Self.names), "a dry run changes nothing")
            #expect(second.files.read(".stignore") == nil)

            let outcome = try #require(await simulation.deselect(["d"], at: second))
            #expect((outcome.freedFiles, outcome.freedBytes, outcome.freedDirectories) == (3, 11, 2))
            #expect((outcome.stayingFiles, outcome.givenUpFiles) == (0, 0))
            #expect(files(second) == ["f": "f"])
            #expect(!second.files.isDirectory("d"))
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names), "nobody else heard of a deletion")
            #expect(try await simulation.indexProblems(of: second) == [])
            // The other device counts this one as complete: each name is announced with the newest version, left out.
            let facts = try await first.process?.index.facts(in: SimulatedAgent.folder, names: ["d/a", "f"])
            #expect(facts?.map(\.holders) == [[], [second.id]])

            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(second) == Self.own(Self.names), "selected again, it comes back")
        }
    }

    /// Two devices that hold the same files, apart: whatever their modes, they do not both free them.
    @Test(arguments: FolderConfiguration.Mode.allCases, FolderConfiguration.Mode.allCases)
    func apartTheyDoNotBothFree(one: FolderConfiguration.Mode, other: FolderConfiguration.Mode) async throws {
        try await pair { simulation, first, second in
            for (agent, mode) in [(first, one), (second, other)] {
                if mode == .selective {
                    #expect(agent.files.write(Self.bytes("!/d\n!/f\n*\n"), to: ".stignore"))
                    agent.selectionChanged()
                }
                simulation.configure(agent) { $0.mode = mode }
            }
            #expect(try await simulation.settle() == [])
            await simulation.cut(.init(from: first.number, to: second.number))
            try await simulation.connect(first, second)
            #expect(try await simulation.settle() == [], "each has heard the other's mode")
            await simulation.cut(.init(from: first.number, to: second.number))

            var freeing: [SimulatedAgent] = []
            for (agent, mode, otherMode) in [(first, one, other), (second, other, one)] {
                let outcome = try #require(await simulation.deselect(["d", "f"], at: agent))
                if mode == .selective, otherMode == .full {
                    #expect(outcome.freedFiles == 4 && outcome.staying.isEmpty)
                    freeing.append(agent)
                } else {
                    #expect(outcome.freedFiles == 0)
                    #expect(Set(outcome.staying.map(\.reason)).isSuperset(of: ["uncertain-copies"]))
                    #expect(files(agent) == Self.own(Self.names))
                }
            }
            #expect(freeing.count < 2)
            // Connected again, what stayed can go: one device still has it.
            try await simulation.connect(first, second)
            #expect(try await simulation.settle() == [])
            if freeing.isEmpty {
                let outcome = try #require(await simulation.deselect(["d", "f"], at: first))
                #expect(outcome.freedFiles == 0, "the other does not select it any more, and announces nothing")
            }
            #expect([first, second].contains { files($0) == Self.own(Self.names) })
        }
    }

    /// Whatever fails on the way: the index has no file here that has gone. It would take another one, written at the name, for the
    /// one that others keep.
    @Test func whatHasGoneIsForgottenWhenTheDiskFails() async throws {
        var failures: [String] = []
        for moment in 0..<60 {
            let failed = Mutex<String?>(nil)
            try await pair(seed: UInt64(moment + 1)) { simulation, _, second in
                second.disk.planFailure(EIO, after: moment)
                _ = await simulation.deselect(["d"], at: second)
                let words = second.disk.endFailure()
                failed.withLock { $0 = words }
                for name in Self.names {
                    let noted = try await second.process?.index.local(SimulatedAgent.folder, name)?.status != nil
                    #expect(!noted || second.files.read(name) != nil, "\(name) after \(words ?? "nothing failed")")
                }
                #expect(try await simulation.settle() == [])
            }
            guard let words = failed.withLock({ $0 }) else { break }
            failures.append(words)
        }
        #expect(failures.contains { $0.contains("syncfs") }, "\(failures)")
    }

    enum Obstacle: String, CaseIterable {
        case newHere, editedHere, editedUnseen, touched, newerThere, deletedThere, leftOutThere, notShared, twoCopies,
            receiveOnly, beingWritten, link, directory, replacedBySame, timesRestored
    }

    /// Whatever may be the only one of its kind stays, with a word that says why.
    @Test(arguments: Obstacle.allCases) func whatIsNotHeldElsewhereStays(obstacle: Obstacle) async throws {
        try await pair(["d/a", "d/b", "f"]) { simulation, first, second in
            var expected = (name: "d/a", reason: "no-other-copy", content: "d/a")
            var writer: CInt = -1
            defer { if writer >= 0 { close(writer) } }
            func change(_ name: String, _ text: String) {
                #expect(second.files.replace(name, with: Self.bytes(text)))
                second.disk.changedByUser("\(second.files.root)/\(name)")
            }
            switch obstacle {
            case .newHere:
                change("d/n", "mine")
                try await simulation.looks(second)
                expected = ("d/n", "no-other-copy", "mine")
            case .editedHere:
                change("d/a", "mine")
                try await simulation.looks(second)
                expected.content = "mine"
            case .editedUnseen:
                change("d/a", "mine")
                expected = ("d/a", "changed-here", "mine")
            case .touched:
                second.files.setTime(FileTime(seconds: 77), of: "d/a")
                expected.reason = "changed-here"
            case .replacedBySame:
                change("d/a", "d/a")
                expected.reason = "changed-here"
            case .timesRestored:
                let status = try #require(second.files.status("d/a"))
                #expect(second.files.write(Self.bytes("xyz"), to: "d/a"))
                second.files.setTime(
                    FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(status.st_mtim.tv_nsec)),
                    of: "d/a")
                expected = ("d/a", "changed-here", "xyz")
            case .newerThere:
                #expect(first.files.write(Self.bytes("newer"), to: "d/a"))
                try await simulation.tell(first, second)
                expected.reason = "outdated"
            case .deletedThere:
                #expect(first.files.remove("d/a"))
                try await simulation.tell(first, second)
                expected.reason = "deleted-elsewhere"
            case .leftOutThere:
                _ = await simulation.deselect(["d/a"], at: first, .keep)
                try await simulation.tell(first, second)
            case .notShared: simulation.configure(second) { $0.devices = [second.id] }
            case .twoCopies:
                simulation.configure(second) { $0.minimumCopies = 2 }
                expected.reason = "too-few-copies"
            case .receiveOnly:
                simulation.configure(second) { $0.kind = .receiveOnly }
                change("d/a", "mine")
                try await simulation.looks(second)
                expected = ("d/a", "changed-here", "mine")
            case .beingWritten:
                writer = open("\(second.files.root)/d/a", O_WRONLY)
                #expect(writer >= 0)
                expected.reason = "in-use"
            case .link:
                #expect(second.files.remove("d/a") && second.files.makeSymlink("d/a", target: "b"))
                expected = ("d/a", "changed-here", "")
            case .directory:
                #expect(second.files.remove("d/a") && second.files.makeDirectory("d/a"))
                expected = ("d/a", "changed-here", "")
            }
            simulation.hideRealTimes(second)
            let before = files(second)
            let dry = try #require(await simulation.deselect(["d"], at: second, isDryRun: true))
            let outcome = try #require(await simulation.deselect(["d"], at: second))
            let staying = try #require(outcome.staying.first { $0.path == expected.name }, "\(outcome)")
            #expect(staying.reason == expected.reason)
            #expect(dry.staying.map(\.path) == outcome.staying.map(\.path) || obstacle == .directory)
            if !expected.content.isEmpty {
                #expect(files(second)[expected.name] == expected.content)
            } else {
                #expect(second.files.status(expected.name) != nil)
            }
            if obstacle == .notShared || obstacle == .twoCopies {
                #expect(files(second) == before, "nothing at all goes")
            } else {
                #expect(files(second)["d/b"] == nil, "the rest goes")
            }
            simulation.configure(second) { $0.devices = simulation.agents.map(\.id) }
            let there = files(first)
            #expect(try await simulation.settle() == [])
            #expect(files(first) == there, "nobody else heard of a deletion")
            #expect(files(second)["f"] == "f")
        }
    }

    /// A user writes at the instant between the last look and the removal.
    @Test(arguments: ["rename", "unlink"]) func whatIsWrittenAtTheLastInstantStays(moment: String) async throws {
        try await pair { simulation, first, second in
            second.interruption = { change in
                guard change.hasPrefix(moment), change.contains("f") else { return }
                second.interruption = nil
                _ = second.files.replace("f", with: Self.bytes("mine"))
                second.disk.changedByUser("\(second.files.root)/f")
            }
            let outcome = try #require(await simulation.deselect(["f"], at: second))
            #expect(second.interruption == nil, "it was not interrupted")
            #expect(files(second)["f"] == "mine")
            // At the second moment, what goes is what others hold, and what was written has the name.
            if moment == "rename" { #expect(outcome.staying.map(\.reason) == ["changed-here"]) }
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
            #expect(files(second)["f"] == "mine")
        }
    }

    /// The last other copy of a file is withdrawn while another file of the same removal goes: facts are read for each.
    @Test func whatIsWithdrawnWhileAnotherFileGoesStays() async throws {
        try await pair(["d/a", "d/b", "f"]) { simulation, first, second in
            let index = try #require(second.process?.index)
            let told = try #require(
                try await index.file(SimulatedAgent.folder, "d/a", announcedBy: first.id))
            var withdrawn = told
            withdrawn.isInvalid = true
            withdrawn.sequence += 1000
            let (device, update) = (first.id, withdrawn)
            second.interruption = { change in
                guard change.hasPrefix("unlink"), change.contains(".b.swap") else { return }
                second.interruption = nil
                // The removal waits in this call: on a thread of its own, the index hears meanwhile.
                let isHeard = DispatchSemaphore(value: 0)
                Task.detached {
                    await #expect(throws: Never.self) {
                        try await index.applyIndex(
                            of: SimulatedAgent.folder, device: device, files: [update], replacesAll: false
                        ) { _ in true }
                    }
                    isHeard.signal()
                }
                isHeard.wait()
            }
            let outcome = try #require(await simulation.deselect(["d"], at: second))
            #expect(second.interruption == nil, "it was not interrupted")
            #expect(outcome.freed == ["d/b"])
            #expect(outcome.staying.map { "\($0.path) \($0.reason)" } == ["d/a no-other-copy"])
            #expect(files(second) == Self.own(["d/a", "f"]))
        }
    }

    /// Killed, or without power, at any change of the disk: what is left is extraneous, and selected again it is whole.
    @Test(arguments: [FaultyDisk.End.killed, .powerLost], 0...24)
    func aCrashLeavesNoDeletion(end: FaultyDisk.End, changes: Int) async throws {
        try await pair(seed: UInt64(changes) + 1) { simulation, first, second in
            second.disk.plan(end, after: changes)
            _ = await simulation.deselect(["d"], at: second)
            second.disk.planNoEnd()
            if !second.isUp { try await simulation.start(second) }
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names), "nobody else heard of a deletion")
            let isDeselected = second.selection?.isLeftOut("d/a") == true
            if !isDeselected { #expect(files(second) == Self.own(Self.names), "nothing goes before the line is there") }
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
            #expect(files(second) == Self.own(Self.names))
        }
    }

    /// A disk that does not remove something, or fails at what surrounds it: selected again, all of it is the version that it was.
    @Test(arguments: 0...24) func whatTheDiskDoesNotRemoveIsWhatItWas(changes: Int) async throws {
        try await pair(seed: UInt64(changes) + 1) { simulation, first, second in
            let before = try await versions(first)
            second.disk.planFailure(EIO, after: changes)
            let outcome = await simulation.deselect(["d"], at: second)
            let failed = second.disk.endFailure()
            let staying = outcome?.staying.map { "\($0.path) \($0.reason)" }
            if let failed, failed.hasPrefix("unlink d/") { #expect(staying?.count == 1, "\(failed)") }
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names) && files(second) == Self.own(Self.names))
            #expect(try await versions(first) == before, "\(failed ?? "nothing failed")")
        }
    }

    private func versions(_ agent: SimulatedAgent) async throws -> [String: VersionVector] {
        let index = try #require(agent.process?.index)
        var versions: [String: VersionVector] = [:]
        for name in Self.names { versions[name] = try await index.global(SimulatedAgent.folder, name)?.file?.version }
        return versions
    }

    /// Killed, and the user writes another file where one has gone, and selects it: what others keep is not its predecessor.
    @Test(arguments: 0...24) func whatIsWrittenAfterADeathReplacesNothing(changes: Int) async throws {
        try await pair(seed: UInt64(changes) + 1) { simulation, first, second in
            second.disk.plan(.killed, after: changes)
            _ = await simulation.deselect(["d"], at: second)
            second.disk.planNoEnd()
            let gone = ["d/a", "d/b", "d/e/c"].filter { second.files.read($0) == nil }
            for directory in ["d", "d/e"] where !second.files.isDirectory(directory) {
                _ = second.files.makeDirectory(directory)
            }
            for name in gone { #expect(second.files.write(Self.bytes("another " + name), to: name)) }
            if !second.isUp { try await simulation.start(second) }
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            let contents = Set(files(first).values)
            #expect(contents.isSuperset(of: Self.names), "what it kept")
            #expect(contents.isSuperset(of: gone.map { "another " + $0 }))
        }
    }

    /// The same, and the user takes the line back by hand before the next process starts.
    @Test(arguments: [FaultyDisk.End.killed, .powerLost], 2...20)
    func aCrashAndALineTakenBackLeaveNoDeletion(end: FaultyDisk.End, changes: Int) async throws {
        try await pair(seed: UInt64(changes) + 1) { simulation, first, second in
            second.disk.plan(end, after: changes)
            _ = await simulation.deselect(["d"], at: second)
            second.disk.planNoEnd()
            if second.isUp { await second.drop() }
            _ = second.files.remove(".stignore")
            second.selectionChanged()
            try await simulation.start(second)
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
            #expect(files(second) == Self.own(Self.names))
        }
    }

    /// The same for a newer version that is to replace the file: what was edited unseen is kept as a conflict copy.
    @Test func anEditThatRestoresTheTimeIsNotReplaced() async throws {
        try await pair { simulation, first, second in
            let status = try #require(second.files.status("f"))
            #expect(second.files.write(Self.bytes("x"), to: "f"))
            second.files.setTime(
                FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(status.st_mtim.tv_nsec)), of: "f")
            #expect(first.files.write(Self.bytes("newer"), to: "f"))
            try await simulation.tell(first, second)
            try await simulation.work(second)
            #expect(try await simulation.settle() == [])
            #expect(Set(files(second).values).isSuperset(of: ["x", "newer"]))
            #expect(files(first) == files(second))
        }
    }

    /// A user writes `.stignore` between the moment when it is read and the one when it is replaced.
    @Test func aSelectionThatIsWrittenMeanwhileIsKept() async throws {
        try await pair { simulation, first, second in
            #expect(second.files.write(Self.bytes("!/f\n*\n"), to: ".stignore"))
            second.disk.changedByUser("\(second.files.root)/.stignore")
            second.selectionChanged()
            second.interruption = { change in
                guard change.contains("stignore") else { return }
                second.interruption = nil
                _ = second.files.replace(".stignore", with: Self.bytes("!/f\n!/d/b\n*\n"))
                second.disk.changedByUser("\(second.files.root)/.stignore")
            }
            await simulation.select(["d/a"], at: second)
            #expect(second.interruption == nil, "it was not interrupted")
            let lines = try #require(second.files.read(".stignore").map { String(decoding: $0, as: UTF8.self) })
            #expect(Set(lines.split(separator: "\n")).isSuperset(of: ["!/f", "!/d/a", "!/d/b"]), "\(lines)")
        }
    }

    @Test func byForceItGoesAndIsNamed() async throws {
        try await pair { simulation, first, second in
            #expect(second.files.write(Self.bytes("mine"), to: "d/mine"))
            #expect(second.files.write(Self.bytes("edited"), to: "d/a"))
            let dry = try #require(await simulation.deselect(["d"], at: second, .force, isDryRun: true))
            #expect(dry.givenUp.map(\.path) == ["d/a"])
            #expect(dry.staying.map(\.reason) == ["unknown"], "what the index does not know is never forced")
            try await simulation.looks(second)
            let outcome = try #require(await simulation.deselect(["d"], at: second, .force))
            #expect(Set(outcome.givenUp.map(\.path)) == ["d/a", "d/mine"])
            #expect(files(second) == ["f": "f"])
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
        }
    }

    @Test func whatIsUnknownKeepsItsDirectory() async throws {
        try await pair { simulation, first, second in
            #expect(second.files.write(Self.bytes("*.o\n"), to: ".stignore"))
            second.disk.changedByUser("\(second.files.root)/.stignore")
            second.selectionChanged()
            #expect(second.files.write(Self.bytes("object"), to: "d/e/x.o"))
            try await simulation.looks(second)
            let outcome = try #require(await simulation.deselect(["d"], at: second))
            #expect(outcome.staying.map { "\($0.path) \($0.reason)" } == ["d/e/x.o unknown"])
            #expect(files(second) == ["f": "f", "d/e/x.o": "object"])
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
        }
    }

    /// What was set aside before is freed by saying so again, and directories that only led there go as well.
    @Test func saidAgainItFreesWhatStayed() async throws {
        try await pair { simulation, first, second in
            #expect(second.files.write(Self.bytes("!/d/e/c\n*\n"), to: ".stignore"))
            second.disk.changedByUser("\(second.files.root)/.stignore")
            second.selectionChanged()
            try await simulation.looks(second)
            #expect(files(second) == Self.own(Self.names))
            _ = await simulation.deselect(["d/e/c"], at: second, .keep)
            #expect(files(second) == Self.own(Self.names), "--keep-local keeps")
            let outcome = try #require(await simulation.deselect(["d/e/c"], at: second))
            #expect(outcome.freed == ["d/e/c"])
            #expect(!second.files.isDirectory("d/e") && second.files.isDirectory("d"))
            let rest = try #require(await simulation.deselect(["d"], at: second))
            #expect(rest.freed == ["d/a", "d/b"])
            #expect(files(second) == ["f": "f"])
            #expect(!second.files.isDirectory("d"))
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
        }
    }

    @Test(arguments: [FolderConfiguration.Kind.sendOnly, .receiveOnly])
    func foldersThatGoOneWayFreeToo(kind: FolderConfiguration.Kind) async throws {
        try await pair { simulation, first, second in
            simulation.configure(second) { $0.kind = kind }
            try await simulation.looks(second)
            let outcome = try #require(await simulation.deselect(["d"], at: second))
            #expect(outcome.freedFiles == 3)
            #expect(files(second) == ["f": "f"])
            #expect(try await simulation.settle() == [])
            #expect(files(first) == Self.own(Self.names))
        }
    }

    /// A folder that has halted says nothing sure of its files.
    @Test func aHaltedFolderFreesNothing() async throws {
        try await pair { simulation, first, second in
            for name in ["d/a", "d/b", "d/e/c", "d/e", "d", "f"] { #expect(second.files.remove(name)) }
            try await simulation.looks(second)
            #expect(second.process?.folder.boards.status.snapshot.halt?.reason == .rootEmptied)
            #expect(second.files.write(Self.bytes("f"), to: "f"))
            #expect(await simulation.deselect(["f"], at: second) == nil)
            #expect(second.files.read(".stignore") == nil)
            #expect(files(second) == ["f": "f"])
            #expect(files(first) == Self.own(Self.names))
        }
    }
}

extension Simulation {
    /// What freeing came to; nil if it was refused or cut short.
    func deselect(
        _ paths: [String], at agent: SimulatedAgent, _ local: LocalFiles = .free, isDryRun: Bool = false
    ) async -> FreeingOutcome? {
        final class Box: Sendable { let outcome = Mutex<FreeingOutcome?>(nil) }
        let box = Box()
        agent.isFreeing = true
        await inProcess(of: agent) { process in
            let outcome = try? await process.folder.runner.deselect(
                DeselectStep(paths: paths, local: local, isDryRun: isDryRun))
            box.outcome.withLock { $0 = outcome?.freeing }
        }
        agent.isFreeing = false
        agent.selectionChanged()
        return box.outcome.withLock { $0 }
    }

    func select(_ paths: [String], at agent: SimulatedAgent) async {
        await inProcess(of: agent) { process in
            _ = try? await process.folder.runner.perform(SelectStep(paths: paths))
        }
        agent.selectionChanged()
    }

    /// Gives the folder of one agent other settings.
    func configure(_ agent: SimulatedAgent, _ change: (inout FolderConfiguration) -> Void) {
        guard let folder = agent.process?.folder else { return }
        var configuration = folder.configuration
        change(&configuration)
        folder.configure(configuration)
    }
}
