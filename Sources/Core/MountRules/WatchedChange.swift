import MountProtocol

/// What a program may have seen of one name in a directory that it has listed.
package struct SeenName: Equatable, Sendable {
    package var kind: MountEntry.Kind
    /// 0 where only size and time are known, as of what a program of this mount has written.
    package var version: UInt64
    package var size: Int64
    package var seconds: Int64
    package var nanoseconds: UInt32

    package init(kind: MountEntry.Kind, version: UInt64 = 0, size: Int64, seconds: Int64, nanoseconds: UInt32) {
        (self.kind, self.version, self.size) = (kind, version, size)
        (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
    }

    package init(_ entry: MountEntry) {
        self.init(
            kind: entry.kind, version: entry.version, size: entry.size, seconds: entry.modifiedSeconds,
            nanoseconds: entry.modifiedNanoseconds)
    }

    /// Whether programs would read the same. A version is another one once a write has been scanned, so size and time decide as well;
    /// a directory is the same whatever its times are.
    package func isSame(as other: SeenName) -> Bool {
        guard kind == other.kind else { return false }
        if kind == .directory || version == other.version && version != 0 { return true }
        return size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds
    }

    /// The entry that a name had, for the call that ends it.
    package func entry(named name: String) -> MountEntry {
        MountEntry(
            name: name, kind: kind, version: version, size: size, modifiedSeconds: seconds,
            modifiedNanoseconds: nanoseconds, permissions: kind == .directory ? 0o755 : 0o644, isHere: false)
    }
}

/// One thing that programs which watch a directory are to hear of a name in it.
package enum WatchedChange: Equatable, Sendable {
    case made(MountEntry.Kind)
    /// It has another content.
    case changed
    /// With what it was.
    case removed(SeenName)

    /// What happened to a name, in order. Pure.
    ///
    /// - Parameters:
    ///   - before: what watchers know; nil for nothing.
    ///   - after: what is there now.
    package static func between(_ before: SeenName?, _ after: SeenName?) -> [WatchedChange] {
        switch (before, after) {
        case (nil, nil): []
        case (nil, let after?): [.made(after.kind)]
        case (let before?, nil): [.removed(before)]
        case (let before?, let after?) where before.kind != after.kind: [.removed(before), .made(after.kind)]
        case (let before?, let after?): before.isSame(as: after) ? [] : [.changed]
        }
    }
}
