import Phrases

/// To pair with a device: wait for one, and dial one if there is an address.
package struct PairRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// Longest time to wait in seconds.
    package static let longestWait = 120

    /// `tcp://host:port` and so on, or a device id, which is searched for; nil to wait only.
    package var address: String?
    /// Ids of folders to share with the device once it is paired.
    package var folders: [String]
    /// How long to wait for a device, and then for each user's answer: 1 to 120 seconds; nil for 120.
    package var seconds: Int?

    package init(address: String? = nil, folders: [String] = [], seconds: Int? = nil) {
        self.address = address
        self.folders = folders
        self.seconds = seconds
    }

    /// Reads the request; every field may be missing.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        address = try container.decodeIfPresent(String.self, forKey: .address)
        folders = try container.decodeIfPresent([String].self, forKey: .folders) ?? []
        seconds = try container.decodeIfPresent(Int.self, forKey: .seconds)
    }

    enum CodingKeys: String, CodingKey { case address, folders, seconds }

    /// The six digits of a code as people write it, with spaces or dashes anywhere; nil for anything else.
    package static func code(parsing text: String) -> String? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }
        guard digits.count == 6, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return String(decoding: digits, as: UTF8.self)
    }

    func check() throws(ControlError) {
        if let seconds, !(1...Self.longestWait).contains(seconds) {
            throw ControlError(
                .invalidRequest, "The timeout of pairing must be between 1 and \(Self.longestWait) seconds.")
        }
        guard folders.count <= 1000 else { throw ControlError(.tooLarge, "Name at most 1000 folders.") }
    }
}

/// What the user says to a pairing that is under way.
package enum PairAnswer: Codable, Equatable, Sendable {
    /// Both devices show this code. Any other than the one that this device shows ends the pairing.
    case confirm(code: String)
    case refuse
    /// Dial this one of the nearby devices.
    case dial(address: String)

    enum CodingKeys: String, CodingKey { case action, code, address }

    /// Reads the answer that `action` names.
    ///
    /// - Throws: `DecodingError`, also for an unknown `action`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .action) {
        case "confirm": self = .confirm(code: try container.decode(String.self, forKey: .code))
        case "refuse": self = .refuse
        case "dial": self = .dial(address: try container.decode(String.self, forKey: .address))
        case let action:
            throw DecodingError.dataCorruptedError(
                forKey: .action, in: container, debugDescription: "unknown answer \(action)")
        }
    }

    /// Writes the answer with its `action`.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .confirm(let code):
            try container.encode("confirm", forKey: .action)
            try container.encode(code, forKey: .code)
        case .refuse: try container.encode("refuse", forKey: .action)
        case .dial(let address):
            try container.encode("dial", forKey: .action)
            try container.encode(address, forKey: .address)
        }
    }
}

/// A device to pair with.
package struct NearbyEntry: Codable, Equatable, Sendable {
    /// The device's id, if it is known.
    package var device: String?
    package var name: String?
    package var address: String
    /// `tcp` and so on.
    package var transport: String
    /// dBm.
    package var signal: Int?
    /// Whether this device has it in its configuration already.
    package var isKnown: Bool

    package init(
        device: String? = nil, name: String? = nil, address: String, transport: String, signal: Int? = nil,
        isKnown: Bool = false
    ) {
        self.device = device
        self.name = name
        self.address = address
        self.transport = transport
        self.signal = signal
        self.isKnown = isKnown
    }

    enum CodingKeys: String, CodingKey { case device, name, address, transport, signal, isKnown = "known" }
}

package struct NearbyList: Codable, Equatable, Sendable {
    package var schema = 1
    package var devices: [NearbyEntry]

    package init(devices: [NearbyEntry]) { self.devices = devices }
}

/// What pairing is at.
package struct PairStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable, CaseIterable {
        case idle
        /// The user has asked for it; no device is there yet.
        case waiting
        /// A device is there.
        case opening
        /// Both users look at the code.
        case comparing
        /// Both have said yes.
        case closing
    }

    package var schema = 1
    package var state: State
    /// While comparing.
    package var code: String?
    /// The device's id, once there is one.
    package var device: String?
    /// Seconds until pairing may begin again after too many failures.
    package var blockedSeconds: Int?

    package init(state: State, code: String? = nil, device: String? = nil, blockedSeconds: Int? = nil) {
        self.state = state
        self.code = code
        self.device = device
        self.blockedSeconds = blockedSeconds
    }
}

