import NIOCore
import Synchronization

/// The links that a listener has accepted and that nobody has taken yet, at most `limit` of them.
///
/// For transports. A transport stops accepting while `isFull` and goes on when a place becomes free: then `read()` is
/// called on the parent of the accepted channel, if it has one, and `onRoom`. With a limit for each address it is full only
/// of links that are set up: those that are not make room for new ones (see `SetUpPlaces`).
package final class AcceptedLinks<Output: Sendable>: Sendable {
    private struct Entry {
        var channel: any Channel
        /// What the installer made of the link, once it has.
        var output: Output?
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// Of the entries without an output; nil where nothing is replaced.
        var places: SetUpPlaces<ObjectIdentifier>?
        var isClosed = false
    }

    private let limit: Int
    private let onRoom: (@Sendable () -> Void)?
    private let state: Mutex<State>
    // At most one element per entry, so no more than `limit`.
    private let ready = AsyncStream.makeStream(of: ObjectIdentifier.self)

    /// - Parameters:
    ///   - limit: how many links may be set up or wait to be taken at the same time.
    ///   - limitPerAddress: how many of them may be set up for one address. Then as many may wait to be taken beside them, and
    ///     a link that is set up is closed for a new one where all places are taken. Nil: new ones wait.
    ///   - onRoom: for transports whose accepted channels have no parent. Called on any thread.
    package init(limit: Int, limitPerAddress: Int? = nil, onRoom: (@Sendable () -> Void)? = nil) {
        self.limit = limit
        self.onRoom = onRoom
        state = Mutex(
            State(
                places: limitPerAddress.map {
                    SetUpPlaces(limits: SetUpPlaces.Limits(all: limit, perAddress: $0))
                }))
    }

    package var isFull: Bool { state.withLock { $0.entries.count - ($0.places?.count ?? 0) >= limit } }

    /// Takes a place for a channel that was just accepted. It is free again when the link is taken, or when the channel
    /// closes before it was set up.
    package func admit(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let address = AddressGroup(channel.remoteAddress.flatMap { IPAddress($0) })
        let (isClosed, replaced) = state.withLock { state -> (Bool, (any Channel)?) in
            guard !state.isClosed else { return (true, nil) }
            state.entries[key] = Entry(channel: channel)
            let replaced = state.places?.add(key, from: address)
            return (false, replaced.flatMap { state.entries.removeValue(forKey: $0)?.channel })
        }
        replaced?.close(promise: nil)
        guard !isClosed else {
            channel.close(promise: nil)
            return
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            let wasSettingUp = self?.state.withLock { state in
                guard let entry = state.entries[key], entry.output == nil else { return false }
                state.entries[key] = nil
                state.places?.remove(key)
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
                state.places?.remove(key)
                return true
            }
            if isWaiting { self.ready.continuation.yield(key) } else { Self.discard(output, of: channel) }
        }
    }

    /// Gives up the place of an admitted channel that somebody else has taken; it is not closed.
    package func release(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let wasAdmitted = state.withLock { state in
            state.places?.remove(key)
            return state.entries.removeValue(forKey: key) != nil
        }
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
