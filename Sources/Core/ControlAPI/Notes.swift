/// Changes what is noted of a file or directory.
package struct NoteChange: Codable, Equatable, Sendable, PathRequest {
    package var path: PathReference
    /// Values by key; a key that is there already gets the new value.
    package var set: [String: String]
    package var remove: [String]

    package init(path: PathReference, set: [String: String] = [:], remove: [String] = []) {
        self.path = path
        self.set = set
        self.remove = remove
    }
}

/// What is noted of a file or directory.
package struct Notes: Codable, Equatable, Sendable {
    package struct Note: Codable, Equatable, Sendable {
        package var key: String
        package var value: String
        package var time: String
        /// The id of the device on which it was written, or its first group if that is not known here.
        package var device: String
        /// What that device is called here; empty if it has no name.
        package var name: String

        package init(key: String, value: String, time: String, device: String, name: String) {
            self.key = key
            self.value = value
            self.time = time
            self.device = device
            self.name = name
        }
    }

    package var schema = 1
    package var folder: String
    /// Relative to the folder's root; empty for the folder itself.
    package var path: String
    /// Whether this device keeps the folder's notes, so that those of others come here.
    package var isKept: Bool
    /// By key.
    package var notes: [Note]
    /// Files of notes that could not be read, relative to the folder's root.
    package var unreadable: [String]

    package init(folder: String, path: String, isKept: Bool, notes: [Note], unreadable: [String] = []) {
        self.folder = folder
        self.path = path
        self.isKept = isKept
        self.notes = notes
        self.unreadable = unreadable
    }

    enum CodingKeys: String, CodingKey { case schema, folder, path, isKept = "kept", notes, unreadable }
}
