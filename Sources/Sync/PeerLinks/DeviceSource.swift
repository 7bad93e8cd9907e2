import AgentContext
import BlockExchange
import Fetching
import LinkRules
import NIOCore
import Synchronization
import Transport

/// Asks one device for blocks, each over the link that has the least under way.
package final class DeviceSource: BlockSource {
    private struct State {
        var spread = RequestSpread()
        var sessions: [LinkNumber: PeerSession] = [:]
        /// Of the link that the device is judged by.
        var primary: PeerSession?
    }

    private let state = Mutex(State())

    /// The links that requests may go over.
    package var sessions: [PeerSession] { state.withLock { Array($0.sessions.values) } }

    package var kind: LinkKind { state.withLock { $0.primary?.kind } ?? .tcp }
    package var route: LinkRoute { state.withLock { $0.primary?.route } ?? .internet }
    package var isOpen: Bool { sessions.contains(where: \.isOpen) }

    /// Whether other links are in use than before.
    func set(_ links: [(LinkNumber, PeerSession)], primary: LinkNumber?) -> Bool {
        state.withLock { state in
            let sessions = Dictionary(links, uniquingKeysWith: { first, _ in first })
            let hasChanged = Set(sessions.keys) != Set(state.sessions.keys)
            state.sessions = sessions
            state.primary = primary.flatMap { sessions[$0] } ?? links.first?.1
            state.spread.set(links: links.map(\.0), primary: primary)
            return hasChanged
        }
    }

    /// Over the link on which the device says what it takes. Throws `RequestError`, or `CancellationError`.
    package func keep(_ request: KeepRequest) async throws -> KeepAnswer {
        guard let primary = state.withLock({ $0.primary }) else { throw RequestError.linkLost }
        return try await primary.keep(request)
    }

    /// As of the link on which the device says what it takes.
    package func takesRenames(in folder: FolderID) -> Bool {
        state.withLock({ $0.primary })?.takesRenames(in: folder) ?? false
    }

    /// Over that link. Throws `RequestError`, or `CancellationError`.
    package func rename(_ request: RenameRequest) async throws -> RenameAnswer {
        guard let primary = state.withLock({ $0.primary }) else { throw RequestError.linkLost }
        return try await primary.rename(request)
    }

    /// Throws `RequestError`, or `CancellationError`.
    package func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
        let byteCount = Int(max(0, request.size))
        let chosen = state.withLock { state -> (LinkNumber, PeerSession)? in
            guard let number = state.spread.take(byteCount: byteCount), let session = state.sessions[number] else {
                return nil
            }
            return (number, session)
        }
        guard let (number, session) = chosen else { throw RequestError.linkLost }
        defer { state.withLock { $0.spread.finished(number, byteCount: byteCount) } }
        return try await session.request(request, isBulk: isBulk)
    }
}
