import LinkSecurity
import Synchronization
import Transport

/// What is listened on; shared with those who need to know before there is anything.
package final class ListenerBoard: Sendable {
    private let listeners = Mutex<[LinkListener<SecureLink>]>([])

    package init() {}

    package var all: [LinkListener<SecureLink>] { listeners.withLock { $0 } }
    package var addresses: [LinkAddress] { listeners.withLock { $0.map(\.address) } }

    package func add(_ listener: LinkListener<SecureLink>) { listeners.withLock { $0.append(listener) } }
}
