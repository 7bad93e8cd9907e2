import AgentConfiguration
import FileAccess
import Glibc
import Testing

/// A way in which something gets into the archive of the second of two agents, and what both have before and after.
///
/// What is in a folder is told by name: the text of a file, `-> target` for a symbolic link.
struct ArchiveScene: Sendable, CustomTestStringConvertible {
    enum Way: CaseIterable {
        /// The first agent changes, deletes or moves something, and the second pulls that.
        case replaced, deleted, symlink, renamed, directory, group, many
        /// A person asks the second agent for it.
        case restored, repaired
    }

    enum Place: CaseIterable { case inFolder, besideFolder, onAnotherDisk }

    var way: Way
    var kind: FolderVersions.Kind
    var place = Place.inFolder
    /// Whether the archive has an older version of the file already, and with it the directory for it.
    var hasOlder = false

    var testDescription: String { "\(way), \(kind), \(place)\(hasOlder ? ", not the first" : "")" }

    /// What its calls fail with: all in the folder itself; else what says no more than that, and what makes an archive copy.
    var numbers: [CInt] {
        if way == .many || place == .onAnotherDisk { return [EIO] }
        return place == .inFolder && !hasOlder ? ArchiveFault.numbers.map(\.number) : [EPERM, EIO]
    }

    /// What the second agent has in its place before.
    func before(_ round: Int) -> [String: String] {
        switch way {
        case .replaced, .deleted, .symlink, .directory, .restored: ["d/f": "old \(round)"]
        case .renamed: ["d/f": "old \(round)", "d/g": "moved \(round)"]
        case .group: ["g/x.a": "old a \(round)", "g/x.b": "old b \(round)", "g/x.c": "old c \(round)"]
        case .many: Dictionary(uniqueKeysWithValues: (0..<9).map { ("d/\($0)", "old \($0) in \(round)") })
        case .repaired: ["d/f": "bad \(round)"]
        }
    }

    /// What both have in the end. Of a file that is repaired, the first agent has it all the time.
    func after(_ round: Int) -> [String: String] {
        switch way {
        case .replaced, .restored: ["d/f": "new \(round)"]
        case .deleted: [:]
        case .symlink: ["d/f": "-> target"]
        case .renamed: ["d/f": "moved \(round)"]
        case .directory: ["d/f/x": "new \(round)"]
        case .group: ["g/x.a": "new a \(round)", "g/x.b": "new b \(round)", "g/x.d": "new d \(round)"]
        case .many: Dictionary(uniqueKeysWithValues: (0..<9).map { ("d/\($0)", "new \($0) in \(round)") })
        case .repaired: ["d/f": "fit \(round)"]
        }
    }

    /// What loses its place, by name.
    func replaced(_ round: Int) -> [String: String] {
        let after = after(round)
        // What is moved goes nowhere.
        return before(round).filter { after[$0.key] != $0.value && !after.values.contains($0.value) }
    }

    /// What is in the archive before, by its names there.
    func archivedBefore(_ round: Int) -> [String: String] {
        let name = kind == .trashcan ? "d/f" : "d/f~20010820-101010"
        if way == .restored { return [name: "new \(round)"] }
        return hasOlder ? [name: "older \(round)"] : [:]
    }

    /// Whether what is in the archive before gives way.
    var givesWay: Bool { kind == .trashcan && way != .restored && way != .repaired }

    /// What is there in the end.
    func archivedAfter(_ round: Int) -> [String] {
        var texts = Array(replaced(round).values)
        // In a trashcan the last version takes the place of the one before, unless that is what was brought back.
        if !givesWay { texts += archivedBefore(round).values }
        return texts.sorted()
    }

    /// - Parameter home: a directory that the folder is below of.
    func versions(below home: String) -> FolderVersions {
        FolderVersions(kind: kind, path: place == .inFolder ? nil : "\(home)/archive")
    }
}

/// The call that fails, counted from the first one that changes the disk, and how.
struct ArchiveFault: Sendable, CustomStringConvertible {
    /// What a disk may say at any call.
    static let numbers: [(number: CInt, name: String)] = [
        (EPERM, "EPERM"), (ENOSPC, "ENOSPC"), (EIO, "EIO"), (EROFS, "EROFS"),
    ]

    /// Counted from 0.
    var call: Int
    var number: CInt

    var description: String {
        "\(Self.numbers.first { $0.number == number }?.name ?? "EXDEV") at call \(call)"
    }
}
