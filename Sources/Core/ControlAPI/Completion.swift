import Arithmetic

/// Asks how much devices have; nil for all.
package struct CompletionQuery: Equatable, Sendable {
    package var folder: String?
    /// An id, a name or `this`.
    package var device: String?

    package init(folder: String? = nil, device: String? = nil) {
        self.folder = folder
        self.device = device
    }
}

/// Asks what another device has yet to get; `folder` nil for all that it shares.
package struct RemoteNeedQuery: Equatable, Sendable {
    package var device: String
    package var folder: String?

    package init(device: String, folder: String? = nil) {
        self.device = device
        self.folder = folder
    }
}

/// How much of a folder each device has.
package struct CompletionAnswer: Codable, Equatable, Sendable {
    package struct Device: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var isThis: Bool
        package var isConnected: Bool
        /// Whether it has told what it has of the folder; without that the rest says nothing.
        package var hasIndex: Bool
        /// Of what it wants, by bytes; 100 only if it has all of it.
        package var wanted: Double
        /// Of a complete copy.
        package var copy: Double
        /// What it has in the newest version.
        package var held: FolderStatus.Totals
        /// What it has not, and has not said either that it does not keep it; `deletions` it has yet to make.
        package var missing: FolderStatus.Totals
        /// What it has said that it does not keep.
        package var notKept: FolderStatus.Totals

        package init(
            id: String, name: String, isThis: Bool, isConnected: Bool, hasIndex: Bool, held: FolderStatus.Totals,
            missing: FolderStatus.Totals, notKept: FolderStatus.Totals
        ) {
            self.id = id
            self.name = name
            self.isThis = isThis
            self.isConnected = isConnected
            self.hasIndex = hasIndex
            self.held = held
            self.missing = missing
            self.notKept = notKept
            wanted = hasIndex ? Share.percent(held, of: [held, missing]) : 0
            copy = hasIndex ? Share.percent(held, of: [held, missing, notKept]) : 0
        }

        enum CodingKeys: String, CodingKey {
            case id, name, isThis = "this", isConnected = "connected", hasIndex = "index", wanted, copy, held, missing
            case notKept
        }
    }

    package struct Folder: Codable, Equatable, Sendable {
        package var folder: String
        package var global: FolderStatus.Totals
        /// This device first.
        package var devices: [Device]

        package init(folder: String, global: FolderStatus.Totals, devices: [Device]) {
            self.folder = folder
            self.global = global
            self.devices = devices
        }
    }

    package var schema = 1
    package var folders: [Folder]

    package init(folders: [Folder]) { self.folders = folders }
}

/// A part of a whole in percent.
package enum Share {
    /// `part` of the sum of `whole`, of which it is one: by bytes, or by names where none of it has any. 100 only if
    /// nothing is missing; one tenth at least from 0 and 100 where something is here and something is missing.
    package static func percent(_ part: FolderStatus.Totals, of whole: [FolderStatus.Totals]) -> Double {
        let sum = whole.reduce(into: FolderStatus.Totals()) { sum, totals in
            sum.files = sum.files.addingClamped(totals.files)
            sum.directories = sum.directories.addingClamped(totals.directories)
            sum.bytes = sum.bytes.addingClamped(totals.bytes)
        }
        let names = (part.files.addingClamped(part.directories), sum.files.addingClamped(sum.directories))
        guard names.0 < names.1 || part.bytes < sum.bytes else { return 100 }
        let (has, all) = part.bytes < sum.bytes ? (part.bytes, sum.bytes) : names
        guard has > 0 else { return 0 }
        let tenths = (Double(has) / Double(all) * 1000).rounded(.down)
        return min(999, max(1, tenths)) / 10
    }
}