/// What a pairing says on its way, a line of JSON each.
package enum PairEvent: ControlLine, Equatable, Sendable {
    /// First of all: this device can be paired with for so long.
    case waiting(device: String, listening: [String], seconds: Int)
    /// All that are nearby at the moment; whenever that has changed.
    case nearby([NearbyEntry])
    case dialling(address: String)
    /// Six digits to compare with those of the other device, and to answer. `name`: what the device is called here or calls itself
    /// nearby; what it says of itself is known only once it is paired.
    case code(String, device: String, name: String? = nil, address: String, transport: String)
    /// The other device's user has said yes.
    case confirmedThere
    /// A device tried and went away before there was a code; the waiting goes on.
    case attemptFailed(message: Phrase)
    /// The device is stored here. `isMutual`: there as well, as it has said.
    case paired(device: String, name: String, addresses: [String], folders: [String], isMutual: Bool)
    /// Each knew the other before.
    case alreadyPaired(device: String, name: String, folders: [String])

    enum CodingKeys: String, CodingKey {
        case type, device, devices, listening, seconds, address, code, transport, message, text, name, addresses,
            folders
        case isMutual = "mutual"
    }

    /// Reads the event that `type` names.
    ///
    /// - Throws: `DecodingError`, also for an unknown `type`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String { try container.decode(String.self, forKey: key) }
        func texts(_ key: CodingKeys) throws -> [String] { try container.decode([String].self, forKey: key) }
        switch try text(.type) {
        case "waiting":
            self = .waiting(
                device: try text(.device), listening: try texts(.listening),
                seconds: try container.decode(Int.self, forKey: .seconds))
        case "nearby": self = .nearby(try container.decode([NearbyEntry].self, forKey: .devices))
        case "dialling": self = .dialling(address: try text(.address))
        case "code":
            self = .code(
                try text(.code), device: try text(.device),
                name: try container.decodeIfPresent(String.self, forKey: .name), address: try text(.address),
                transport: try text(.transport))
        case "confirmed-there": self = .confirmedThere
        case "attempt-failed":
            let message = try text(.message)
            self = .attemptFailed(
                message: try container.decodeIfPresent(Phrase.self, forKey: .text) ?? "\(message)")
        case "paired":
            self = .paired(
                device: try text(.device), name: try text(.name), addresses: try texts(.addresses),
                folders: try texts(.folders), isMutual: try container.decode(Bool.self, forKey: .isMutual))
        case "already-paired":
            self = .alreadyPaired(device: try text(.device), name: try text(.name), folders: try texts(.folders))
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "unknown pairing event \(type)")
        }
    }

    /// Writes the event with its `type`.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(type, forKey: .type)
        switch self {
        case .waiting(let device, let listening, let seconds):
            try container.encode(device, forKey: .device)
            try container.encode(listening, forKey: .listening)
            try container.encode(seconds, forKey: .seconds)
        case .nearby(let devices): try container.encode(devices, forKey: .devices)
        case .dialling(let address): try container.encode(address, forKey: .address)
        case .code(let code, let device, let name, let address, let transport):
            try container.encode(code, forKey: .code)
            try container.encode(device, forKey: .device)
            try container.encodeIfPresent(name, forKey: .name)
            try container.encode(address, forKey: .address)
            try container.encode(transport, forKey: .transport)
        case .confirmedThere: break
        case .attemptFailed(let message):
            try container.encode(message.english, forKey: .message)
            try container.encodeIfPresent(message.unlessVerbatim, forKey: .text)
        case .paired(let device, let name, let addresses, let folders, let isMutual):
            try container.encode(device, forKey: .device)
            try container.encode(name, forKey: .name)
            try container.encode(addresses, forKey: .addresses)
            try container.encode(folders, forKey: .folders)
            try container.encode(isMutual, forKey: .isMutual)
        case .alreadyPaired(let device, let name, let folders):
            try container.encode(device, forKey: .device)
            try container.encode(name, forKey: .name)
            try container.encode(folders, forKey: .folders)
        }
    }

    /// Kebab-case, as `type` has it.
    package var type: String {
        switch self {
        case .waiting: "waiting"
        case .nearby: "nearby"
        case .dialling: "dialling"
        case .code: "code"
        case .confirmedThere: "confirmed-there"
        case .attemptFailed: "attempt-failed"
        case .paired: "paired"
        case .alreadyPaired: "already-paired"
        }
    }
}
