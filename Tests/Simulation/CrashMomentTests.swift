import Cryptography
import FileAccess
import SyncTestKit
import Testing

@testable import FolderSync

/// Deaths at single moments that a random run seldom meets.
@Suite struct CrashMomentTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Two agents that have `names` with their own name as contents, settled.
    private func pair(
        seed: UInt64, _ names: [String],
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        try await Simulation.run(seed: seed, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for name in names { #expect(first.files.write(Self.bytes(name), to: name)) }
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            #expect(Set(second.files.allNames()) == Set(names))
            try await body(simulation, first, second)
        }
    }

    private func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    /// The second agent's user writes at the very instant in which another's version takes the file's place, and the
    /// process dies before that could be undone.
    @Test(arguments: 1...8 as ClosedRange<UInt64>, ["f", String(repeating: "n", count: 240)])
    func whatIsWrittenAtTheInstantOfTheSwapIsKept(seed: UInt64, name: String) async throws {
        try await pair(seed: seed, [name]) { simulation, first, second in
            #expect(first.files.write(Self.bytes("theirs"), to: name))
            try await simulation.tell(first, second)
            second.interruption = { change in
                guard change.hasPrefix("rename"), change.hasSuffix("\(name) swapping") else { return }
                _ = second.files.replace(name, with: Self.bytes("mine"))
                second.disk.changedByUser("\(second.files.root)/\(name)")
                second.interruption = nil
                second.disk.plan(.killed, after: 0)
            }
            try await simulation.work(second)
            #expect(!second.isUp, "it did not die")
            #expect(try await simulation.settle() == [])
            for agent in [first, second] {
                let contents = files(agent)
                #expect(Set(contents.values).isSuperset(of: ["mine", "theirs"]), "\(contents)")
                #expect(!contents.keys.contains { RelativePath($0)?.isSwap ?? true }, "\(contents)")
            }
        }
    }

    enum Placing: CaseIterable { case new, replaced, renamed, permissions }

    /// A version was put into its place, and the process died before it was noted; before the next one looks, newer
    /// versions are announced.
    @Test(arguments: 1...6 as ClosedRange<UInt64>, Placing.allCases)
    func whatWasPutThereIsNoChangeOfTheUser(seed: UInt64, placing: Placing) async throws {
        try await pair(seed: seed, ["g", "f"]) { simulation, first, second in
            let name = placing == .new || placing == .renamed ? "new" : "f"
            switch placing {
            case .new, .replaced: #expect(first.files.write(Self.bytes("second"), to: name))
            case .renamed: #expect(first.files.rename("f", to: name))
            case .permissions: #expect(first.files.setPermissions(0o600, of: name))
            }
            try await simulation.tell(first, second)
            second.interruption = { change in
                let isIt =
                    switch placing {
                    case .new: change.hasSuffix(" \(name) keeping")
                    case .replaced: change.hasSuffix(" \(name) swapping")
                    case .renamed: change == "utimens \(name)"
                    case .permissions: change == "chmod \(name)"
                    }
                guard isIt else { return }
                second.interruption = nil
                // The call itself is made.
                second.disk.plan(.killed, after: 0)
            }
            try await simulation.work(second)
            #expect(!second.isUp, "it did not die")

            for text in ["third", "fourth"] {
                #expect(first.files.write(Self.bytes(text), to: name))
                try await simulation.looks(first)
            }
            try await simulation.start(second)
            try await simulation.tell(first, second)
            #expect(try await simulation.settle() == [])
            for agent in [first, second] {
                var expected = ["g": "g", "f": "f"]
                if placing == .renamed { expected["f"] = nil }
                expected[name] = "fourth"
                #expect(files(agent) == expected)
            }
        }
    }

    /// A directory that is not to be written to is so in the end, with what is in it, and nobody takes that for a change.
    @Test func permissionsOfDirectoriesAreWhatTheyAre() async throws {
        try await pair(seed: 1, []) { simulation, first, second in
            #expect(first.files.makeDirectory("d") && first.files.makeDirectory("d/e"))
            #expect(first.files.write(Self.bytes("x"), to: "d/e/x"))
            for name in ["d/e", "d"] { #expect(first.files.setPermissions(0o555, of: name)) }
            try await simulation.tell(first, second)
            #expect(try await simulation.settle() == [])
            #expect(first.files.tree() == second.files.tree())
            #expect(second.files.item("d") == .directory(permissions: 0o555))
            #expect(second.files.item("d/e") == .directory(permissions: 0o555))
        }
    }
}

extension Simulation {
    /// Lets an agent look at all of its disk.
    func looks(_ agent: SimulatedAgent) async throws {
        time.advance(by: .seconds(10))
        hideRealTimes(agent)
        agent.process?.folder.boards.inbox.scanEverything()
        await inProcess(of: agent) { _ = await $0.folder.runner.performDue() }
    }

    /// Lets the first agent look and tell the second what it has.
    func tell(_ first: SimulatedAgent, _ second: SimulatedAgent) async throws {
        try await looks(first)
        if !network.isUp(.init(from: first.number, to: second.number)) { try await connect(first, second) }
        await carry(.init(from: first.number, to: second.number))
    }
}
