/// What the two ends of `synctrain-invite/1` say to each other. On the wire: a byte for the kind, the body's length in two
/// bytes, big-endian, and the body.
public enum InvitationMessage: Equatable, Sendable {
    /// From the device that was invited, first, once TLS has proved that the other end is the one in the code.
    case redeem(secret: [UInt8], PairingIntroduction)
    /// The inviting device's answer: what it offers. Nothing is stored yet.
    case offer(InvitationOffer)
    /// From the device that was invited: it can take that.
    case ready
    /// The sender has stored the other.
    case done
    /// The sender ends it.
    case refuse(InvitationRefusal)

    public static let headerByteCount = 3
    static let bodyLimit = 8192

    private enum Kind: UInt8 {
        case redeem = 1
        case offer, ready, done, refuse

        var bodyByteCount: ClosedRange<Int> {
            switch self {
            case .redeem: InvitationCode.secretByteCount + 2...InvitationMessage.bodyLimit
            case .offer: 5...InvitationMessage.bodyLimit
            case .ready, .done: 0...0
            case .refuse: 1...1
            }
        }
    }

    public var encoded: [UInt8] {
        let kind: Kind
        let body: [UInt8]
        switch self {
        case .redeem(let secret, let introduction): (kind, body) = (.redeem, secret + introduction.encoded)
        case .offer(let offer): (kind, body) = (.offer, offer.encoded)
        case .ready: (kind, body) = (.ready, [])
        case .done: (kind, body) = (.done, [])
        case .refuse(let refusal): (kind, body) = (.refuse, [refusal.rawValue])
        }
        return [kind.rawValue, UInt8(body.count >> 8 & 0xFF), UInt8(body.count & 0xFF)] + body
    }

    fileprivate static func bodyByteCount(header: ArraySlice<UInt8>) throws(InvitationRefusal) -> Int? {
        guard let first = header.first else { return nil }
        guard let kind = Kind(rawValue: first) else { throw .mistake }
        guard header.count >= headerByteCount else { return nil }
        let count = Int(header[header.startIndex + 1]) << 8 | Int(header[header.startIndex + 2])
        guard kind.bodyByteCount.contains(count) else { throw .mistake }
        return count
    }

    fileprivate init?(kind: UInt8, body: [UInt8]) {
        switch Kind(rawValue: kind) {
        case .redeem:
            let count = InvitationCode.secretByteCount
            guard let introduction = PairingIntroduction(decoding: Array(body.dropFirst(count))) else { return nil }
            self = .redeem(secret: Array(body.prefix(count)), introduction)
        case .offer:
            guard let offer = InvitationOffer(decoding: body) else { return nil }
            self = .offer(offer)
        case .ready: self = .ready
        case .done: self = .done
        case .refuse: self = .refuse(InvitationRefusal(rawValue: body.first ?? 0) ?? .mistake)
        case nil: return nil
        }
    }
}

/// What somebody is invited to.
public struct InvitationOffer: Hashable, Sendable {
    public static let textLimit = 255

    /// The folder's id and label, without control characters, at most 255 bytes each; the label may be empty.
    public let folder: String
    public let label: String
    /// `read`, `write` or `admin`; the guest is only told of it.
    public let role: String
    public let introduction: PairingIntroduction

    /// Nil if a text does not fit.
    public init?(folder: String, label: String, role: String, introduction: PairingIntroduction) {
        guard !folder.isEmpty, [folder, label, role].allSatisfy(Self.isText) else { return nil }
        self.folder = folder
        self.label = label
        self.role = role
        self.introduction = introduction
    }

    var encoded: [UInt8] {
        [folder, label, role].flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + $0.utf8 } + introduction.encoded
    }

    init?(decoding bytes: [UInt8]) {
        var rest = bytes[...]
        func text() -> String? {
            guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return String(validating: rest.prefix(Int(count)), as: UTF8.self)
        }
        guard let folder = text(), let label = text(), let role = text(),
            let introduction = PairingIntroduction(decoding: Array(rest))
        else { return nil }
        self.init(folder: folder, label: label, role: role, introduction: introduction)
    }

    private static func isText(_ text: String) -> Bool {
        text.utf8.count <= textLimit
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    }
}

/// Why an invitation is not redeemed, as one end tells the other.
public enum InvitationRefusal: UInt8, Error, Sendable, CaseIterable {
    /// No invitation has this secret, or it was withdrawn.
    case unknown = 1
    /// Another device has redeemed it.
    case used
    case expired
    /// The folder that it is for is not shared any more.
    case folderGone
    /// One end could not store the other.
    case storage
    /// The device that was invited cannot take the folder.
    case declined
    /// The sender was sent something wrong. Also what an unknown reason is taken for.
    case mistake
    case time
}

/// Puts messages together from pieces of any size; keeps no more than a message and what came with its end.
public struct InvitationMessageReader: Sendable {
    private var waiting: [UInt8] = []

    public init() {}

    public mutating func append(_ bytes: some Sequence<UInt8>) { waiting += bytes }

    /// The next message; nil while it is incomplete. Throws `mistake`; after that the reader is of no more use.
    public mutating func next() throws(InvitationRefusal) -> InvitationMessage? {
        guard
            let count = try InvitationMessage.bodyByteCount(
                header: waiting.prefix(InvitationMessage.headerByteCount)),
            waiting.count >= InvitationMessage.headerByteCount + count
        else { return nil }
        let end = InvitationMessage.headerByteCount + count
        guard
            let message = InvitationMessage(
                kind: waiting[0], body: Array(waiting[InvitationMessage.headerByteCount..<end]))
        else { throw .mistake }
        waiting.removeFirst(end)
        return message
    }
}
