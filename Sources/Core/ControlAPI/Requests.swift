/// A device to know, or new facts about a known one.
package struct DeviceSettings: Codable, Equatable, Sendable {
    package var id: String
    package var name: String?
    /// `dynamic` or `tcp://host:port` each; nil leaves them as they are (`dynamic` for a new device).
    package var addresses: [String]?
    /// Only of a new device: its further settings by key.
    package var settings: [SettingInput]?
    /// Only of a new device: the folders that are shared with it.
    package var folders: [DeviceShare]?

    package init(
        id: String, name: String? = nil, addresses: [String]? = nil, settings: [SettingInput]? = nil,
        folders: [DeviceShare]? = nil
    ) {
        self.id = id
        self.name = name
        self.addresses = addresses
        self.settings = settings
        self.folders = folders
    }
}

/// A folder that is shared with a device, and how.
package struct DeviceShare: Codable, Equatable, Sendable {
    package var folder: String
    /// `read`, `write` or `admin`; nil for `write`.
    package var role: String?
    /// Whether the device keeps the folder encrypted, so that it must not get it unencrypted; nil for no.
    package var isEncrypted: Bool?
    /// The introducer that shared it and may end that; nil if the user did.
    package var introducedBy: String?

    package init(folder: String, role: String? = nil, isEncrypted: Bool? = nil, introducedBy: String? = nil) {
        (self.folder, self.role, self.isEncrypted, self.introducedBy) = (folder, role, isEncrypted, introducedBy)
    }

    enum CodingKeys: String, CodingKey { case folder, role, isEncrypted = "encrypted", introducedBy }
}

/// A folder to share.
package struct FolderSettings: Codable, Equatable, Sendable {
    package var id: String
    package var label: String?
    /// Absolute.
    package var path: String
    /// `selective` or `full`.
    package var mode: String
    /// `sendreceive`, `sendonly` or `receiveonly`.
    package var type: String
    /// Ids of the devices to share it with.
    package var devices: [String]
    package var isPaused: Bool

    package init(
        id: String, label: String? = nil, path: String, mode: String = "selective", type: String = "sendreceive",
        devices: [String] = [], isPaused: Bool = false
    ) {
        self.id = id
        self.label = label
        self.path = path
        self.mode = mode
        self.type = type
        self.devices = devices
        self.isPaused = isPaused
    }

    enum CodingKeys: String, CodingKey {
        case id, label, path, mode, type, devices, isPaused = "paused"
    }
}

/// A new name for a device.
package struct DeviceRename: Codable, Equatable, Sendable {
    /// The device's id or its name until now.
    package var device: String
    package var name: String

    package init(device: String, name: String) {
        self.device = device
        self.name = name
    }
}

/// Whether a folder rests.
package struct FolderPause: Codable, Equatable, Sendable {
    package var folder: String
    package var isPaused: Bool

    package init(folder: String, isPaused: Bool) {
        self.folder = folder
        self.isPaused = isPaused
    }

    enum CodingKeys: String, CodingKey { case folder, isPaused = "paused" }
}

/// Whose index to forget; nil for all folders.
package struct IndexReset: Codable, Equatable, Sendable {
    package var folder: String?

    package init(folder: String?) { self.folder = folder }
}

/// A device that knocked without being known.
package struct PendingDevice: Codable, Equatable, Sendable {
    package var id: String
    package var name: String
    package var address: String
    /// RFC 3339.
    package var lastSeen: String

    package init(id: String, name: String, address: String, lastSeen: String) {
        self.id = id
        self.name = name
        self.address = address
        self.lastSeen = lastSeen
    }
}

/// A folder that a known device offers and that this device has not.
package struct PendingFolder: Codable, Equatable, Sendable {
    package var id: String
    package var label: String
    package var device: String
    /// RFC 3339.
    package var lastSeen: String

    package init(id: String, label: String, device: String, lastSeen: String) {
        self.id = id
        self.label = label
        self.device = device
        self.lastSeen = lastSeen
    }
}

/// Who and what waits to be let in.
package struct PendingList: Codable, Equatable, Sendable {
    package var schema = 1
    package var devices: [PendingDevice]
    package var folders: [PendingFolder]

    package init(devices: [PendingDevice], folders: [PendingFolder]) {
        self.devices = devices
        self.folders = folders
    }
}

/// The `devices` of the status alone.
package struct DeviceList: Codable, Equatable, Sendable {
    package var schema = 1
    package var devices: [DeviceStatus]

    package init(devices: [DeviceStatus]) { self.devices = devices }
}

/// The `folders` of the status alone.
package struct FolderList: Codable, Equatable, Sendable {
    package var schema = 1
    package var folders: [FolderStatus]

    package init(folders: [FolderStatus]) { self.folders = folders }
}

package struct FetchRequest: Codable, Equatable, Sendable, PathsRequest {
    package var paths: [PathReference]
    /// Absolute. A file's new name, or for several paths or a directory the directory to put them in. Nil puts every
    /// file in its own place in its folder.
    package var output: String?
    /// Replaces files that exist and differ.
    package var isForced: Bool

    package init(paths: [PathReference], output: String? = nil, isForced: Bool = false) {
        self.paths = paths
        self.output = output
        self.isForced = isForced
    }

    enum CodingKeys: String, CodingKey { case paths, output, isForced = "force" }
}

