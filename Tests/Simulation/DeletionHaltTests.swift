import Glibc
import SyncTestKit
import Testing

@testable import FolderSync
@testable import SessionTestKit

/// A folder that has halted over deletions stays so until a person decides or nothing is missing, whatever happens meanwhile.
@Suite(.serialized, .timeLimit(.minutes(60))) struct DeletionHaltTests {
    enum Interlude: CaseIterable { case restart, missingDisk, missingDiskAndRestart }

    private static let names = ["a", "b", "c", "d"]

    private func halt(_ agent: SimulatedAgent) -> FolderHalt.Reason? {
        agent.process?.folder.boards.status.snapshot.halt?.reason
    }

    /// Two agents with four files each, one of which finds its root empty.
    private func emptied(
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for name in Self.names { #expect(first.files.write(Array(name.utf8), to: name)) }
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])
            for name in Self.names { #expect(second.files.remove(name)) }
            try await simulation.looks(second)
            #expect(halt(second) == .rootEmptied)
            try await body(simulation, first, second)
            #expect(simulation.trace.violations == [])
        }
    }

    private func restart(_ agent: SimulatedAgent, in simulation: isolated Simulation) async throws {
        await agent.drop()
        await simulation.executor.idle()
        try await simulation.start(agent)
    }

    /// Something is put into the root and the deletions are still few: by their numbers alone they would go out.
    @Test(arguments: Interlude.allCases) func outlastsWhatHappensMeanwhile(interlude: Interlude) async throws {
        try await emptied { simulation, first, second in
            let (root, away) = (second.files.root, second.files.root + "-away")
            if interlude != .restart {
                #expect(rename(root, away) == 0)
                try await simulation.looks(second)
                #expect(halt(second) == .rootMissing)
                #expect(rename(away, root) == 0)
            }
            #expect(second.files.write(Array("new".utf8), to: "new"))
            if interlude != .missingDisk { try await restart(second, in: simulation) }
            try await simulation.looks(second)
            #expect(halt(second) == .massDeletion)
            let outcome = try #require(second.process).folder.boards.status.snapshot
            #expect(outcome.heldDeletions == 3, "what is gone, less what came")

            for name in Self.names { #expect(second.files.write(Array(name.utf8), to: name)) }
            try await simulation.looks(second)
            #expect(halt(second) == nil, "nothing is missing any more")
            #expect(try await simulation.settle() == [])
            #expect(first.files.tree() == second.files.tree())
            #expect(first.files.tree().count == 5)
        }
    }

    /// Nobody is asked a second time by the next process.
    @Test func isOverOnceItIsDecided() async throws {
        try await emptied { simulation, first, second in
            try await restart(second, in: simulation)
            #expect(try await #require(second.process).folder.runner.confirm(isDryRun: false).deletions == 4)
            #expect(halt(second) == nil)
            try await restart(second, in: simulation)
            #expect(try await simulation.settle() == [])
            #expect(halt(second) == nil)
            #expect(first.files.tree().isEmpty)
        }
    }
}
