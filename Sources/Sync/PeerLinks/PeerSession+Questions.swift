import BlockExchange
import Fetching

/// What only a synctrain is asked.
extension PeerSession {
    /// Throws `RequestError`, also if the peer has not said on this link that it takes such requests, or `CancellationError`;
    /// then an answer that still comes is dropped.
    package func keep(_ request: KeepRequest) async throws -> KeepAnswer {
        // Anything else ends a link with a Syncthing.
        guard peerConfig?.folders.first(where: { $0.id == request.folder })?.takesKeepRequests == true else {
            throw RequestError.refused(.generic)
        }
        return try await ask(keepWaiters, { $0.keep(request, at: $1) }, forget: { $0.forgetKeep($1) })
    }

    /// Whether the peer has said on this link that it renames things of a folder for others.
    package func takesRenames(in folder: FolderID) -> Bool {
        peerConfig?.folders.first { $0.id == folder }?.takesRenameRequests == true
    }

    /// Has the peer rename something. Throws `RequestError`, also if the peer has not said on this link that it takes such requests,
    /// or `CancellationError`; then an answer that still comes is dropped.
    package func rename(_ request: RenameRequest) async throws -> RenameAnswer {
        guard takesRenames(in: request.folder) else { throw RequestError.refused(.generic) }
        return try await ask(renameWaiters, { $0.rename(request, at: $1) }, forget: { $0.forgetRename($1) })
    }

    /// Whether the peer has said on this link that it tests addresses for others.
    package var takesReachTests: Bool { peerConfig?.takesReachTests == true }

    /// Has the peer test at which addresses it reaches this device. Throws `RequestError`, also if the peer has not said on this link
    /// that it takes such requests, or `CancellationError`; then an answer that still comes is dropped.
    package func test(_ request: ReachRequest) async throws -> ReachAnswer {
        guard takesReachTests else { throw RequestError.refused(.generic) }
        return try await ask(reachWaiters, { $0.reach(request, at: $1) }, forget: { $0.forgetReach($1) })
    }
}
