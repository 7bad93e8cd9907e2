/// Asks for what has changed.
package struct ChangeQuery: Equatable, Sendable, CheckedRequest {
    /// Only this name and what is below it; nil for all folders.
    package var path: PathReference?
    /// Only what is not older, in seconds.
    package var since: Int64?
    /// The newest so many.
    package var limit: Int
    /// Goes on with what happens from now on, until the asking task is cancelled.
    package var isFollowing: Bool

    package static let largestLimit = 10_000
    static let longestSince = 1_000_000_000

    package init(path: PathReference? = nil, since: Int64? = nil, limit: Int = 100, isFollowing: Bool = false) {
        self.path = path
        self.since = since
        self.limit = limit
        self.isFollowing = isFollowing
    }

    func check() throws(ControlError) {
        try PathReference.check(path.map { [$0] } ?? [])
        guard (1...Self.largestLimit).contains(limit), (0...Int64(Self.longestSince)).contains(since ?? 0) else {
            throw ControlError(
                .invalidRequest, "limit must be between 1 and \(Self.largestLimit), since a number of seconds.")
        }
    }
}

/// Asks for a part of what has changed, newest first.
package struct ChangePageQuery: Equatable, Sendable, CheckedRequest {
    /// Its `limit` is not used.
    package var changes: ChangeQuery
    package var range: PageRange

    package init(changes: ChangeQuery, range: PageRange) {
        self.changes = changes
        self.range = range
    }

    func check() throws(ControlError) {
        guard !changes.isFollowing else {
            throw ControlError(.invalidRequest, "Use either `follow` or `offset`, not both.")
        }
    }
}

/// Something that happened in a folder.
package struct ChangeEntry: ControlLine, Equatable, Sendable {
    package var type = "change"
    package var folder: String
    /// Relative to the folder's root; empty where `what` is `many`.
    package var path: String
    /// Of `renamed`: the path before.
    package var from: String?
    /// RFC 3339: when this device heard of it or did it.
    package var time: String
    /// `added`, `changed`, `deleted`, `renamed`, `conflict`, `freed`, `restored`, or `many`. An open set.
    package var what: String
    /// The short id of the device that made it, and its name; nil if that is not known.
    package var device: String?
    package var name: String?
    /// Made by this device.
    package var isLocal: Bool
    /// How many names it stands for.
    package var count: Int64

    package init(
        folder: String, path: String, from: String? = nil, time: String, what: String, device: String? = nil,
        name: String? = nil, isLocal: Bool = false, count: Int64 = 1
    ) {
        self.folder = folder
        self.path = path
        self.from = from
        self.time = time
        self.what = what
        self.device = device
        self.name = name
        self.isLocal = isLocal
        self.count = count
    }

    enum CodingKeys: String, CodingKey {
        case type, folder, path, from, time, what, device, name, isLocal = "local", count
    }
}
