import NIOCore
import Synchronization

/// Makes something of a link of GhostDrop's first version; see `LinkInstaller`.
///
/// The channel carries v1 frames back to back whatever carries them, on GATT too: there, frames may get lost and overtake
/// each other, and the information's kind says so. `capabilities` is what the dialled device says of itself, as it was read.
package typealias LegacyInstaller<Output: Sendable> =
    @Sendable (_ channel: any Channel, _ information: LinkInformation, _ capabilities: [UInt8]) -> EventLoopFuture<
        Output
    >

/// A transport that also carries GhostDrop's first version, for one-shot transfers with devices that speak nothing else.
package protocol LegacyTransport: LinkTransport {
    /// Where links that begin as v1 go. While it is closed they are ended.
    var legacyDoor: LegacyDoor { get }

    /// Connects to the device at `address` for a v1 transfer, by L2CAP or else by GATT, and gives what `install` makes of
    /// the link. As `dial` otherwise.
    ///
    /// - Throws: as `dial`.
    func dialLegacy<Output: Sendable>(
        _ address: LinkAddress, timeout: Duration, install: @escaping LegacyInstaller<Output>
    ) async throws -> Output
}

/// Whoever takes v1 links at the moment, if anybody does.
package final class LegacyDoor: Sendable {
    private let current = Mutex<LinkInstaller<Void>?>(nil)

    package init() {}

    /// Takes a link that has connected; nil while nobody wants any.
    package var installer: LinkInstaller<Void>? { current.withLock { $0 } }

    package func open(_ installer: @escaping LinkInstaller<Void>) { current.withLock { $0 = installer } }

    package func close() { current.withLock { $0 = nil } }
}

/// Which protocol a link's first byte begins.
package enum FirstByte: Sendable, Equatable {
    /// GhostDrop's first version: its frames begin with `GHST`.
    case legacy
    /// Anything else is for whoever listens: TLS begins with 0x16, and finds out what is none.
    case link

    package init(_ byte: UInt8) { self = byte == UInt8(ascii: "G") ? .legacy : .link }
}
