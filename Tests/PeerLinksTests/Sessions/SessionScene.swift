import AgentConfiguration
import BlockExchange
import Cryptography
import Foundation
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import SessionTestKit

/// What tests of sessions begin with.
final class SessionScene: Sendable {
    let clock = ManualClock()
    let home = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)").path
    let ids = (0..<3).map { DeviceID(digest: SHA256.digest([UInt8($0)])) }
    private let agents = Mutex<[Int: SessionAgent]>([:])

    deinit { try? FileManager.default.removeItem(atPath: home) }

    /// Runs a test with agents that share a folder, and ends them.
    static func run(
        _ count: Int = 2, _ change: (inout FolderConfiguration, _ agent: Int) -> Void = { _, _ in },
        _ body: (SessionScene) async throws -> Void
    ) async throws {
        let scene = SessionScene()
        for number in 0..<count { try await scene.start(number) { change(&$0, number) } }
        do {
            try await body(scene)
        } catch {
            await scene.stop()
            throw error
        }
        await scene.stop()
    }

    subscript(number: Int) -> SessionAgent {
        guard let agent = agents.withLock({ $0[number] }) else { preconditionFailure("no agent \(number)") }
        return agent
    }

    @discardableResult
    func start(_ number: Int, _ change: (inout FolderConfiguration) -> Void = { _ in }) async throws -> SessionAgent {
        let agent = try await SessionAgent(
            ids[number], home: "\(home)/\(number)", peers: ids.filter { $0 != ids[number] }, clock: clock, change)
        agents.withLock { $0[number] = agent }
        return agent
    }

    func stop(_ number: Int) async throws {
        let agent = agents.withLock { $0.removeValue(forKey: number) }
        try await agent?.stop()
    }

    private func stop() async {
        for number in agents.withLock({ Array($0.keys) }) { try? await stop(number) }
    }

    /// Connects two agents by a wire; the first one has dialled.
    @discardableResult
    func connect(
        _ dialler: Int = 0, _ answerer: Int = 1, kind: LinkKind = .tcp, over wire: MemoryWire = MemoryWire()
    ) async throws -> MemoryWire {
        let (first, second) = (self[dialler], self[answerer])
        let links = [
            try await wire.link(.dialler, to: second.id, kind: kind),
            try await wire.link(.answerer, to: first.id, kind: kind),
        ]
        first.serve(links[0])
        second.serve(links[1])
        return wire
    }

    /// Connects an agent to a peer that says whatever the test has it say.
    func peer(of agent: Int = 0, as number: Int = 1, over wire: MemoryWire = MemoryWire()) async throws -> ScriptedPeer
    {
        let peer = ScriptedPeer(ids[number], of: ids[agent], wire: wire)
        self[agent].serve(try await wire.link(.answerer, to: ids[number]))
        return peer
    }

    /// Lets everything go on until something is so. Pauses of up to a second are over at once; longer ones never are.
    func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool) async throws {
        while try await !condition() {
            if Task.isCancelled { Issue.record("This never came to be.", sourceLocation: sourceLocation) }
            try Task.checkCancellation()
            clock.advance(within: .seconds(1))
            await Task.yield()
        }
    }

    /// Both agents have the files, on disk and in their indexes, and know that of each other.
    func haveBoth(_ files: [String: [UInt8]]) async throws -> Bool {
        let (first, second) = (self[0], self[1])
        for (name, bytes) in files {
            guard second.read(name) == bytes, first.read(name) == bytes, let version = try await first.version(name)
            else { return false }
            guard try await second.version(name) == version else { return false }
        }
        guard try await first.isCurrent(of: second) else { return false }
        return try await second.isCurrent(of: first)
    }
}
