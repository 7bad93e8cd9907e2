import Cryptography

/// What the two ends say to each other. On the wire: a byte for the kind, the body's length in two bytes, big-endian,
/// and the body.
enum PairingMessage: Equatable, Sendable {
    /// From the initiator, first. `knowsPeer`: the sender has the other in its configuration already.
    case commit(SHA256Digest, knowsPeer: Bool)
    /// The responder's answer to it.
    case nonce(PairingNonce, knowsPeer: Bool)
    /// The initiator's answer to that: what it committed to.
    case reveal(PairingNonce)
    /// The sender's user has said that the codes are the same.
    case confirm
    /// Once both have confirmed.
    case introduce(PairingIntroduction)
    /// The sender has stored the other.
    case done
    /// The sender ends the attempt.
    case refuse(PairingRefusal)

    static let headerByteCount = 3
    /// Longest body of any kind.
    static let bodyLimit =
        2 + PairingIntroduction.nameLimit
        + PairingIntroduction.addressLimit * (2 + PairingIntroduction.addressByteLimit)

    private enum Kind: UInt8 {
        case commit = 1
        case nonce, reveal, confirm, introduce, done, refuse

        var bodyByteCount: ClosedRange<Int> {
            switch self {
            case .commit: 33...33
            case .nonce: 33...33
            case .reveal: 32...32
            case .confirm, .done: 0...0
            case .introduce: 2...PairingMessage.bodyLimit
            case .refuse: 1...1
            }
        }
    }

    var encoded: [UInt8] {
        let kind: Kind
        let body: [UInt8]
        switch self {
        case .commit(let digest, let knowsPeer): (kind, body) = (.commit, [knowsPeer ? 1 : 0] + digest.bytes)
        case .nonce(let nonce, let knowsPeer): (kind, body) = (.nonce, [knowsPeer ? 1 : 0] + nonce.bytes)
        case .reveal(let nonce): (kind, body) = (.reveal, nonce.bytes)
        case .confirm: (kind, body) = (.confirm, [])
        case .introduce(let introduction): (kind, body) = (.introduce, introduction.encoded)
        case .done: (kind, body) = (.done, [])
        case .refuse(let refusal): (kind, body) = (.refuse, [refusal.rawValue])
        }
        return [kind.rawValue, UInt8(body.count >> 8 & 0xFF), UInt8(body.count & 0xFF)] + body
    }

    /// Whether a message may begin so: its kind exists and may have so long a body. Nil while the header is incomplete.
    fileprivate static func bodyByteCount(header: ArraySlice<UInt8>) throws(PairingFailure) -> Int? {
        guard let first = header.first else { return nil }
        guard let kind = Kind(rawValue: first) else {
            throw PairingFailure(.malformedMessage, "the other device sent an invalid pairing message")
        }
        guard header.count >= headerByteCount else { return nil }
        let count = Int(header[header.startIndex + 1]) << 8 | Int(header[header.startIndex + 2])
        guard kind.bodyByteCount.contains(count) else {
            throw PairingFailure(.malformedMessage, "the other device sent a pairing message of a wrong length")
        }
        return count
    }

    /// Reads a message whose header was found good.
    fileprivate init?(kind: UInt8, body: [UInt8]) {
        switch Kind(rawValue: kind) {
        case .commit:
            guard let knowsPeer = Self.flag(body.first), let digest = SHA256Digest(body.dropFirst()) else { return nil }
            self = .commit(digest, knowsPeer: knowsPeer)
        case .nonce:
            guard let knowsPeer = Self.flag(body.first), let nonce = PairingNonce(body.dropFirst()) else { return nil }
            self = .nonce(nonce, knowsPeer: knowsPeer)
        case .reveal:
            guard let nonce = PairingNonce(body) else { return nil }
            self = .reveal(nonce)
        case .confirm: self = .confirm
        case .introduce:
            guard let introduction = PairingIntroduction(decoding: body) else { return nil }
            self = .introduce(introduction)
        case .done: self = .done
        case .refuse: self = .refuse(PairingRefusal(rawValue: body.first ?? 0) ?? .user)
        case nil: return nil
        }
    }

    private static func flag(_ byte: UInt8?) -> Bool? {
        switch byte {
        case 0: false
        case 1: true
        default: nil
        }
    }
}

/// Why a device ends an attempt, as it tells the other.
public enum PairingRefusal: UInt8, Sendable, CaseIterable {
    /// Its user said no, or found other digits. Also what an unknown reason is taken for.
    case user = 1
    /// Its time was over.
    case time
    /// It is pairing with another device.
    case busy
    /// It was sent something wrong.
    case mistake
    /// It could not store the other.
    case storage
    /// Its user went away without an answer, or its agent stopped.
    case interruption

    /// The message that says so, for a link that no attempt runs on.
    public var message: [UInt8] { PairingMessage.refuse(self).encoded }
}

/// Puts messages together from pieces of any size; keeps no more than a message and what came with its end.
struct PairingMessageReader: Sendable {
    private var waiting: [UInt8] = []

    mutating func append(_ bytes: some Sequence<UInt8>) { waiting += bytes }

    /// The next message; nil while it is incomplete. After a throw the reader is of no more use.
    mutating func next() throws(PairingFailure) -> PairingMessage? {
        guard let count = try PairingMessage.bodyByteCount(header: waiting.prefix(PairingMessage.headerByteCount)),
            waiting.count >= PairingMessage.headerByteCount + count
        else { return nil }
        let body = Array(waiting[PairingMessage.headerByteCount..<PairingMessage.headerByteCount + count])
        guard let message = PairingMessage(kind: waiting[0], body: body) else {
            throw PairingFailure(.malformedMessage, "the other device sent a malformed pairing message")
        }
        waiting.removeFirst(PairingMessage.headerByteCount + count)
        return message
    }
}