/// What a fetch says on its way, a line of JSON each.
package enum FetchEvent: ControlLine, Equatable, Sendable {
    /// What is to be done: first of all.
    case plan(files: Int64, bytes: Int64)
    /// At most ten times a second. Bytes are of the whole fetch, `path` is the file that they last came for,
    /// `bytesPerSecond` is over the last few seconds; `holders` are device names.
    case progress(path: String, bytesDone: Int64, bytesTotal: Int64, bytesPerSecond: Int64, holders: [String])
    /// A file is complete at `output` (absolute); `wasPresent` if it was before.
    case file(path: String, output: String, size: Int64, wasPresent: Bool)
    /// A file could not be fetched; the others go on.
    case failed(path: String, error: ControlError)
    /// Last of all.
    case done(files: Int64, bytes: Int64, failed: Int64, seconds: Double)

    enum CodingKeys: String, CodingKey {
        case type, files, bytes, path, bytesDone, bytesTotal, bytesPerSecond, holders, output, size, wasPresent, error
        case failed, seconds
    }

    /// Reads the event that `type` names.
    ///
    /// - Throws: `DecodingError`, also for an unknown `type`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .type) {
        case "plan":
            self = .plan(
                files: try container.decode(Int64.self, forKey: .files),
                bytes: try container.decode(Int64.self, forKey: .bytes))
        case "progress":
            self = .progress(
                path: try container.decode(String.self, forKey: .path),
                bytesDone: try container.decode(Int64.self, forKey: .bytesDone),
                bytesTotal: try container.decode(Int64.self, forKey: .bytesTotal),
                bytesPerSecond: try container.decode(Int64.self, forKey: .bytesPerSecond),
                holders: try container.decode([String].self, forKey: .holders))
        case "file":
            self = .file(
                path: try container.decode(String.self, forKey: .path),
                output: try container.decode(String.self, forKey: .output),
                size: try container.decode(Int64.self, forKey: .size),
                wasPresent: try container.decode(Bool.self, forKey: .wasPresent))
        case "failed":
            self = .failed(
                path: try container.decode(String.self, forKey: .path),
                error: try container.decode(ControlError.self, forKey: .error))
        case "done":
            self = .done(
                files: try container.decode(Int64.self, forKey: .files),
                bytes: try container.decode(Int64.self, forKey: .bytes),
                failed: try container.decode(Int64.self, forKey: .failed),
                seconds: try container.decode(Double.self, forKey: .seconds))
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "unknown fetch event \(type)")
        }
    }

    /// Writes the event with its `type`.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .plan(let files, let bytes):
            try container.encode("plan", forKey: .type)
            try container.encode(files, forKey: .files)
            try container.encode(bytes, forKey: .bytes)
        case .progress(let path, let bytesDone, let bytesTotal, let bytesPerSecond, let holders):
            try container.encode("progress", forKey: .type)
            try container.encode(path, forKey: .path)
            try container.encode(bytesDone, forKey: .bytesDone)
            try container.encode(bytesTotal, forKey: .bytesTotal)
            try container.encode(bytesPerSecond, forKey: .bytesPerSecond)
            try container.encode(holders, forKey: .holders)
        case .file(let path, let output, let size, let wasPresent):
            try container.encode("file", forKey: .type)
            try container.encode(path, forKey: .path)
            try container.encode(output, forKey: .output)
            try container.encode(size, forKey: .size)
            try container.encode(wasPresent, forKey: .wasPresent)
        case .failed(let path, let error):
            try container.encode("failed", forKey: .type)
            try container.encode(path, forKey: .path)
            try container.encode(error, forKey: .error)
        case .done(let files, let bytes, let failed, let seconds):
            try container.encode("done", forKey: .type)
            try container.encode(files, forKey: .files)
            try container.encode(bytes, forKey: .bytes)
            try container.encode(failed, forKey: .failed)
            try container.encode(seconds, forKey: .seconds)
        }
    }
}

/// Something that happened in the agent: what `logs` prints and the page listens to.
package struct AgentEvent: ControlLine, Equatable, Sendable {
    /// Kebab-case: `device-connected`, `device-disconnected`, `index-updated`, `folder-changed`, `device-pending`,
    /// `folder-pending`, `configuration-changed`, `transfer-changed`, `pairing-changed`, `job`, `gap`
    /// (events are missing here: look at everything again).
    package var type: String
    /// RFC 3339.
    package var time: String
    package var device: String?
    package var folder: String?
    package var message: String?
    /// Names the event to whoever comes back for those behind it; nil from an agent that cannot.
    package var id: String?
    /// Of `job`.
    package var job: Job?

    package init(type: String, time: String, device: String? = nil, folder: String? = nil, message: String? = nil) {
        self.type = type
        self.time = time
        self.device = device
        self.folder = folder
        self.message = message
    }
}
