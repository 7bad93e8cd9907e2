/// A folder's mount, as `status` shows it.
package struct MountStatus: Codable, Equatable, Sendable {
    /// How many programs are named.
    package static let readerLimit = 20

    package var folder: String
    /// Absolute.
    package var directory: String
    /// `mounted`; `not-answering`: programs wait or fail there; `unmounted`.
    package var state: String
    /// RFC 3339; nil unless it is mounted.
    package var since: String?
    /// Mounted so that programs cannot change anything.
    package var isReadOnly: Bool
    /// Whether the configuration has the folder mounted there whenever the agent runs.
    package var isConfigured: Bool
    /// Why it is not mounted, or not unmounted, with what to do; nil if nothing is the matter.
    package var problem: ControlError?
    /// The programs that read what is not on this disk, the one that read last first.
    package var readers: [MountReading]
    /// How many programs read beyond those.
    package var moreReaders: Int

    package init(
        folder: String, directory: String, state: String, since: String? = nil, isReadOnly: Bool = false,
        isConfigured: Bool = false, problem: ControlError? = nil, readers: [MountReading] = [], moreReaders: Int = 0
    ) {
        (self.folder, self.directory, self.state, self.since) = (folder, directory, state, since)
        (self.isReadOnly, self.isConfigured, self.problem) = (isReadOnly, isConfigured, problem)
        (self.readers, self.moreReaders) = (readers, moreReaders)
    }

    enum CodingKeys: String, CodingKey {
        case folder, directory, state, since, isReadOnly = "readOnly", isConfigured = "configured", problem, readers
        case moreReaders
    }
}

extension MountStatus: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["state": FieldNote(.oneOf(["mounted", "not-answering", "unmounted"]))]
    }
}

/// A program that reads in a mount what is not on this disk.
package struct MountReading: Codable, Equatable, Sendable {
    /// At most 15 bytes of its name.
    package var program: String
    package var process: Int
    /// What it read last, relative to the folder's root.
    package var path: String
    /// How many files it has opened.
    package var files: Int
    /// Bytes that it has read.
    package var bytes: Int64
    /// Over the last few seconds.
    package var bytesPerSecond: Int64

    package init(
        program: String, process: Int, path: String, files: Int, bytes: Int64, bytesPerSecond: Int64
    ) {
        (self.program, self.process, self.path) = (program, process, path)
        (self.files, self.bytes, self.bytesPerSecond) = (files, bytes, bytesPerSecond)
    }
}

package struct MountList: Codable, Equatable, Sendable {
    package var schema = 1
    package var mounts: [MountStatus]

    package init(mounts: [MountStatus]) { self.mounts = mounts }
}

/// Mounts a folder, or unmounts it.
package struct MountSwitch: Codable, Equatable, Sendable, CheckedRequest {
    package var folder: String
    /// Absolute, or below `~`; nil for the one that the configuration has, and to unmount the folder wherever it is.
    package var directory: String?
    package var isMounted: Bool
    /// To mount: refuse changes. Nil for what the configuration says.
    package var isReadOnly: Bool?
    /// True has the folder mounted there whenever the agent runs, false ends that; nil leaves the configuration as it is.
    package var isConfigured: Bool?
    /// To unmount: though programs use it.
    package var isLazy: Bool?

    package init(
        folder: String, directory: String? = nil, isMounted: Bool, isReadOnly: Bool? = nil, isConfigured: Bool? = nil,
        isLazy: Bool? = nil
    ) {
        (self.folder, self.directory, self.isMounted) = (folder, directory, isMounted)
        (self.isReadOnly, self.isConfigured, self.isLazy) = (isReadOnly, isConfigured, isLazy)
    }

    /// - Throws: `invalidRequest` for what contradicts itself, or is too long.
    package func check() throws(ControlError) {
        if let directory, directory.utf8.count > ControlLimits.path {
            throw ControlError(.tooLarge, "The path of the directory is too long. Choose a shorter one.")
        }
        guard isMounted ? isConfigured != false : isConfigured != true else {
            throw ControlError(
                .invalidRequest, "A folder cannot be unmounted and be mounted whenever the agent runs. Choose one.")
        }
    }

    enum CodingKeys: String, CodingKey {
        case folder, directory, isMounted = "mounted", isReadOnly = "readOnly", isConfigured = "configured"
        case isLazy = "lazy"
    }
}
