import Phrases

/// Something that a folder waits for: why it has not all that it wants, or does nothing, and what ends that.
package struct FolderWait: Codable, Equatable, Sendable {
    /// A closed set here; a client takes a word that it does not know for `unavailable`.
    package enum Reason: String, CaseIterable, Codable, Sendable {
        /// It rests because somebody said so.
        case paused
        /// It has stopped itself over something that looks like a loss, or cannot be read.
        case halted
        /// The disk has no room for what is needed.
        case space
        /// It is shared with nobody.
        case unshared
        /// Devices that share it are known and have not yet told what they have.
        case index
        /// A device rests because somebody here said so.
        case devicePaused = "device-paused"
        /// A connected device has the folder paused.
        case pausedThere = "paused-there"
        /// A connected device does not share the folder with this one.
        case unsharedThere = "unshared-there"
        /// A device keeps the folder encrypted: nothing of it is exchanged.
        case encryptedThere = "encrypted-there"
        /// What is needed is whole only on devices that are not connected.
        case holder
        /// No device has said that it has what is needed whole.
        case unavailable
        /// A setting keeps what is needed off the links that there are.
        case policy
        /// Names that something is wrong with.
        case problems
        /// Others changed what this folder, which only sends, does not take.
        case notTaken = "not-taken"
        /// Changes made here that this folder, which only receives, does not send.
        case notSent = "not-sent"
        /// Other devices refuse changes made here, because this one may only read there.
        case refusedThere = "refused-there"

        /// Reads a word; an unknown one is `unavailable`.
        ///
        /// - Throws: `DecodingError` for what is not text.
        package init(from decoder: any Decoder) throws {
            self = Reason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unavailable
        }
    }

    package var reason: Reason
    /// A sentence for people.
    package var text: Phrase
    /// What ends it, as a sentence; never empty.
    package var remedyText: Phrase
    /// The same as a command for a shell, where there is one that is complete.
    package var command: String?
    /// Ids of the devices that it is about.
    package var devices: [String]
    /// When it ends by itself: RFC 3339. The sentence does not say it, so that each client shows it in local time.
    package var until: String?
    /// How much of what is needed waits for this; nil where that is not known.
    package var files: Int64?
    package var bytes: Int64?

    package init(
        reason: Reason, text: Phrase, remedyText: Phrase, command: String? = nil, devices: [String] = [],
        until: String? = nil,
        files: Int64? = nil, bytes: Int64? = nil
    ) {
        self.reason = reason
        self.text = text
        self.remedyText = remedyText
        self.command = command
        self.devices = devices
        self.until = until
        self.files = files
        self.bytes = bytes
    }

    /// Of sentences that the catalogue does not have.
    package init(
        reason: Reason, message: String, remedy: String, command: String? = nil, devices: [String] = [],
        files: Int64? = nil, bytes: Int64? = nil
    ) {
        self.init(
            reason: reason, text: "\(message)", remedyText: "\(remedy)", command: command, devices: devices,
            files: files, bytes: bytes)
    }

    /// `text` in English.
    package var message: String { text.english }
    /// `remedyText` in English.
    package var remedy: String { remedyText.english }

    enum CodingKeys: String, CodingKey {
        case reason, message, text, remedy, remedyText, command, devices, until, files, bytes
    }

    /// Reads the wait; from an older agent without `text` and `remedyText`.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let message = try container.decode(String.self, forKey: .message)
        let remedy = try container.decode(String.self, forKey: .remedy)
        self.init(
            reason: try container.decode(Reason.self, forKey: .reason),
            text: try container.decodeIfPresent(Phrase.self, forKey: .text) ?? "\(message)",
            remedyText: try container.decodeIfPresent(Phrase.self, forKey: .remedyText) ?? "\(remedy)",
            command: try container.decodeIfPresent(String.self, forKey: .command),
            devices: try container.decode([String].self, forKey: .devices),
            until: try container.decodeIfPresent(String.self, forKey: .until),
            files: try container.decodeIfPresent(Int64.self, forKey: .files),
            bytes: try container.decodeIfPresent(Int64.self, forKey: .bytes))
    }

    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(reason, forKey: .reason)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(text.isVerbatim ? nil : text, forKey: .text)
        try container.encode(remedy, forKey: .remedy)
        try container.encodeIfPresent(remedyText.isVerbatim ? nil : remedyText, forKey: .remedyText)
        try container.encodeIfPresent(command, forKey: .command)
        try container.encode(devices, forKey: .devices)
        try container.encodeIfPresent(until, forKey: .until)
        try container.encodeIfPresent(files, forKey: .files)
        try container.encodeIfPresent(bytes, forKey: .bytes)
    }

    /// The same to a program, whether or not it was read from JSON.
    package static func == (left: FolderWait, right: FolderWait) -> Bool {
        left.reason == right.reason && left.message == right.message && left.remedy == right.remedy
            && left.command == right.command && left.devices == right.devices && left.until == right.until
            && left.files == right.files
            && left.bytes == right.bytes
    }
}

/// How much of a folder is here, in a word.
package enum FolderCopy: String, Codable, CaseIterable, Sendable {
    /// All that any device has.
    case complete
    /// All that is selected, and that is not all there is.
    case selected
    /// Something that is selected is not here yet, or the disk has damaged it.
    case partial
    /// No device has told yet what there is.
    case unknown
}

extension FolderStatus {
    /// What can be in the way of an index.
    private static let indexObstacles: Set<FolderWait.Reason> = [
        .devicePaused, .index, .pausedThere, .encryptedThere, .unsharedThere,
    ]

    /// Why nobody knows what is needed: no device has said yet what it has. Nil if one has, if the folder is shared with nobody, or
    /// if it takes nothing from others.
    package var indexWait: Phrase? {
        guard copy == .unknown, type != "sendonly" else { return nil }
        return waits.first { Self.indexObstacles.contains($0.reason) }?.text
            ?? Phrase("no device has sent its index yet")
    }
}
