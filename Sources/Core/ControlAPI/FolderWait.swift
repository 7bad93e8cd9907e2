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

        /// Reads a word; an unknown one is `unavailable`.
        ///
        /// - Throws: `DecodingError` for what is not text.
        package init(from decoder: any Decoder) throws {
            self = Reason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unavailable
        }
    }

    package var reason: Reason
    /// A sentence for people.
    package var message: String
    /// What ends it, as a sentence; never empty.
    package var remedy: String
    /// Ids of the devices that it is about.
    package var devices: [String]
    /// How much of what is needed waits for this; nil where that is not known.
    package var files: Int64?
    package var bytes: Int64?

    package init(
        reason: Reason, message: String, remedy: String, devices: [String] = [], files: Int64? = nil,
        bytes: Int64? = nil
    ) {
        self.reason = reason
        self.message = message
        self.remedy = remedy
        self.devices = devices
        self.files = files
        self.bytes = bytes
    }
}

/// How much of a folder is here, in a word.
package enum FolderCopy: String, Codable, CaseIterable, Sendable {
    /// All that any device has.
    case complete
    /// All that is selected, and that is not all there is.
    case selected
    /// Something that is selected is not here yet.
    case partial
    /// No device has told yet what there is.
    case unknown
}
