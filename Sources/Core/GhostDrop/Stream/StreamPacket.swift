/// The packets of a GATT stream as bytes (docs/bluetooth-wire.md, "GATT stream").
///
/// The first two bits say the kind. Data and acknowledgements have a header of four bytes, of which the last two are a
/// check over the connection, the whole sequence number, and the packet; so a packet can only be checked by who knows
/// about which number it must be.
enum StreamPacket {
    enum Kind: UInt8 {
        case data = 0
        case acknowledgement = 1
        case control = 2
        /// The last data packet of its direction.
        case lastData = 3
    }

    static let headerByteCount = 4
    /// The least that a link must carry: ATT's default MTU of 23 less three bytes.
    static let leastMaximum = 20
    /// The most that an attribute's value may be (Core Specification Vol 3, Part F, 3.2.9).
    static let greatestMaximum = 512
    /// Sequence numbers travel modulo this.
    static let sequenceSpan = 1 << 13
    /// The most packets that may be unacknowledged: a quarter of the span, so that a number is never ambiguous for what
    /// arrives up to half a span late.
    static let greatestWindow = 1 << 11

    /// What every packet of one direction of one connection is checked with.
    struct Key: Sendable {
        private let start: CRC16

        init(centralToken: UInt32, peripheralToken: UInt32, sender: GATTStream.Role) {
            var check = CRC16()
            check.update(centralToken)
            check.update(peripheralToken)
            check.update(sender == .central ? UInt8(ascii: "C") : UInt8(ascii: "P"))
            start = check
        }

        /// The check of a packet whose number is `sequence`, from its first two bytes and what follows the header.
        func check(_ first: UInt8, _ second: UInt8, sequence: Int, rest: some Sequence<UInt8>) -> UInt16 {
            var check = start
            // bounded: divides by a constant
            check.update(UInt16(truncatingIfNeeded: sequence / sequenceSpan))
            check.update(first)
            check.update(second)
            check.update(rest)
            return check.value
        }
    }

    /// The first two bytes of data and acknowledgements.
    struct Header {
        var kind: Kind
        /// Data: acknowledge this at once. Acknowledgement: this is an inquiry, answer it.
        var wantsAnswer: Bool
        /// The lowest bits of the sequence number.
        var shortSequence: Int

        init?(_ packet: [UInt8]) {
            guard packet.count >= headerByteCount, let kind = Kind(rawValue: packet[0] >> 6) else { return nil }
            self.kind = kind
            wantsAnswer = packet[0] & 0x20 != 0
            shortSequence = Int(packet[0] & 0x1F) << 8 | Int(packet[1])
        }

        /// The number with these lowest bits that is nearest to `expected`; nil if it would be negative.
        func sequence(near expected: Int) -> Int? {
            var difference = (shortSequence - expected) & (sequenceSpan - 1)
            if difference >= sequenceSpan / 2 { difference -= sequenceSpan }
            let sequence = expected + difference
            return sequence >= 0 ? sequence : nil
        }
    }

    /// The whole packet: header with check, then `rest`.
    static func encode(_ kind: Kind, sequence: Int, wantsAnswer: Bool, rest: [UInt8], key: Key) -> [UInt8] {
        let first =
            kind.rawValue << 6 | (wantsAnswer ? 0x20 : 0) | UInt8(truncatingIfNeeded: sequence >> 8) & 0x1F
        let second = UInt8(truncatingIfNeeded: sequence)
        let check = key.check(first, second, sequence: sequence, rest: rest)
        var packet: [UInt8] = []
        packet.reserveCapacity(headerByteCount + rest.count)
        packet.append(first)
        packet.append(second)
        packet.append(UInt8(truncatingIfNeeded: check >> 8))
        packet.append(UInt8(truncatingIfNeeded: check))
        packet.append(contentsOf: rest)
        return packet
    }

    /// Whether the packet's check is that of `sequence`.
    static func isValid(_ packet: [UInt8], sequence: Int, key: Key) -> Bool {
        let check = UInt16(packet[2]) << 8 | UInt16(packet[3])
        return check == key.check(packet[0], packet[1], sequence: sequence, rest: packet[headerByteCount...])
    }
}

/// What follows an acknowledgement's header.
struct AcknowledgementBody: Equatable {
    static let leastByteCount = 3

