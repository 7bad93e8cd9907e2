import Phrases

/// The agent's state as `status` shows it.
package struct AgentStatus: Codable, Equatable, Sendable {
    package var schema = 1
    package var device: String
    package var name: String
    package var version: String
    /// RFC 3339.
    package var startedAt: String
    /// What is listened on, `tcp://host:port` or `ble://AA:BB:CC:DD:EE:FF` each.
    package var listening: [String]
    /// Where links to files lead, `http://host:port`; nil if nothing is listened on for HTTP.
    package var http: String?
    /// Why that is another port than the configuration says, as a sentence; nil if it is not. `httpRemarkText` is what it was made of.
    package private(set) var httpRemark: String?
    package private(set) var httpRemarkText: Phrase?
    package var httpRemarkPhrase: Phrase? {
        get { httpRemarkText ?? httpRemark.map { "\($0)" } }
        set { (httpRemark, httpRemarkText) = (newValue?.english, newValue?.unlessVerbatim) }
    }
    /// The SHA-256 of the certificate that the page shows to other machines, `AB:CD:…`; nil where it has none.
    package var httpFingerprint: String?
    package var folders: [FolderStatus]
    package var devices: [DeviceStatus]
    package var transfers: [TransferStatus]
    /// Bluetooth; nil where it is not used.
    package var bluetooth: RadioStatus?
    /// Nil of an agent that knows none.
    package var policies: PolicyStatus?
    /// Sentences about what is wrong with the agent as a whole, each with its remedy; `problemTexts` is what they were made of.
    package private(set) var problems: [String]
    package private(set) var problemTexts: [Phrase]?
    package var problemPhrases: [Phrase] {
        get { problemTexts ?? problems.map { "\($0)" } }
        set {
            problems = newValue.map(\.english)
            problemTexts = newValue.allSatisfy(\.isVerbatim) ? nil : newValue
        }
    }
    /// How many devices and folders wait to be let in; nil from an agent that does not say.
    package var pending: Int?
    /// Mounted folders, and those that are to be mounted; nil from an agent that does not say.
    package var mounts: [MountStatus]?

    package init(
        device: String, name: String, version: String, startedAt: String, listening: [String],
        http: String? = nil, httpRemark: Phrase? = nil, httpFingerprint: String? = nil,
        folders: [FolderStatus], devices: [DeviceStatus],
        transfers: [TransferStatus],
        bluetooth: RadioStatus? = nil, policies: PolicyStatus? = nil, problems: [Phrase] = [],
        pending: Int? = nil, mounts: [MountStatus]? = nil
    ) {
        self.device = device
        self.name = name
        self.version = version
        self.startedAt = startedAt
        self.listening = listening
        self.http = http
        self.httpRemark = httpRemark?.english
        httpRemarkText = httpRemark?.unlessVerbatim
        self.httpFingerprint = httpFingerprint
        self.folders = folders
        self.devices = devices
        self.transfers = transfers
        self.bluetooth = bluetooth
        self.policies = policies
        self.problems = problems.map(\.english)
        problemTexts = problems.allSatisfy(\.isVerbatim) ? nil : problems
        self.pending = pending
        self.mounts = mounts
    }
}

/// Whether a radio can be used.
package struct RadioStatus: Codable, Equatable, Sendable {
    /// `ready`, or a word for what is the matter: `powered-off`, `no-adapter`, ….
    package var state: String
    /// A sentence for people; `text` is what it was made of.
    package private(set) var message: String
    package private(set) var text: Phrase?
    /// What to do, as a sentence; nil if nothing is the matter. `remedyText` is what it was made of.
    package private(set) var remedy: String?
    package private(set) var remedyText: Phrase?
    /// The same as a command for a shell, where there is one that is complete.
    package var command: String?
    /// `hci0`; nil while there is none.
    package var adapter: String?
    /// Of the adapter.
    package var address: String?
    /// Whether nearby devices can find this one.
    package var isAdvertising: Bool

    package init(
        state: String, message: Phrase, remedy: Phrase? = nil, command: String? = nil, adapter: String? = nil,
        address: String? = nil, isAdvertising: Bool = false
    ) {
        self.state = state
        self.message = message.english
        text = message.unlessVerbatim
        self.remedy = remedy?.english
        remedyText = remedy?.unlessVerbatim
        self.command = command
        self.adapter = adapter
        self.address = address
        self.isAdvertising = isAdvertising
    }

    /// Whether there can be links by it.
    package var isUsable: Bool { state == "ready" || state == "not-advertising" }
    package var phrase: Phrase { text ?? "\(message)" }
    package var remedyPhrase: Phrase? { remedyText ?? remedy.map { "\($0)" } }
}

