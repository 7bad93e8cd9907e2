import NIOCore

/// A device that says on the air that it can be connected to.
package struct NearbyDevice: Sendable, Equatable {
    package var name: String
    /// Strength of its signal here, in dBm.
    package var signal: Int
    package var modes: [VirtualConnection.Mode]

    package init(name: String, signal: Int, modes: [VirtualConnection.Mode]) {
        self.name = name
        self.signal = signal
        self.modes = modes
    }
}

/// What a device asks of the air, in a line of text on a connection of its own; a dial or an accepted link goes on as
/// the link's byte stream on the same connection, behind the answer.
enum AirRequest: Equatable {
    /// To be seen and dialled by that name, as long as the connection lasts; with what the characteristic of capabilities
    /// says, if there is one: JSON without a blank.
    case advertise(name: String, modes: [VirtualConnection.Mode], capabilities: String?)
    /// To read the capabilities of a device that advertises.
    case capabilities(name: String)
    case dial(target: String, source: String?, modes: [VirtualConnection.Mode])
    /// Takes a link that was offered to an advertiser.
    case accept(token: UInt64)
    /// Who advertises and is in range of the name given.
    case nearby(name: String?)
    case change(setting: String, value: String)
    /// How strong the signal from and to a device is.
    case signal(name: String, strength: Int)
    /// Ends all connections at once.
    case cut
    case statistics

    /// Longest line, without its end.
    static let lineLimit = 512

    init?(line: Substring) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("advertise", 3), ("advertise", 4):
            guard let name = Self.name(words[1]), let modes = Self.modes(words[2]) else { return nil }
            self = .advertise(name: name, modes: modes, capabilities: words.count == 4 ? String(words[3]) : nil)
        case ("capabilities", 2):
            guard let name = Self.name(words[1]) else { return nil }
            self = .capabilities(name: name)
        case ("dial", 4):
            guard let target = Self.name(words[1]), let modes = Self.modes(words[3]) else { return nil }
            let source = words[2] == "-" ? nil : Self.name(words[2])
            guard source != nil || words[2] == "-" else { return nil }
            self = .dial(target: target, source: source, modes: modes)
        case ("accept", 2):
            guard let token = UInt64(words[1]) else { return nil }
            self = .accept(token: token)
        case ("nearby", 2):
            let name = words[1] == "-" ? nil : Self.name(words[1])
            guard name != nil || words[1] == "-" else { return nil }
            self = .nearby(name: name)
        case ("set", 3): self = .change(setting: String(words[1]), value: String(words[2]))
        case ("signal", 3):
            guard let name = Self.name(words[1]), let strength = Int(words[2]), (-200...20).contains(strength) else {
                return nil
            }
            self = .signal(name: name, strength: strength)
        case ("cut", 1): self = .cut
        case ("statistics", 1): self = .statistics
        default: return nil
        }
    }

    var line: String {
        switch self {
        case .advertise(let name, let modes, let capabilities):
            "advertise \(name) \(Self.text(modes))" + (capabilities.map { " \($0)" } ?? "")
        case .capabilities(let name): "capabilities \(name)"
        case .dial(let target, let source, let modes): "dial \(target) \(source ?? "-") \(Self.text(modes))"
        case .accept(let token): "accept \(token)"
        case .nearby(let name): "nearby \(name ?? "-")"
        case .change(let setting, let value): "set \(setting) \(value)"
        case .signal(let name, let strength): "signal \(name) \(strength)"
        case .cut: "cut"
        case .statistics: "statistics"
        }
    }

    /// As in `virtual://NAME`: nothing that a line or a JSON text would have to escape.
    static func name(_ text: Substring) -> String? {
        let isGood = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isGood && (1...200).contains(text.utf8.count) && text != "-" ? String(text) : nil
    }

    static func modes(_ text: Substring) -> [VirtualConnection.Mode]? {
        let modes = text.split(separator: ",").compactMap { VirtualConnection.Mode(rawValue: String($0)) }
        return modes.isEmpty ? nil : modes
    }

    static func text(_ modes: [VirtualConnection.Mode]) -> String { modes.map(\.rawValue).joined(separator: ",") }
}

/// What the air says to a device in a line.
enum AirAnswer: Equatable {
    /// Done; with what was asked for, if anything was.
    case done(String)
    /// The connection is the link's byte stream from here on.
    /// `value`: the longest GATT value, where it carries values.
    case linked(VirtualConnection.Mode, remote: String, value: Int?)
    /// To an advertiser: a link can be accepted.
    case offered(token: UInt64)
    case device(NearbyDevice)
    case refused(Refusal, String)

    enum Refusal: String {
        case nameInUse = "name-in-use"
        case notUnderstood = "not-understood"
        /// Nothing that both devices speak.
        case incompatible
        case busy
        /// The dialler has given up meanwhile, or the device is not there.
        case gone
    }

    init?(line: Substring) {
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("done", 1...): self = .done(words.dropFirst().joined(separator: " "))
        case ("linked", 3), ("linked", 4):
            guard let mode = VirtualConnection.Mode(rawValue: String(words[1])), let name = AirRequest.name(words[2])
            else { return nil }
            let value = words.count == 4 ? Int(words[3]) : nil
            guard (words.count == 4) == (value != nil) else { return nil }
            self = .linked(mode, remote: name, value: value)
        case ("offered", 2):
            guard let token = UInt64(words[1]) else { return nil }
            self = .offered(token: token)
        case ("device", 4):
            guard let name = AirRequest.name(words[1]), let signal = Int(words[2]),
                let modes = AirRequest.modes(words[3])
            else { return nil }
            self = .device(NearbyDevice(name: name, signal: signal, modes: modes))
        case ("refused", 3...):
            guard let refusal = Refusal(rawValue: String(words[1])) else { return nil }
            self = .refused(refusal, words.dropFirst(2).joined(separator: " "))
        default: return nil
        }
    }

    var line: String {
        switch self {
        case .done(let text): text.isEmpty ? "done" : "done \(text)"
        case .linked(let mode, let remote, let value):
            "linked \(mode.rawValue) \(remote)" + (value.map { " \($0)" } ?? "")
        case .offered(let token): "offered \(token)"
        case .device(let device): "device \(device.name) \(device.signal) \(AirRequest.text(device.modes))"
        case .refused(let refusal, let text): "refused \(refusal.rawValue) \(text)"
        }
    }
}

/// Cuts what comes into lines; the bytes behind a line stay until they are asked for.
struct LineReader {
    private var buffer = ByteBuffer()
    private let limit: Int
    /// Whether a line was longer than the limit; no further one is given then.
    private(set) var isTooLong = false

    init(limit: Int) { self.limit = limit }

    mutating func append(_ bytes: ByteBuffer) { buffer.writeImmutableBuffer(bytes) }

    /// The next line without its end; nil while it is incomplete.
    mutating func next() -> Substring? {
        let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
        let byteCount = end.map { $0 - buffer.readerIndex } ?? buffer.readableBytes
        isTooLong = isTooLong || byteCount > limit
        guard !isTooLong, end != nil, let line = buffer.readString(length: byteCount) else { return nil }
        buffer.moveReaderIndex(forwardBy: 1)
        return line[...]
    }

    /// What follows the last line.
    mutating func rest() -> ByteBuffer {
        defer { buffer = ByteBuffer() }
        return buffer
    }
}
