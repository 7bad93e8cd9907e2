import BlockExchange
import Cryptography
import GhostDrop

/// What two paired devices say about a transfer: requests of the block exchange protocol in a folder of a name that no
/// folder has, so that they share its link, its order and its end with everything else. Pure.
///
/// The sender asks `offer/ID`; whoever takes files agrees, and asks in turn: `about/ID` for the name, the size and the
/// digest, `data/ID` for bytes, as many and as fast as it likes, and `end/ID/WORD` when it is done. `cancel/ID` is the
/// sender's. A device that does not know of it, or does not receive, says that there is no such file.
package struct DeviceDropMessage: Equatable, Sendable {
    package enum Kind: String, Sendable {
        case offer, cancel
        case about, data, end
    }

    /// Why a receiver asks for no more.
    package enum End: String, Sendable, CaseIterable {
        /// The file is there, durable and as announced.
        case done
        case declined
        case noSpace = "no-space"
        case digestDiffers = "digest-differs"
        case failed
        /// The receiver takes no more files: its user has stopped it, or as many have come as were asked for.
        case stopped
        /// Its user has not answered the offer in time.
        case unanswered

        /// What a device is told that does not know this word, and then says that there is no such file; nil: all know it.
        package var older: End? {
            switch self {
            case .stopped, .unanswered: .failed
            case .done, .declined, .noSpace, .digestDiffers, .failed: nil
            }
        }
    }

    /// No user's folder: a control character is not allowed in their names.
    package static let folder = FolderID("\u{1}synctrain-drop/1")
    /// The longest answer to `about`.
    package static let aboutByteCount = 8 << 10

    package var kind: Kind
    package var id: UniqueID
    /// With `end`.
    package var end: End?

    package init(_ kind: Kind, _ id: UniqueID, end: End? = nil) {
        self.kind = kind
        self.id = id
        self.end = end
    }

    /// Nil for what is none.
    package init?(_ name: String) {
        // ascii: what is not made of words and an id is refused
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, let kind = Kind(rawValue: String(parts[0])), let id = UniqueID(String(parts[1])) else {
            return nil
        }
        let end = parts.count == 3 ? End(rawValue: String(parts[2])) : nil
        guard (kind == .end) == (end != nil), parts.count == (kind == .end ? 3 : 2) else { return nil }
        self.init(kind, id, end: end)
    }

    package var name: String {
        ([kind.rawValue, id.description] + (end.map { [$0.rawValue] } ?? [])).joined(separator: "/")
    }

    /// - Parameter size: of the answer at most.
    package func request(offset: Int64 = 0, size: Int = 0) -> BlockRequest {
        BlockRequest(
            folder: Self.folder, name: name, offset: offset, size: Int32(clamping: size), hash: nil)
    }
}

/// The answer to `about`: size (8), SHA-256 (32), name.
package struct DeviceDropAbout: Equatable, Sendable {
    private static let nameByteLimit = 4096

    package var size: Int64
    package var digest: SHA256Digest
    package var name: String

    package var bytes: [UInt8] {
        withUnsafeBytes(of: size.bigEndian) { Array($0) } + digest.bytes + Array(name.utf8.prefix(Self.nameByteLimit))
    }

    package init(size: Int64, digest: SHA256Digest, name: String) {
        self.size = size
        self.digest = digest
        self.name = name
    }

    /// Nil for what is none.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 40, bytes.count <= 40 + Self.nameByteLimit, let digest = SHA256Digest(bytes[8..<40]),
            let size = Int64(exactly: bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        else { return nil }
        self.init(size: size, digest: digest, name: String(decoding: bytes[40...], as: UTF8.self))
    }
}