    /// The inquiry that is made or answered, 1 to 15; 0: neither.
    var inquiry: UInt8
    /// How many packets, from the acknowledged number on, the sender has room for.
    var window: Int
    /// How many packets came twice so far, modulo 256.
    var duplicates: UInt8
    /// Bit i of the whole (lowest bit of a byte first): the packet 1 + i after the acknowledged number has arrived.
    var bitmap: [UInt8]

    init(inquiry: UInt8, window: Int, duplicates: UInt8, bitmap: [UInt8]) {
        self.inquiry = inquiry
        self.window = window
        self.duplicates = duplicates
        self.bitmap = bitmap
    }

    init?(packet: [UInt8]) {
        let start = StreamPacket.headerByteCount
        guard packet.count >= start + Self.leastByteCount else { return nil }
        inquiry = packet[start] >> 4
        window = Int(packet[start] & 0x0F) << 8 | Int(packet[start + 1])
        guard window <= StreamPacket.greatestWindow else { return nil }
        duplicates = packet[start + 2]
        bitmap = Array(packet[(start + 3)...])
    }

    var bytes: [UInt8] {
        [inquiry << 4 | UInt8(truncatingIfNeeded: window >> 8) & 0x0F, UInt8(truncatingIfNeeded: window), duplicates]
            + bitmap
    }
}

/// The packets that open and break a connection; they carry both tokens and a CRC-32.
enum ControlPacket: Equatable {
    struct Opening: Equatable {
        /// The longest packet that its sender will send.
        var maximumPacket: Int
        /// How many packets its sender has room for.
        var window: Int
        var centralToken: UInt32
        /// Zero in `open`.
        var peripheralToken: UInt32
    }

    /// The central wants a connection.
    case open(Opening)
    /// The peripheral has one for it.
    case opened(Opening)
    /// The connection of these tokens is over, or never was.
    case reset(code: UInt8, centralToken: UInt32, peripheralToken: UInt32)
    /// An `open` of a later version of this format.
    case openOfOtherVersion(centralToken: UInt32)

    static let version: UInt8 = 1

    private enum Code {
        static let open: UInt8 = 0x81
        static let opened: UInt8 = 0x82
        static let reset: UInt8 = 0x83
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .open(let opening): bytes = Self.opening(Code.open, opening)
        case .opened(let opening): bytes = Self.opening(Code.opened, opening)
        case .reset(let code, let centralToken, let peripheralToken):
            bytes = [Code.reset, code]
            Self.append(centralToken, to: &bytes)
            Self.append(peripheralToken, to: &bytes)
        case .openOfOtherVersion: return []
        }
        Self.append(CRC32.checksum(bytes), to: &bytes)
        return bytes
    }

    private static func opening(_ code: UInt8, _ opening: Opening) -> [UInt8] {
        var bytes: [UInt8] = [code, version]
        append(UInt16(truncatingIfNeeded: opening.maximumPacket), to: &bytes)
        append(UInt16(truncatingIfNeeded: opening.window), to: &bytes)
        append(opening.centralToken, to: &bytes)
        append(opening.peripheralToken, to: &bytes)
        return bytes
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Nil for what is none: damaged, cut, or of an unknown code.
    init?(_ packet: [UInt8]) {
        guard packet.count >= 14 else { return nil }
        func number(at offset: Int) -> UInt32 {
            // bounded: callers count 14 bytes at least
            packet[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        let end = packet.count - 4
        guard number(at: end) == CRC32.checksum(packet[..<end]) else { return nil }
        switch packet[0] {
        case Code.reset where packet.count == 14:
            self = .reset(code: packet[1], centralToken: number(at: 2), peripheralToken: number(at: 6))
        case Code.open where packet.count >= 18 && packet[1] != Self.version:
            self = .openOfOtherVersion(centralToken: number(at: 6))
        case Code.open where packet.count == 18, Code.opened where packet.count == 18 && packet[1] == Self.version:
            let opening = Opening(
                maximumPacket: Int(number(at: 2) >> 16), window: Int(number(at: 2) & 0xFFFF),
                centralToken: number(at: 6), peripheralToken: number(at: 10))
            guard
                (StreamPacket.leastMaximum...StreamPacket.greatestMaximum).contains(opening.maximumPacket),
                opening.window <= StreamPacket.greatestWindow
            else { return nil }
            self = packet[0] == Code.open ? .open(opening) : .opened(opening)
        default: return nil
        }
    }
}
