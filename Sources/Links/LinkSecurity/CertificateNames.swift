import NIOCore

/// The names in a certificate: what Syncthing's name check looks at. Nobody vouches for them.
package struct CertificateNames: Sendable, Equatable {
    /// The subject's common name, the last of them if there are several.
    package let commonName: String?
    /// The DNS names among the subject's alternative names.
    package let dnsNames: [String]

    /// Whether the certificate is named as Syncthing's are by default.
    package var isNamedSyncthing: Bool {
        commonName == "syncthing" || dnsNames.contains { $0.lowercased() == "syncthing" }
    }

    /// Reads a certificate (RFC 5280, section 4.1); nil when its structure is not that of one.
    package init?(certificateDER: some Sequence<UInt8>) {
        var outer = DERReader(ByteBuffer(bytes: certificateDER))
        guard var certificate = outer.read(.sequence), var body = certificate.read(.sequence) else { return nil }
        // version, serial number, signature algorithm, issuer, validity
        _ = body.read(.explicit(0))
        guard body.read(.integer) != nil, body.read(.sequence) != nil, body.read(.sequence) != nil,
            body.read(.sequence) != nil, var subject = body.read(.sequence), body.read(.sequence) != nil
        else { return nil }
        var commonName: String?
        while var set = subject.read(.set) {
            while var attribute = set.read(.sequence) {
                guard attribute.read(.objectIdentifier)?.bytes == [0x55, 0x04, 0x03] else { continue }
                commonName = attribute.readText() ?? commonName
            }
        }
        self.commonName = commonName
        dnsNames = Self.dnsNames(in: body)
    }

    private static func dnsNames(in body: DERReader) -> [String] {
        var body = body
        var names: [String] = []
        while !body.isAtEnd {
            guard let (tag, content) = body.readAny() else { return names }
            guard tag == .explicit(3) else { continue }
            var wrapper = content
            guard var extensions = wrapper.read(.sequence) else { return names }
            while var field = extensions.read(.sequence) {
                guard field.read(.objectIdentifier)?.bytes == [0x55, 0x1D, 0x11] else { continue }
                _ = field.read(.boolean)
                guard var value = field.read(.octetString), var list = value.read(.sequence) else { continue }
                while let (tag, name) = list.readAny() {
                    if tag == .dnsName { names.append(String(buffer: name.remaining)) }
                }
            }
        }
        return names
    }
}

/// Reads elements of DER one after the other; never beyond the element that it was made for.
struct DERReader {
    struct Tag: Equatable {
        var byte: UInt8

        static let boolean = Tag(byte: 0x01)
        static let integer = Tag(byte: 0x02)
        static let octetString = Tag(byte: 0x04)
        static let objectIdentifier = Tag(byte: 0x06)
        static let utf8String = Tag(byte: 0x0C)
        static let printableString = Tag(byte: 0x13)
        static let ia5String = Tag(byte: 0x16)
        static let sequence = Tag(byte: 0x30)
        static let set = Tag(byte: 0x31)
        /// `[2] IA5String`, the DNS name in a GeneralName.
        static let dnsName = Tag(byte: 0x82)

        static func explicit(_ number: UInt8) -> Tag { Tag(byte: 0xA0 | number & 0x1F) }
    }

    private(set) var remaining: ByteBuffer

    init(_ bytes: ByteBuffer) { remaining = bytes }

    var isAtEnd: Bool { remaining.readableBytes == 0 }

    var bytes: [UInt8] { Array(remaining.readableBytesView) }

    /// The content of the next element if it has this tag; nil, and nothing read, otherwise.
    mutating func read(_ tag: Tag) -> DERReader? {
        var copy = self
        guard let (found, content) = copy.readAny(), found == tag else { return nil }
        self = copy
        return content
    }

    /// The next element; nil at the end and for what is no DER.
    mutating func readAny() -> (Tag, DERReader)? {
        var bytes = remaining
        // Tags of more than one byte do not occur in certificates.
        guard let tag = bytes.readInteger(as: UInt8.self), tag & 0x1F != 0x1F,
            let first = bytes.readInteger(as: UInt8.self)
        else { return nil }
        let length: Int
        switch first {
        case ..<0x80:
            length = Int(first)
        case 0x81:
            guard let value = bytes.readInteger(as: UInt8.self) else { return nil }
            length = Int(value)
        case 0x82:
            guard let value = bytes.readInteger(as: UInt16.self) else { return nil }
            length = Int(value)
        default:
            return nil
        }
        guard let content = bytes.readSlice(length: length) else { return nil }
        remaining = bytes
        return (Tag(byte: tag), DERReader(content))
    }

    /// The next element if it is text in one of the forms that names of people and hosts have.
    fileprivate mutating func readText() -> String? {
        guard let (tag, content) = readAny() else { return nil }
        switch tag {
        case .utf8String, .printableString, .ia5String: return String(buffer: content.remaining)
        default: return nil
        }
    }
}
