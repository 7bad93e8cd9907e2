/// What the radio is like between two devices: the figures of a Bluetooth LE connection and what goes wrong on it.
package struct RadioConditions: Sendable, Equatable {
    /// The physical layer, by its symbol rate.
    package enum PHY: String, Sendable, CaseIterable {
        case oneMegabit = "1M"
        case twoMegabit = "2M"

        /// Time on the air of a data packet with `byteCount` bytes of payload: preamble, access address, header, payload
        /// and checksum (Core Specification 5.3, Vol 6, Part B, 2.1), without encryption on the link layer.
        package func airtime(ofPayload byteCount: Int) -> Duration {
            switch self {
            case .oneMegabit: .microseconds(8 * (10 + byteCount))
            case .twoMegabit: .microseconds(4 * (11 + byteCount))
            }
        }

        /// Bytes of a data packet beside its payload.
        package var packetOverhead: Int { self == .oneMegabit ? 10 : 11 }
    }

    package var phy: PHY = .oneMegabit
    /// Between the starts of two connection events; 7.5 ms to 4 s, in steps of 1.25 ms on real devices.
    package var connectionInterval: Duration = .milliseconds(15)
    /// Most exchanges of a packet each way in one connection event; nil for as many as fit. Phones often allow 4 to 6.
    package var packetsPerEvent: Int?
    /// The share of packets that arrive broken and that the link layer sends again.
    package var loss: Double = 0
    /// Added to each packet's way by the hosts at both ends.
    package var delay: Duration = .zero
    /// With no packet heard for so long the connection is lost.
    package var supervisionTimeout: Duration = .seconds(4)
    /// How often a device that can be connected to says so: a dial waits up to so long.
    package var advertisingInterval: Duration = .milliseconds(100)
    /// The negotiated ATT MTU; a write or notification carries three bytes less.
    package var attMTU = 247
    /// Largest packet of an L2CAP channel (SDU) and largest frame that one is cut to.
    package var channelMTU = 16 * 1024
    package var channelMPS = 247
    /// The share of GATT writes and notifications that the hosts drop silently.
    package var datagramLoss: Double = 0
    /// The share of GATT writes and notifications that later ones overtake.
    package var datagramReordering: Double = 0
    /// Whether the first GATT write of a connection arrives with other content, as seen with BlueZ 5.66.
    package var corruptsFirstWrite = false
    /// Each connection is lost after so many bytes of L2CAP frames, both directions together; nil for never.
    package var breakAfter: Int?
    /// Whether devices refuse L2CAP channels, so that only GATT is left.
    package var refusesChannels = false

    package init() {}

    /// Room of one packet on the link layer (LE Data Packet Length Extension).
    package static let packetLimit = 251
    /// Between two packets of an exchange.
    package static let interFrameSpace: Duration = .microseconds(150)
}

/// A setting of the radio that is none.
package struct RadioConditionsError: Error, Equatable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }
}

extension RadioConditions {
    /// The names that `set` takes, with what they mean.
    package static let settings: [(name: String, meaning: String)] = [
        ("phy", "1M or 2M"), ("interval", "connection interval in ms, 7.5 to 4000"),
        ("packets-per-event", "1 to 1000, or none"), ("loss", "share of packets broken, 0 to 1"),
        ("delay", "added delay in ms, 0 to 60000"), ("supervision", "supervision timeout in ms, 100 to 32000"),
        ("advertising", "advertising interval in ms, 20 to 10240"), ("att-mtu", "23 to 517"),
        ("mtu", "L2CAP MTU, 23 to 65535"), ("mps", "L2CAP MPS, 23 to 65533"),
        ("datagram-loss", "share of GATT packets dropped, 0 to 1"),
        ("reordering", "share of GATT packets overtaken, 0 to 1"), ("corrupt-first-write", "yes or no"),
        ("break-after", "bytes after which each connection is lost, or none"), ("refuse-l2cap", "yes or no"),
    ]

    /// Changes one figure, as `interval=30` on a command line does. Throws `RadioConditionsError`.
    package mutating func set(_ name: String, _ value: String) throws(RadioConditionsError) {
        switch name {
        case "phy":
            guard let phy = PHY(rawValue: value) else { throw Self.invalid(name, value) }
            self.phy = phy
        case "interval": connectionInterval = try Self.milliseconds(name, value, 7.5...4000)
        case "packets-per-event": packetsPerEvent = try Self.optional(name, value, 1...1000)
        case "loss": loss = try Self.number(name, value, 0...1)
        case "delay": delay = try Self.milliseconds(name, value, 0...60_000)
        case "supervision": supervisionTimeout = try Self.milliseconds(name, value, 100...32_000)
        case "advertising": advertisingInterval = try Self.milliseconds(name, value, 20...10_240)
        case "att-mtu": attMTU = try Self.integer(name, value, 23...517)
        case "mtu": channelMTU = try Self.integer(name, value, 23...65_535)
        case "mps": channelMPS = try Self.integer(name, value, 23...65_533)
        case "datagram-loss": datagramLoss = try Self.number(name, value, 0...1)
        case "reordering": datagramReordering = try Self.number(name, value, 0...1)
        case "corrupt-first-write": corruptsFirstWrite = try Self.flag(name, value)
        case "break-after": breakAfter = try Self.optional(name, value, 1...Int(Int32.max))
        case "refuse-l2cap": refusesChannels = try Self.flag(name, value)
        default:
            throw RadioConditionsError(
                "the radio has no setting “\(name)”; it has \(Self.settings.map(\.name).joined(separator: ", "))")
        }
    }

    private static func invalid(_ name: String, _ value: String) -> RadioConditionsError {
        let meaning = settings.first { $0.name == name }?.meaning ?? ""
        return RadioConditionsError("“\(value)” is not a value of \(name): \(meaning)")
    }

    private static func number(
        _ name: String, _ value: String, _ range: ClosedRange<Double>
    ) throws(RadioConditionsError) -> Double {
        guard let number = Double(value), range.contains(number) else { throw invalid(name, value) }
        return number
    }

    private static func milliseconds(
        _ name: String, _ value: String, _ range: ClosedRange<Double>
    ) throws(RadioConditionsError) -> Duration {
        .microseconds(Int64((try number(name, value, range) * 1000).rounded()))
    }

    private static func integer(
        _ name: String, _ value: String, _ range: ClosedRange<Int>
    ) throws(RadioConditionsError) -> Int {
        guard let number = Int(value), range.contains(number) else { throw invalid(name, value) }
        return number
    }

    private static func optional(
        _ name: String, _ value: String, _ range: ClosedRange<Int>
    ) throws(RadioConditionsError) -> Int? {
        value == "none" ? nil : try integer(name, value, range)
    }

    private static func flag(_ name: String, _ value: String) throws(RadioConditionsError) -> Bool {
        switch value {
        case "yes": true
        case "no": false
        default: throw invalid(name, value)
        }
    }
}
