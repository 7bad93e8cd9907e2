import AgentConfiguration
import SyncDecisions
import SyncTestKit
import Testing

@testable import FolderSync
@testable import SessionTestKit

/// Deletions of most of a folder by another device: what waits, what goes on meanwhile, and what a person's word lets go.
@Suite(.serialized, .timeLimit(.minutes(60))) struct IncomingDeletionTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static let many = (0..<140).map { "d/\($0)" }
    private static let few = (0..<20).map { "f\($0)" }

    /// Two agents that have all names with their own name as contents, settled.
    private func pair(
        guards: Bool = true,
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            #expect(first.files.makeDirectory("d"))
            for name in Self.many + Self.few { #expect(first.files.write(Self.bytes(name), to: name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few))
            if !guards, let folder = second.process?.folder {
                var configuration = folder.configuration
                configuration.guardsIncomingDeletions = false
                folder.runner.configure(configuration)
            }
            try await body(simulation, first, second)
            #expect(simulation.trace.violations == [])
        }
    }

    private func scan(_ agent: SimulatedAgent) { agent.process?.folder.boards.inbox.scanEverything() }

    private func settle(_ simulation: isolated Simulation) async throws {
        let problems = try await simulation.settle()
        #expect(problems == [])
    }

    private func files(_ agent: SimulatedAgent) -> Set<String> {
        Set(agent.files.allNames().filter { !agent.files.isDirectory($0) })
    }

    private func status(_ agent: SimulatedAgent) throws -> FolderStatusBoard.Snapshot {
        try #require(agent.process).folder.boards.status.snapshot
    }

    private func confirm(_ agent: SimulatedAgent, isDryRun: Bool = false) async throws -> Int64 {
        let folder = try #require(agent.process?.folder)
        return try await folder.runner.confirm(isDryRun: isDryRun).deletions
    }

    @Test func mostOfAFolderWaitsForAPersonAndTheRestGoesOn() async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            #expect(first.files.write(Self.bytes("changed"), to: "f0"))
            #expect(first.files.write(Self.bytes("new"), to: "new"))
            #expect(first.files.remove("f1"))
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few + ["new"]))
            #expect(second.files.read("f0") == Self.bytes("changed"))
            let status = try status(second)
            #expect(status.halt == nil)
            #expect(status.need.deletions == 141)
            let message = try #require(status.problems["."]?.english)
            #expect(message.contains("deleted 141 of the 161 files here"))
            #expect(message.contains("synctrain folder confirm"))

            #expect(try await confirm(second, isDryRun: true) == 141)
            #expect(files(second).count == 161, "a dry run deletes nothing")
            #expect(try await confirm(second) == 141)
            try await settle(simulation)
            #expect(files(second) == files(first))
            #expect(try self.status(second).problems == [:])
            await #expect(throws: FolderError.self) { _ = try await confirm(second) }
        }
    }

    /// The person's word is for what was deleted by then.
    @Test func aConfirmationIsForTheDeletionsOfThatMoment() async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(try await confirm(second) == 140)
            try await settle(simulation)
            #expect(files(second) == Set(Self.few))
            for name in Self.many { #expect(first.files.write(Self.bytes("again " + name), to: name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few))
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few))
            #expect(try status(second).problems.keys.sorted() == ["d"])
        }
    }

    /// Before anything of it was carried out.
    @Test func aConfirmationOutlivesARestart() async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(try await confirm(second) == 140)
            await second.drop()
            await simulation.executor.idle()
            #expect(files(second) == Set(Self.many + Self.few))
            try await simulation.start(second)
            try await settle(simulation)
            #expect(files(second) == Set(Self.few))
            let folder = try #require(second.process)
            #expect(try await folder.index.confirmedDeletions(in: SimulatedAgent.folder) == [], "it was for this once")
        }
    }

    /// A death in the middle of them: nobody is asked again for the rest.
    @Test(arguments: [5, 60, 150]) func aConfirmationOutlivesADeath(changes: Int) async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(try await confirm(second) == 140)
            second.disk.plan(.killed, after: changes)
            try await simulation.work(second)
            #expect(!second.isUp, "it did not die")
            let left = files(second).count
            #expect(Self.few.count < left && left < 160, "\(left)")
            try await simulation.start(second)
            try await settle(simulation)
            #expect(files(second) == Set(Self.few))
            #expect(try status(second).problems == [:])
        }
    }

    /// What nobody has confirmed is held after a restart as before, and can be confirmed then.
    @Test func whatIsHeldIsHeldAfterARestart() async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            await second.drop()
            await simulation.executor.idle()
            try await simulation.start(second)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few))
            #expect(try status(second).problems["d"]?.english.contains("synctrain folder confirm") == true)
            #expect(try await confirm(second) == 140)
            try await settle(simulation)
            #expect(files(second) == Set(Self.few))
        }
    }

    @Test func filesThatAreRestoredAreHeldNoMore() async throws {
        try await pair { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            for name in Self.many { #expect(first.files.write(Self.bytes(name), to: name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many + Self.few))
            #expect(try status(second).problems == [:])
            await #expect(throws: FolderError.self) { _ = try await confirm(second) }
        }
    }

    @Test func aRenamedDirectoryIsNotLost() async throws {
        try await pair { simulation, first, second in
            #expect(first.files.rename("d", to: "e"))
            scan(first)
            try await settle(simulation)
            #expect(files(second) == files(first))
            #expect(files(second).contains("e/7"))
        }
    }

    /// First the new names, and the deletions of the old ones when the copies are there.
    @Test func whatWasCopiedBeforeIsNotLost() async throws {
        try await pair { simulation, first, second in
            #expect(first.files.makeDirectory("e"))
            for name in Self.many {
                #expect(first.files.write(Self.bytes(name), to: "e" + name.dropFirst()))
            }
            scan(first)
            try await settle(simulation)
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.many.map { "e" + $0.dropFirst() } + Self.few))
        }
    }

    @Test func withoutTheGuardAllGoes() async throws {
        try await pair(guards: false) { simulation, first, second in
            for name in Self.many { #expect(first.files.remove(name)) }
            scan(first)
            try await settle(simulation)
            #expect(files(second) == Set(Self.few))
        }
    }
}
