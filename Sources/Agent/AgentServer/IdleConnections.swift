import NIOCore
import Synchronization

/// Connections that anybody can open and keep open, oldest first: those whose request is not complete yet, and those that are
/// sent a file of the page. At most `limit`: a new one is always accepted and replaces the oldest, so that those who send or
/// read nothing cannot lock out the user. Pure.
struct IdleConnections<Element> {
    private let limit: Int
    private var connections: [(number: Int, connection: Element)] = []
    private var nextNumber = 0

    init(limit: Int) { self.limit = max(1, limit) }

    /// Adds a connection; returns its number, and the oldest connection if that has to be closed.
    mutating func add(_ connection: Element) -> (number: Int, excess: Element?) {
        let number = nextNumber
        nextNumber += 1
        connections.append((number, connection))
        return (number, connections.count > limit ? connections.removeFirst().connection : nil)
    }

    /// Removes a connection that has sent its request, was answered, or has ended.
    mutating func remove(_ number: Int) { connections.removeAll { $0.number == number } }
}

/// `IdleConnections` of channels; closes the one that has to go.
final class IdleChannels: Sendable {
    private let connections: Mutex<IdleConnections<any Channel>>

    init(limit: Int) { connections = Mutex(IdleConnections(limit: limit)) }

    /// Adds a channel; returns its number.
    func add(_ channel: any Channel) -> Int {
        let (number, excess) = connections.withLock { $0.add(channel) }
        excess?.close(promise: nil)
        return number
    }

    func remove(_ number: Int) { connections.withLock { $0.remove(number) } }
}
