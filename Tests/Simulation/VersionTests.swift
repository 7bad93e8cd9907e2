import AgentConfiguration
import ControlAPI
import FileAccess
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Archives and policies of two agents, and deaths in the middle of what goes to an archive.
@Suite struct VersionTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Two agents that have `names` with their own name as contents, settled.
    private func pair(
        seed: UInt64 = 1, _ names: [String], versions: FolderVersions = FolderVersions(),
        _ conflicts: [FolderConflicts] = [],
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        var weather = Simulation.Weather(agentCount: 2)
        weather.versions = [versions, versions]
        weather.conflicts = conflicts
        try await Simulation.run(seed: seed, weather: weather) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            if names.contains(where: { $0.hasPrefix("d/") }) { #expect(first.files.makeDirectory("d")) }
            for name in names { #expect(first.files.write(Self.bytes(name), to: name)) }
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            try await body(simulation, first, second)
        }
    }

    /// The deletion of `d/a` must not take what is `D/a` to the archive: to the disk both are one.
    @Test(arguments: [FolderVersions.Kind.trashcan, .simple, .staggered])
    func aDirectoryInOtherLettersKeepsItsFiles(kind: FolderVersions.Kind) async throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var weather = Simulation.Weather(agentCount: 2)
            weather.versions = [.init(kind: kind), .init(kind: kind)]
            weather.folding[1] = FoldedNames()
            try await Simulation.run(seed: seed, weather: weather) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(first.files.makeDirectory("d"))
                for name in ["d/a", "d/b", "d/c"] { #expect(first.files.write(Self.bytes(name), to: name)) }
                try await simulation.looks(first)
                #expect(try await simulation.settle() == [])

                #expect(first.files.rename("d", to: "D"))
                try await simulation.looks(first)
                #expect(try await simulation.settle() == [])
                for agent in [first, second] {
                    #expect(Self.files(agent) == ["D/a": "d/a", "D/b": "d/b", "D/c": "d/c"])
                    #expect(try await simulation.indexProblems(of: agent) == [])
                }
            }
        }
    }

    private static func archived(_ agent: SimulatedAgent) -> [String] {
        agent.files.allNames(below: ".stversions", all: true).compactMap { name in
            agent.files.read(name).map { String(decoding: $0, as: UTF8.self) }
        }.sorted()
    }

    private static func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames() {
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    /// Another device replaces one file and deletes another, and the process dies at some call: each old file is in its
    /// place or in the archive at that moment, and in the archive in the end.
    @Test(
        arguments: [FolderVersions.Kind.trashcan, .simple, .staggered],
        [FaultyDisk.End.killed, .powerLost])
    func atNoMomentAFileIsNeitherInItsPlaceNorInTheArchive(
        kind: FolderVersions.Kind, end: FaultyDisk.End
    ) async throws {
        var deaths = 0
        for moment in 0..<60 {
            let died = Flag()
            try await pair(["f", "d/g", "h", "i"], versions: .init(kind: kind)) {
                simulation, first, second in
                #expect(first.files.write(Self.bytes("new"), to: "f"))
                #expect(first.files.remove("d/g"))
                try await simulation.tell(first, second)
                second.disk.plan(end, after: moment)
                for _ in 0..<8 where second.isUp { try await simulation.work(second) }
                guard !second.isUp else { return second.disk.planNoEnd() }
                died.set()
                if end == .killed {
                    for (name, content) in [("f", "f"), ("d/g", "d/g")] {
                        let isInPlace = second.files.read(name) == Self.bytes(content)
                        #expect(
                            isInPlace || Self.archived(second).contains(content), "\(name) is nowhere after \(moment)")
                    }
                }
                #expect(try await simulation.settle() == [])
                #expect(Self.files(second) == ["f": "new", "h": "h", "i": "i"])
                #expect(Set(Self.archived(second)).isSuperset(of: ["f", "d/g"]), "after \(moment)")
                #expect(Set(Self.archived(second)).isSubset(of: ["f", "d/g"]))
                #expect(Self.archived(first) == [], "what its own user does is not archived")
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 5, "it died \(deaths) times only")
    }

    @Test func aVersionIsBroughtBackOnAllDevices() async throws {
        try await pair(["f", "g", "h"], versions: .init(kind: .simple)) { simulation, first, second in
            for text in ["second", "third"] {
                #expect(first.files.write(Self.bytes(text), to: "f"))
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
            }
            #expect(Self.archived(second) == ["f", "second"])
            let folder = try #require(second.process?.folder)
            await #expect(throws: FolderError.self) {
                try await folder.runner.perform(
                    RestoreVersionStep(path: "f", time: nil, isConfirmed: false))
            }
            #expect(Self.files(second)["f"] == "third")
            let restored = try await folder.runner.perform(
                RestoreVersionStep(path: "f", time: nil, isConfirmed: true))
            #expect(restored.isReplacement && restored.version.path == "f" && restored.version.size == 6)
            #expect(Self.files(second)["f"] == "second")
            #expect(Self.archived(second) == ["f", "second", "third"])
            #expect(try await simulation.settle() == [])
            #expect(Self.files(first)["f"] == "second")
            // By the time at which it was in its place.
            _ = try await folder.runner.perform(
                RestoreVersionStep(path: "f", time: 0, isConfirmed: true))
            #expect(Self.files(second)["f"] == "f")
            await #expect(throws: FolderError.self) {
                try await folder.runner.perform(
                    RestoreVersionStep(path: "f", time: .max, isConfirmed: true))
            }
            await #expect(throws: FolderError.self) {
                try await folder.runner.perform(
                    RestoreVersionStep(path: "h", time: nil, isConfirmed: true))
            }
            // What was deleted comes back without a question.
            #expect(first.files.remove("g"))
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            #expect(Self.files(second)["g"] == nil)
            _ = try await folder.runner.perform(
                RestoreVersionStep(path: "g", time: nil, isConfirmed: false))
            #expect(try await simulation.settle() == [])
            #expect(Self.files(first)["g"] == "g")
        }
    }

    /// The process dies while a version is brought back, at each of its calls: nothing of it is lost.
    @Test(arguments: [FolderVersions.Kind.trashcan, .simple]) func bringingBackLosesNothing(
        kind: FolderVersions.Kind
    ) async throws {
        var deaths = 0
        for moment in 0..<40 {
            let died = Flag()
            try await pair(["f", "g", "h"], versions: .init(kind: kind)) { simulation, first, second in
                #expect(first.files.write(Self.bytes("new"), to: "f"))
                try await simulation.looks(first)
                #expect(try await simulation.settle() == [])
                second.disk.plan(.killed, after: moment)
                await simulation.inProcess(of: second) {
                    _ = try? await $0.folder.runner.perform(
                        RestoreVersionStep(path: "f", time: nil, isConfirmed: true))
                }
                if !second.isUp { died.set() } else { second.disk.planNoEnd() }
                let all = Set(Self.archived(second)).union(Self.files(second).values)
                #expect(all.isSuperset(of: ["f", "new"]), "after \(moment): \(all)")
                #expect(try await simulation.settle() == [])
                #expect(["f", "new"].contains(Self.files(first)["f"]))
                #expect(Self.files(first) == Self.files(second))
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 5, "it died \(deaths) times only")
    }

    /// Both change the file at the same time; the second agent's is the older one.
    private func conflict(
        _ simulation: isolated Simulation, _ first: SimulatedAgent, _ second: SimulatedAgent
    ) async throws {
        #expect(second.files.write(Self.bytes("second's"), to: "f"))
        second.files.setTime(FileTime(seconds: second.wall.seconds - 1000), of: "f")
        #expect(first.files.write(Self.bytes("first's"), to: "f"))
        simulation.hideRealTimes(first)
        for agent in [first, second] { agent.process?.folder.boards.inbox.scanEverything() }
        #expect(try await simulation.settle() == [])
    }

    struct Story: CustomTestStringConvertible {
        var policy: FolderConflicts.Policy
        /// What both have in the end.
        var contents: Set<String>
        var hasCopy = false
        /// In anybody's archive.
        var archived: [String] = []
        var testDescription: String { policy.rawValue }
    }

    @Test(arguments: [
        Story(policy: .newest, contents: ["first's", "second's"], hasCopy: true),
        Story(policy: .mine, contents: ["second's"], archived: ["first's"]),
        Story(policy: .theirs, contents: ["first's"], archived: ["second's"]),
        Story(policy: .both, contents: ["first's", "second's"]),
    ])
    func thePolicyOfWhoLosesCounts(_ story: Story) async throws {
        // Whatever the winner's policy is.
        for other in [FolderConflicts.Policy.newest, .mine, .theirs, .both] {
            try await pair(
                ["f", "g"], versions: .init(kind: .simple), [.init(policy: other), .init(policy: story.policy)]
            ) { simulation, first, second in
                try await conflict(simulation, first, second)
                var files = Self.files(second)
                #expect(files == Self.files(first))
                #expect(files.keys.contains { $0.contains(".sync-conflict-") } == story.hasCopy)
                files["g"] = nil
                #expect(Set(files.values) == story.contents)
                #expect((Self.archived(first) + Self.archived(second)).filter { $0 != "f" }.sorted() == story.archived)
            }
        }
    }

    @Test(
        arguments: [
            ("echo mine", "second's", false), ("echo theirs", "first's", false), ("echo nonsense", "first's", true),
            ("echo mine; exit 1", "first's", true), ("sleep 1000", "first's", true),
            ("cat \"$1\" \"$2\" > \"$3\"; echo merged", "second'sfirst's", false),
            ("test -z \"$SYNCTRAIN_FOLDER\" || echo mine", "second's", false),
            ("echo x >> \"$2\"; echo mine", nil, true),
        ] as [(String, String?, Bool)])
    func aProgramDecides(script: String, content: String?, hasCopy: Bool) async throws {
        // Only the one that never ends is not to have all the time that a busy machine takes.
        let command = FolderConflicts(
            policy: .command, command: ["/bin/sh", "-c", script, "sh"],
            commandSeconds: script.hasPrefix("sleep") ? 1 : 300)
        try await pair(["f", "g"], versions: .init(kind: .simple), [.init(), command]) { simulation, first, second in
            try await conflict(simulation, first, second)
            #expect(Self.files(second).keys.contains { $0.contains(".sync-conflict-") })
            let process = try #require(second.process)
            #expect(await process.folder.runner.decideNext())
            #expect(await !process.folder.runner.decideNext())
            simulation.hideRealTimes(second)
            #expect(try await simulation.settle() == [])
            let files = Self.files(first)
            #expect(files == Self.files(second))
            #expect(files.keys.contains { $0.contains(".sync-conflict-") } == hasCopy)
            if let content { #expect(files["f"] == content) }
            // Whatever was decided, both are somewhere.
            let all = Set(files.values).union(Self.archived(first)).union(Self.archived(second))
            #expect(all.contains("second's") && (content == nil || all.contains("first's")), "\(all)")
        }
    }

    @Test(arguments: [
        (FolderConflicts(deletedPolicy: .newest), true), (FolderConflicts(deletedPolicy: .mine), false),
        (FolderConflicts(deletedPolicy: .theirs), true), (FolderConflicts(deletedPolicy: .both), true),
        (
            FolderConflicts(deletedPolicy: .command, command: ["/bin/sh", "-c", "test -z \"$1\" && echo mine", "sh"]),
            false
        ),
        (FolderConflicts(deletedPolicy: .command, command: ["/bin/false"]), true),
    ])
    func whoDeletedDecidesAboutTheEdit(_ policy: FolderConflicts, isThere: Bool) async throws {
        try await pair(["f", "g", "h"], versions: .init(kind: .simple), [.init(), policy]) {
            simulation, first, second in
            #expect(second.files.remove("f"))
            try await simulation.looks(second)
            #expect(first.files.write(Self.bytes("edited"), to: "f"))
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])
            if let folder = second.process?.folder { while await folder.runner.decideNext() {} }
            #expect(try await simulation.settle() == [])
            #expect(Self.files(first) == Self.files(second))
            #expect(Self.files(first)["f"] == (isThere ? "edited" : nil))
            if !isThere { #expect((Self.archived(first) + Self.archived(second)).contains("edited")) }
        }
    }

    @Test(arguments: ConflictResolution.Keep.allCases, [0, 1])
    func aResolutionSpreads(keep: ConflictResolution.Keep, where number: Int) async throws {
        try await pair(["f", "g"], versions: .init(kind: .trashcan)) { simulation, first, second in
            try await conflict(simulation, first, second)
            let agent = simulation.agents[number]
            let folder = try #require(agent.process?.folder)
            #expect(folder.boards.status.snapshot.conflicts == 1)
            let shown = try await ConflictReading(folder: try folder.runner.reading()).list()
            let conflict = try #require(shown.first)
            #expect(shown.count == 1 && conflict.path == "f")
            // The first agent won, so what bears the name is its own.
            #expect((conflict.mine.path == "f") == (number == 0))
            let outcomes = try await folder.runner.perform(ResolveConflictsStep(path: "f", keep: keep))
            #expect(outcomes.count == 1 && outcomes.first?.problem == nil)
            #expect(folder.boards.status.snapshot.conflicts == 0)
            #expect(try await simulation.settle() == [])
            var files = Self.files(first)
            #expect(files == Self.files(second))
            #expect(!files.keys.contains { $0.contains(".sync-conflict-") })
            files["g"] = nil
            let (own, other) = number == 0 ? ("first's", "second's") : ("second's", "first's")
            switch keep {
            case .mine: #expect(files == ["f": own])
            case .theirs: #expect(files == ["f": other])
            case .both:
                #expect(files["f"] == "first's")
                #expect(Set(files.values) == ["first's", "second's"])
            }
            if keep != .both { #expect(Self.archived(agent).contains(keep == .mine ? other : own)) }
            await #expect(throws: FolderError.self) {
                try await folder.runner.perform(ResolveConflictsStep(path: "f", keep: keep))
            }
        }
    }
}
