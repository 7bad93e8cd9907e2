/// Changes what is noted of a file or directory.
public struct NoteChange: Codable, Equatable, Sendable {
    public var path: PathReference
    /// Values by key; a key that is there already gets the new value.
    public var set: [String: String]
    public var remove: [String]

    public init(path: PathReference, set: [String: String] = [:], remove: [String] = []) {
        self.path = path
        self.set = set
        self.remove = remove
    }
}

/// What is noted of a file or directory.
public struct Notes: Codable, Equatable, Sendable {
    public struct Note: Codable, Equatable, Sendable {
        public var key: String
        public var value: String
        public var time: String
        /// The id of the device on which it was written, or its first group if that is not known here.
        public var device: String
        /// What that device is called here; empty if it has no name.
        public var name: String

        public init(key: String, value: String, time: String, device: String, name: String) {
            self.key = key
            self.value = value
            self.time = time
            self.device = device
            self.name = name
        }
    }

    public var schema = 1
    public var folder: String
    /// Relative to the folder's root; empty for the folder itself.
    public var path: String
    /// Whether this device keeps the folder's notes, so that those of others come here.
    public var isKept: Bool
    /// By key.
    public var notes: [Note]
    /// Files of notes that could not be read, relative to the folder's root.
    public var unreadable: [String]

    public init(folder: String, path: String, isKept: Bool, notes: [Note], unreadable: [String] = []) {
        self.folder = folder
        self.path = path
        self.isKept = isKept
        self.notes = notes
        self.unreadable = unreadable
    }

    enum CodingKeys: String, CodingKey { case schema, folder, path, isKept = "kept", notes, unreadable }
}
