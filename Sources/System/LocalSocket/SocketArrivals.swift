import CLinux
import Glibc

/// Has one of several threads go on when something has come to a socket, or was left to another by one of them. Nobody else is woken.
package final class SocketArrivals: Sendable {
    private let queue: CInt
    private let bell: CInt
    private let owner: any Sendable

    /// Nil and errno if the process has too many descriptors.
    ///
    /// - Parameter owner: keeps the socket open.
    init?(of socket: CInt, owner: any Sendable) {
        var bell: CInt = -1
        queue = clinux_arrivals(socket, &bell)
        (self.bell, self.owner) = (bell, owner)
        guard queue >= 0 else { return nil }
    }

    deinit {
        guard queue >= 0 else { return }
        close(queue)
        close(bell)
    }

    /// Returns when something has come that no thread was told of yet: then all of it is to be taken, or left to another thread.
    package func wait() { clinux_wait_for_arrival(queue) }

    /// Has another thread go on, one that waits or the next that does.
    package func leave() { clinux_ring(bell) }
}
