import LinkSecurity
import Synchronization
import Transport

/// What is listened on; shared with those who need to know before there is anything.
final class ListenerBoard: Sendable {
    private let listeners = Mutex<[LinkListener<SecureLink>]>([])

    var all: [LinkListener<SecureLink>] { listeners.withLock { $0 } }
    var addresses: [LinkAddress] { listeners.withLock { $0.map(\.address) } }

    func add(_ listener: LinkListener<SecureLink>) { listeners.withLock { $0.append(listener) } }
}
