import AgentConfiguration
import FileAccess
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Groups of files that change together, and deaths, users and links in the middle of it.
@Suite(.serialized, .timeLimit(.minutes(60))) struct GroupCrashTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static let old = ["d/x.a": "old a", "d/x.b": "old b", "d/x.c": "old c"]
    /// Two are replaced, one goes, one comes.
    private static let new = ["d/x.a": "new a", "d/x.b": "new b", "d/x.d": "new d"]

    private func agents(
        _ count: Int = 2, seed: UInt64 = 1, versions: FolderVersions = FolderVersions(),
        _ body: @escaping @Sendable (isolated Simulation, [SimulatedAgent]) async throws -> Void
    ) async throws {
        var weather = Simulation.Weather(agentCount: count)
        weather.groups = ["d/*.{a,b,c,d}"]
        weather.versions = [FolderVersions(), versions]
        try await Simulation.run(seed: seed, weather: weather) { simulation in
            // No link breaks by itself.
            simulation.isQuiet = true
            let first = simulation.agents[0]
            #expect(first.files.makeDirectory("d"))
            #expect(first.files.write(Self.bytes("kept"), to: "keep"))
            for (name, text) in Self.old { #expect(first.files.write(Self.bytes(text), to: name)) }
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            try await body(simulation, simulation.agents)
        }
    }

    private func change(_ agent: SimulatedAgent) {
        for (name, text) in Self.new { #expect(agent.files.write(Self.bytes(text), to: name)) }
        #expect(agent.files.remove("d/x.c"))
    }

    private static func group(_ agent: SimulatedAgent) -> [String: String] {
        files(agent).filter { $0.key.hasPrefix("d/x.") }
    }

    private static func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files.filter { !$0.key.hasPrefix(".st") }
    }

    /// The process, or the power, ends at each call that changes the disk: after the first look of the next process, all of
    /// the group is old or all is new, and later all is new and nothing is left over.
    @Test(
        arguments: [FolderVersions.Kind.none, .trashcan], [FaultyDisk.End.killed, .powerLost])
    func aGroupIsAllOldOrAllNew(kind: FolderVersions.Kind, end: FaultyDisk.End) async throws {
        let seen = Mutex<Set<[String: String]>>([])
        var deaths = 0
        for moment in 0..<100 {
            let died = Flag()
            try await agents(seed: UInt64(moment + 1), versions: .init(kind: kind)) { simulation, agents in
                let (first, second) = (agents[0], agents[1])
                change(first)
                try await simulation.tell(first, second)
                second.disk.plan(end, after: moment)
                for _ in 0..<8 where second.isUp { try await simulation.work(second) }
                guard !second.isUp else { return second.disk.planNoEnd() }
                died.set()
                for text in Self.group(second).values {
                    #expect(Self.old.values.contains(text) || Self.new.values.contains(text), "half of a file: \(text)")
                }
                try await simulation.start(second)
                try await simulation.looks(second)
                let now = Self.group(second)
                #expect(now == Self.old || now == Self.new, "\(now) after \(moment)")
                seen.withLock { _ = $0.insert(now) }
                #expect(try await simulation.settle() == [])
                var all = Self.new
                all["keep"] = "kept"
                for agent in agents { #expect(Self.files(agent) == all, "after \(moment)") }
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 20, "it died \(deaths) times only")
        #expect(seen.withLock { $0 } == [Self.old, Self.new])
    }

    /// And again at each call of the process that comes after.
    @Test(arguments: [1, 2, 5, 6, 7, 10] as [UInt64]) func soItIsIfTheNextOneDiesAsWell(seed: UInt64) async throws {
        var deaths = 0
        for moment in 0..<12 {
            let died = Flag()
            try await agents(seed: seed) { simulation, agents in
                let (first, second) = (agents[0], agents[1])
                change(first)
                try await simulation.tell(first, second)
                // Right after the seed's number of files have taken their places.
                let count = Mutex(seed % 5)
                second.interruption = { change in
                    guard change.hasSuffix(" swapping") || change.hasSuffix("x.d keeping") else { return }
                    let isIt = count.withLock { count in
                        defer { count = count > 0 ? count - 1 : .max }
                        return count == 0
                    }
                    if isIt { second.disk.plan(seed % 2 == 0 ? .killed : .powerLost, after: 0) }
                }
                for _ in 0..<8 where second.isUp { try await simulation.work(second) }
                second.interruption = nil
                if second.isUp {
                    second.disk.kill(.killed)
                    await second.drop()
                }
                try await simulation.start(second)
                second.disk.plan(.killed, after: moment)
                try await simulation.looks(second)
                if !second.isUp {
                    died.set()
                    try await simulation.start(second)
                    try await simulation.looks(second)
                } else {
                    second.disk.planNoEnd()
                }
                let now = Self.group(second)
                #expect(now == Self.old || now == Self.new, "\(now) after \(moment)")
                #expect(try await simulation.settle() == [])
                #expect(Self.group(second) == Self.new)
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 0)
    }

    /// The user changes one of the files at the very instant in which the others get their new versions: they keep their
    /// old ones, until what the user wrote is known.
    @Test(arguments: ["d/x.a", "d/x.b", "d/x.c", "d/x.d"], 1...3 as ClosedRange<UInt64>)
    func whatAUserWritesAtThatInstantHoldsTheGroupBack(name: String, seed: UInt64) async throws {
        try await agents(seed: seed) { simulation, agents in
            let (first, second) = (agents[0], agents[1])
            change(first)
            try await simulation.tell(first, second)
            let wasThere = Flag()
            second.interruption = { change in
                guard change.hasPrefix("rename"), change.contains(name), !wasThere.isSet,
                    change.hasSuffix("swapping") || name == "d/x.c" || name == "d/x.d"
                else { return }
                wasThere.set()
                _ = second.files.replace(name, with: Self.bytes("mine"))
                second.disk.changedByUser("\(second.files.root)/\(name)")
            }
            await simulation.inProcess(of: second) { process in
                for _ in 0..<6 where !wasThere.isSet { _ = await process.folder.runner.performDue() }
            }
            second.interruption = nil
            #expect(wasThere.isSet)
            var expected = Self.old
            expected[name] = "mine"
            #expect(Self.group(second).filter { !$0.key.contains("conflict") } == expected)
            #expect(try await simulation.settle() == [])
            #expect(Self.group(first) == Self.group(second))
            let texts = Set(Self.group(first).values)
            #expect(texts.isSuperset(of: ["mine"]) && texts.isSuperset(of: Set(Self.new.values).subtracting([name])))
        }
    }

    /// What one device announces is held back as long as what another announces of the same group cannot be had.
    @Test func aGroupWaitsForTheFileThatCannotBeHad() async throws {
        try await agents(3) { simulation, agents in
            let (first, second, third) = (agents[0], agents[1], agents[2])
            #expect(first.files.write(Self.bytes("new a"), to: "d/x.a"))
            #expect(third.files.write(Self.bytes("new b"), to: "d/x.b"))
            #expect(first.files.remove("d/x.c"))
            try await simulation.tell(first, second)
            try await simulation.tell(third, second)
            for other in [first, second] { await simulation.cut(.init(from: third.number, to: other.number)) }
            for _ in 0..<6 { try await simulation.work(second) }
            #expect(Self.group(second) == Self.old)
            let problems = try #require(second.process?.folder.boards.status.snapshot.problems)
            #expect(problems["d/x.a"]?.english.contains("d/x.b") ?? false, "\(problems)")
            #expect(problems["d/x.c"]?.english.contains("d/x.b") ?? false, "\(problems)")
            // A file without a group does not wait.
            #expect(first.files.write(Self.bytes("new"), to: "keep"))
            try await simulation.tell(first, second)
            for _ in 0..<6 { try await simulation.work(second) }
            #expect(second.files.read("keep") == Self.bytes("new"))
            #expect(Self.group(second) == Self.old)
            #expect(try await simulation.settle() == [])
            for agent in agents { #expect(Self.group(agent) == ["d/x.a": "new a", "d/x.b": "new b"]) }
            #expect(second.process?.folder.boards.status.snapshot.problems == [:])
        }
    }

    @Test func whatIsNotSelectedDoesNotCount() async throws {
        try await agents { simulation, agents in
            let (first, second) = (agents[0], agents[1])
            #expect(second.files.replace(".stignore", with: Self.bytes("!/d/x.a\n!/d/x.c\n*\n")))
            second.selectionChanged()
            change(first)
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])
            #expect(Self.group(second) == ["d/x.a": "new a", "d/x.b": "old b"])
        }
    }

    /// A group that is renamed as a whole: its bytes are here, and none are asked for.
    @Test func aGroupIsRenamed() async throws {
        try await agents { simulation, agents in
            let (first, second) = (agents[0], agents[1])
            for name in Self.old.keys {
                #expect(first.files.rename(name, to: name.replacing("x.", with: "y.")))
            }
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])
            let expected = Dictionary(
                uniqueKeysWithValues: Self.old.map { ($0.key.replacing("x.", with: "y."), $0.value) })
            for agent in [first, second] {
                #expect(Self.files(agent).filter { $0.key.hasPrefix("d/") } == expected)
            }
        }
    }
}
