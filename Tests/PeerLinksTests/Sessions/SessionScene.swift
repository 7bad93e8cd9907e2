import AgentConfiguration
import BlockExchange
import Cryptography
import Foundation
import IndexStore
import LinkSecurity
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import SessionTestKit

/// What tests of sessions begin with.
final class SessionScene: Sendable {
    enum Threads: CaseIterable, Sendable {
        /// All of a test is done by one thread: it does the same each time.
        case one
        /// As in an agent.
        case many
    }

    /// Turns of all tasks: the longest wait takes some 700, and more where other tests keep what a test has started from its turn.
    private static let turnLimit = 100_000
    /// Yields say little of what other threads do meanwhile.
    private static let yieldLimit = 5_000_000

    let clock = ManualClock()
    private let executor: SerialTaskExecutor?
    private let connections: Int
    private let quota: IndexStore.Quota
    let home = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)").path
    let ids = (0..<3).map { DeviceID(digest: SHA256.digest([UInt8($0)])) }
    private let agents = Mutex<[Int: SessionAgent]>([:])

    deinit { try? FileManager.default.removeItem(atPath: home) }

    private init(executor: SerialTaskExecutor?, connections: Int, quota: IndexStore.Quota) {
        self.executor = executor
        self.quota = quota
        self.connections = connections
    }

    /// Runs a test with agents that share a folder, and ends them.
    ///
    /// - Parameters:
    ///   - connections: how many links two agents want with each other.
    ///   - quota: of what other devices may have stored.
    static func run(
        _ count: Int = 2, connections: Int = 1, quota: IndexStore.Quota = .init(), threads: Threads = .one,
        _ change: @escaping @Sendable (inout FolderConfiguration, _ agent: Int) -> Void = { _, _ in },
        _ body: @escaping @Sendable (SessionScene) async throws -> Void
    ) async throws {
        switch threads {
        case .one:
            try await SerialTaskExecutor.run { executor in
                try await SessionScene(executor: executor, connections: connections, quota: quota).run(
                    count, change, body)
            }
        case .many:
            try await SessionScene(executor: nil, connections: connections, quota: quota).run(count, change, body)
        }
    }

    private func run(
        _ count: Int, _ change: (inout FolderConfiguration, _ agent: Int) -> Void,
        _ body: (SessionScene) async throws -> Void
    ) async throws {
        do {
            for number in 0..<count { try await start(number) { change(&$0, number) } }
            try await body(self)
        } catch {
            await stop()
            throw error
        }
        await stop()
    }

    subscript(number: Int) -> SessionAgent {
        guard let agent = agents.withLock({ $0[number] }) else { preconditionFailure("no agent \(number)") }
        return agent
    }

    @discardableResult
    func start(_ number: Int, _ change: (inout FolderConfiguration) -> Void = { _ in }) async throws -> SessionAgent {
        let agent = try await SessionAgent(
            ids[number], home: "\(home)/\(number)", peers: ids.filter { $0 != ids[number] },
            connections: connections, quota: quota, clock: clock, executor: executor, change)
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
            try await link(.dialler, of: wire, to: second.id, kind),
            try await link(.answerer, of: wire, to: first.id, kind),
        ]
        first.serve(links[0])
        second.serve(links[1])
        return wire
    }

    /// Connects an agent to a peer that says whatever the test has it say.
    func peer(
        of agent: Int = 0, as number: Int = 1, over wire: MemoryWire = MemoryWire(), kind: LinkKind = .tcp
    ) async throws -> ScriptedPeer {
        let peer = ScriptedPeer(ids[number], of: ids[agent], wire: wire)
        self[agent].serve(try await link(.answerer, of: wire, to: ids[number], kind))
        return peer
    }

    private func link(
        _ side: MemoryWire.Side, of wire: MemoryWire, to peer: DeviceID, _ kind: LinkKind
    ) async throws -> SecureLink {
        guard let executor else { return try await wire.link(side, to: peer, kind: kind) }
        return try wire.link(side, to: peer, kind: kind, on: executor.loop)
    }

    /// Lets everything go on until something is so. Pauses of up to a second are over at once; longer ones never are. A test whose
    /// condition never comes true fails after so many turns, however long they take.
    func until(
        fileID: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
    ) async throws {
        let limit = executor == nil ? Self.yieldLimit : Self.turnLimit
        try await yields(atMost: limit, fileID: fileID, line: line) {
            if try await condition() { return true }
            clock.advance(within: .seconds(1))
            return false
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