package struct DeviceStatus: Encodable, Equatable, Sendable {
    package var id: String
    package var name: String
    package var isConnected: Bool
    /// It rests because somebody here said so; `pausedUntil` is RFC 3339, nil until told otherwise.
    package var isPaused: Bool
    package var pausedUntil: String?
    /// The quota that it went over, as in `config.toml`, if the agent paused it for that.
    package var pauseReason: String?
    /// The same as a sentence for people; `pauseText` is what it was made of.
    package private(set) var pauseMessage: String?
    package private(set) var pauseText: Phrase?
    package var pausePhrase: Phrase? { pauseText ?? pauseMessage.map { "\($0)" } }
    /// `tcp-lan`, `tcp-wan`, `relay`, `l2cap`, `gatt` or `virtual`, while connected.
    package var transport: String?
    /// Of the other end, while connected.
    package var address: String?
    /// What is dialled, as configured.
    package var addresses: [String]
    /// The peer's program and its version, once it said so.
    package var client: String?
    /// RFC 3339; nil if never.
    package var lastSeen: String?
    package var bytesIn: Int64
    package var bytesOut: Int64
    /// Why the last link ended or the last dial failed; `lastErrorText` is what it was made of.
    package private(set) var lastError: String?
    package private(set) var lastErrorText: Phrase?
    package var lastErrorPhrase: Phrase? {
        get { lastErrorText ?? lastError.map { "\($0)" } }
        set { (lastError, lastErrorText) = (newValue?.english, newValue?.unlessVerbatim) }
    }
    /// The id of the admin that brought it; nil for one that the user added.
    package var introducedBy: String?
    /// Whether the device's user has accepted this one; nil while nobody can say.
    package var acceptance: Acceptance?
    /// Every address that is in use, failed, or is not tried, in this order.
    package var ways: [DeviceWay]

    package enum Acceptance: String, Codable, Sendable, CaseIterable {
        /// It greets this device and then closes the connection: it does not know this device yet, or has paused it.
        case needed
        /// It has said what it shares with this device.
        case given
    }

    package init(
        id: String, name: String, isConnected: Bool, transport: String? = nil, address: String? = nil,
        addresses: [String] = [], client: String? = nil, lastSeen: String? = nil, bytesIn: Int64 = 0,
        bytesOut: Int64 = 0, lastError: Phrase? = nil, isPaused: Bool = false, pausedUntil: String? = nil,
        pauseReason: String? = nil, pausePhrase: Phrase? = nil, introducedBy: String? = nil,
        acceptance: Acceptance? = nil, ways: [DeviceWay] = []
    ) {
        self.id = id
        self.name = name
        self.isConnected = isConnected
        self.transport = transport
        self.address = address
        self.addresses = addresses
        self.client = client
        self.lastSeen = lastSeen
        self.bytesIn = bytesIn
        self.bytesOut = bytesOut
        self.lastError = lastError?.english
        lastErrorText = lastError?.unlessVerbatim
        self.isPaused = isPaused
        self.pausedUntil = pausedUntil
        self.pauseReason = pauseReason
        pauseMessage = pausePhrase?.english
        pauseText = pausePhrase?.unlessVerbatim
        self.introducedBy = introducedBy
        self.acceptance = acceptance
        self.ways = ways
    }

    enum CodingKeys: String, CodingKey {
        case id, name, isConnected = "connected", transport, address, addresses, client, lastSeen, bytesIn, bytesOut
        case lastError, lastErrorText, isPaused = "paused", pausedUntil, pauseReason, pauseMessage, pauseText
        case introducedBy, acceptance, ways
    }
}

/// Written by hand so that what an older agent does not say yet is read as nothing.
extension DeviceStatus: Decodable {
    /// Reads the status; what an older agent does not say is nil or false.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id), name: try container.decode(String.self, forKey: .name),
            isConnected: try container.decode(Bool.self, forKey: .isConnected),
            transport: try container.decodeIfPresent(String.self, forKey: .transport),
            address: try container.decodeIfPresent(String.self, forKey: .address),
            addresses: try container.decode([String].self, forKey: .addresses),
            client: try container.decodeIfPresent(String.self, forKey: .client),
            lastSeen: try container.decodeIfPresent(String.self, forKey: .lastSeen),
            bytesIn: try container.decode(Int64.self, forKey: .bytesIn),
            bytesOut: try container.decode(Int64.self, forKey: .bytesOut),
            lastError: try container.decodeIfPresent(Phrase.self, forKey: .lastErrorText)
                ?? container.decodeIfPresent(String.self, forKey: .lastError).map { "\($0)" },
            isPaused: try container.decodeIfPresent(Bool.self, forKey: .isPaused) ?? false,
            pausedUntil: try container.decodeIfPresent(String.self, forKey: .pausedUntil),
            pauseReason: try container.decodeIfPresent(String.self, forKey: .pauseReason),
            pausePhrase: try container.decodeIfPresent(Phrase.self, forKey: .pauseText)
                ?? container.decodeIfPresent(String.self, forKey: .pauseMessage).map { "\($0)" },
            introducedBy: try container.decodeIfPresent(String.self, forKey: .introducedBy),
            acceptance: try container.decodeIfPresent(String.self, forKey: .acceptance).flatMap(Acceptance.init),
            ways: try container.decodeIfPresent([DeviceWay].self, forKey: .ways) ?? [])
    }
}
