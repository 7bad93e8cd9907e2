/// Asks whether what is selected is here; `folder` nil for all folders.
package struct ReadyQuery: Equatable, Sendable {
    package var folder: String?

    package init(folder: String? = nil) { self.folder = folder }
}

/// Whether what is selected is here, so that the device can go offline.
package struct ReadyAnswer: Codable, Equatable, Sendable {
    package struct Missing: Codable, Equatable, Sendable {
        /// Files and symbolic links that are selected and not here in their newest version.
        package var files: Int64
        /// Bytes that are yet to come: of files that are being downloaded those that are not here.
        package var bytes: Int64

        package init(files: Int64 = 0, bytes: Int64 = 0) {
            self.files = files
            self.bytes = bytes
        }
    }

    package struct Folder: Codable, Equatable, Sendable {
        /// How many names are in `missingNames` at most.
        package static let nameLimit = 5

        package var id: String
        package var label: String
        /// All that is selected is here in its newest version as far as this device knows, and nothing keeps it from knowing.
        package var isReady: Bool
        package var selectedFiles: Int64
        package var selectedBytes: Int64
        package var presentFiles: Int64
        /// Verified; with what is here of files that are being downloaded.
        package var presentBytes: Int64
        package var missing: Missing
        /// The first names of what is missing.
        package var missingNames: [String]
        /// When something came to be missing, as RFC 3339: since then other devices have changed that, or more was selected. Nil if nothing is
        /// missing, and if it was so already when the agent started.
        package var completeUntil: String?
        /// How many bytes of space are missing on the disk, above the folder's `minimum-free` and what the folders before it take;
        /// 0 if it fits.
        package var short: Int64
        /// How long the rest takes at the rate of the last seconds: 0 if nothing is missing, nil (null) if nothing comes now.
        package var etaSeconds: Int64?
        /// That rate; nil if nothing comes.
        package var bytesPerSecond: Int64?
        /// Whether it is paused: one says so by `resume`.
        package var isPaused: Bool
        /// What is in the way, the most important first; as in `status`.
        package var waits: [FolderWait]
        /// Only from `ready --by`: whether it will be ready by then; nil if nobody can say.
        package var isInTime: Bool?

        package init(
            id: String, label: String, isReady: Bool, selectedFiles: Int64, selectedBytes: Int64, presentFiles: Int64,
            presentBytes: Int64, missing: Missing, missingNames: [String] = [], completeUntil: String? = nil,
            short: Int64 = 0, etaSeconds: Int64? = nil,
            bytesPerSecond: Int64? = nil, isPaused: Bool = false, waits: [FolderWait] = [], isInTime: Bool? = nil
        ) {
            self.id = id
            self.label = label
            self.isReady = isReady
            self.selectedFiles = selectedFiles
            self.selectedBytes = selectedBytes
            self.presentFiles = presentFiles
            self.presentBytes = presentBytes
            self.missing = missing
            self.missingNames = missingNames
            self.completeUntil = completeUntil
            self.short = short
            self.etaSeconds = etaSeconds
            self.bytesPerSecond = bytesPerSecond
            self.isPaused = isPaused
            self.waits = waits
            self.isInTime = isInTime
        }

        /// Whether it will be ready in so many seconds; nil if nobody can say.
        package func isReady(inSeconds seconds: Int64) -> Bool? {
            if isReady { return true }
            if short > 0 || isPaused { return false }
            return etaSeconds.map { $0 <= seconds }
        }

        enum CodingKeys: String, CodingKey {
            case id, label, isReady = "ready", selectedFiles, selectedBytes, presentFiles, presentBytes, missing, short
            case missingNames, completeUntil, etaSeconds, bytesPerSecond, isPaused = "paused", waits
            case isInTime = "inTime"
        }

        /// Writes the folder; `etaSeconds` is there as null where nobody can say.
        ///
        /// - Throws: what the encoder throws.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(label, forKey: .label)
            try container.encode(isReady, forKey: .isReady)
            try container.encode(selectedFiles, forKey: .selectedFiles)
            try container.encode(selectedBytes, forKey: .selectedBytes)
            try container.encode(presentFiles, forKey: .presentFiles)
            try container.encode(presentBytes, forKey: .presentBytes)
            try container.encode(missing, forKey: .missing)
            try container.encode(missingNames, forKey: .missingNames)
            try container.encodeIfPresent(completeUntil, forKey: .completeUntil)
            try container.encode(short, forKey: .short)
            try container.encode(etaSeconds, forKey: .etaSeconds)
            try container.encodeIfPresent(bytesPerSecond, forKey: .bytesPerSecond)
            try container.encode(isPaused, forKey: .isPaused)
            try container.encode(waits, forKey: .waits)
            try container.encodeIfPresent(isInTime, forKey: .isInTime)
        }
    }

    package var schema = 1
    package var folders: [Folder]

    package init(folders: [Folder]) { self.folders = folders }

    /// Whether all of them are ready.
    package var isReady: Bool { folders.allSatisfy(\.isReady) }
}
