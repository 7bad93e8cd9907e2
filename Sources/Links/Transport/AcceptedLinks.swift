import NIOCore
import Synchronization

/// The links that a listener has accepted and that nobody has taken yet, at most `limit` of them.
///
/// For transports. A transport stops accepting while `isFull` and goes on when a place becomes free: then `read()` is
/// called on the parent of the accepted channel, if it has one, and `onRoom`.
package final class AcceptedLinks<Output: Sendable>: Sendable {
    private struct Entry {
        var channel: any Channel
        /// What the installer made of the link, once it has.
        var output: Output?
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var isClosed = false
    }

    private let limit: Int
    private let onRoom: (@Sendable () -> Void)?
    private let state = Mutex(State())
    // At most one element per entry, so no more than `limit`.
    private let ready = AsyncStream.makeStream(of: ObjectIdentifier.self)

    /// - Parameters:
    ///   - limit: how many links may be set up or wait to be taken at the same time.
    ///   - onRoom: for transports whose accepted channels have no parent. Called on any thread.
    package init(limit: Int, onRoom: (@Sendable () -> Void)? = nil) {
        self.limit = limit
        self.onRoom = onRoom
    }

    package var isFull: Bool { state.withLock { $0.entries.count >= limit } }

    /// Takes a place for a channel that was just accepted. It is free again when the link is taken, or when the channel
    /// closes before it was set up.
    package func admit(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.entries[key] = Entry(channel: channel) }
            return state.isClosed
        }
        guard !isClosed else {
            channel.close(promise: nil)
            return
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            let wasSettingUp = self?.state.withLock { state in
                guard let entry = state.entries[key], entry.output == nil else { return false }
                state.entries[key] = nil
                return true
            }
            if wasSettingUp == true { self?.placeIsFree(of: channel) }
        }
    }

    /// Follows the set-up of an admitted channel: its output can be taken from then on.
    package func settle(_ channel: any Channel, _ output: EventLoopFuture<Output>) {
        output.whenSuccess { output in
            let key = ObjectIdentifier(channel)
            let isWaiting = self.state.withLock { state in
                guard state.entries[key] != nil else { return false }
                state.entries[key]?.output = output
                return true
            }
            if isWaiting { self.ready.continuation.yield(key) } else { Self.discard(output, of: channel) }
        }
    }

    /// Gives up the place of an admitted channel that somebody else has taken; it is not closed.
    package func release(_ channel: any Channel) {
        let wasAdmitted = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(channel)) != nil }
        if wasAdmitted { placeIsFree(of: channel) }
    }

    /// Closes every link that nobody has taken, and ends the sequence of those to take.
    package func close() {
        let entries = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [:] }
            return Array(state.entries.values)
        }
        ready.continuation.finish()
        for entry in entries { Self.discard(entry.output, of: entry.channel) }
    }

    var readyKeys: AsyncStream<ObjectIdentifier> { ready.stream }

    func take(_ key: ObjectIdentifier) -> Output? {
        let entry = state.withLock { state -> Entry? in
            guard state.entries[key]?.output != nil else { return nil }
            return state.entries.removeValue(forKey: key)
        }
        if let entry { placeIsFree(of: entry.channel) }
        return entry?.output
    }

    private func placeIsFree(of channel: any Channel) {
        channel.parent?.read()
        onRoom?()
    }

    /// Closes a link and keeps what was made of it until then: an async channel must not go before its channel.
    private static func discard(_ output: Output?, of channel: any Channel) {
        channel.close(promise: nil)
        channel.closeFuture.whenComplete { _ in withExtendedLifetime(output) {} }
    }
}
