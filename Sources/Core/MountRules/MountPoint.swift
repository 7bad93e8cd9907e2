/// Where a folder may be mounted. Pure: paths and what is there are handed in.
package enum MountPoint {
    /// What is at the place.
    package enum Occupant: Equatable, Sendable {
        case nothing
        case directory(isEmpty: Bool, isOwn: Bool)
        case other
    }

    package enum Objection: Error, Equatable, Sendable {
        case notADirectory, notEmpty, notOwn
        /// It is below the path of this folder, or is it.
        case insideFolder(String)
        /// The path of this folder is below it.
        case aroundFolder(String)
        case mounted
    }

    /// - Parameters:
    ///   - path: absolute, links resolved.
    ///   - folders: the same of all folders.
    ///   - mounted: the same of what is mounted.
    package static func objection(
        to path: String, _ occupant: Occupant, folders: [String], mounted: [String]
    ) -> Objection? {
        if mounted.contains(path) { return .mounted }
        for folder in folders {
            if path == folder || isBelow(path, folder) { return .insideFolder(folder) }
            if isBelow(folder, path) { return .aroundFolder(folder) }
        }
        switch occupant {
        case .nothing: return nil
        case .other: return .notADirectory
        case .directory(_, isOwn: false): return .notOwn
        case .directory(isEmpty: false, _): return .notEmpty
        case .directory: return nil
        }
    }

    /// Where a folder is mounted if nobody says where: `home/FOLDER`; `home/FOLDER-all`, `home/FOLDER-all-2`, … where that would
    /// be inside one of `taken` or around it, as a folder's own directory often is.
    ///
    /// - Parameters:
    ///   - home: absolute, without a slash at its end.
    ///   - taken: the directories of all folders and of other mounts, absolute.
    package static func proposal(home: String, folder: String, taken: [String]) -> String {
        // Not as Characters: a mark behind a slash would make another one of it.
        let plain = home + "/" + String(String.UnicodeScalarView(folder.unicodeScalars.map { $0 == "/" ? "-" : $0 }))
        let places = [plain, plain + "-all"] + (2...taken.count + 2).map { "\(plain)-all-\($0)" }
        // Around all of them is a folder that holds the home itself: the refusal names it.
        return places.first { objection(to: $0, .nothing, folders: taken, mounted: []) == nil } ?? plain
    }

    /// Whether a process is the one that mounts on a directory.
    ///
    /// - Parameters:
    ///   - commandLine: /proc/PID/cmdline of proc_pid_cmdline(5): each word with a NUL behind it.
    ///   - path: as the program was given it, last of its words.
    ///   - program: its name, without directories.
    package static func isServer(commandLine: [UInt8], of path: String, program: String) -> Bool {
        let words = commandLine.split(separator: 0)
        guard words.count > 1, let first = words.first, let last = words.last else { return false }
        let name = first.split(separator: UInt8(ascii: "/")).last ?? []
        return name.elementsEqual(program.utf8) && last.elementsEqual(path.utf8)
    }

    /// The only word of a process that calls for programs which watch a mount (docs/decisions/mount.md).
    package static let callingOption = "--call-for-watchers"

    /// Whether a process is such a one: the mount's own, whatever it holds for a moment.
    package static func callsForWatchers(commandLine: [UInt8]) -> Bool {
        let words = commandLine.split(separator: 0)
        return words.count == 2 && words[1].elementsEqual(callingOption.utf8)
    }

    /// The agent's socket that a mount's process was given; nil if it is not in its words.
    package static func socket(commandLine: [UInt8]) -> String? {
        let words = commandLine.split(separator: 0)
        guard let option = words.firstIndex(where: { $0.elementsEqual("--socket".utf8) }), option + 1 < words.count
        else { return nil }
        return String(decoding: words[option + 1], as: UTF8.self)
    }

    private static func isBelow(_ path: String, _ directory: String) -> Bool {
        path.utf8.starts(with: (directory == "/" ? "/" : directory + "/").utf8)
    }
}

/// What of proc_pid_mountinfo(5) is one of ours. Pure.
package struct MountedFolder: Equatable, Sendable {
    package static let table = "/proc/self/mountinfo"
    package static let type = "fuse.synctrain"
    private static let sourcePrefix = "synctrain:"

    package var directory: String
    package var folder: String

    package init(directory: String, folder: String) { (self.directory, self.folder) = (directory, folder) }

    /// Those of the text of /proc/self/mountinfo.
    package static func all(in text: String) -> [MountedFolder] {
        lines(of: text).compactMap { words in
            // The place is the fifth word; type and source follow the dash.
            guard words.count > 6, let dash = words[6...].firstIndex(of: "-"), dash + 2 < words.count,
                words[dash + 1] == type
            else { return nil }
            let source = unescaped(words[dash + 2])
            return MountedFolder(
                directory: unescaped(words[4]),
                folder: source.utf8.starts(with: sourcePrefix.utf8)
                    ? String(Substring(source.utf8.dropFirst(sourcePrefix.utf8.count))) : source)
        }
    }

    /// libfuse's options for the mount of a folder.
    package static func options(folder: String, isWritable: Bool) -> String {
        // Commas divide options, and backslashes escape them. By scalars: a comma with a combining mark divides as well.
        var name = ""
        for scalar in folder.unicodeScalars {
            if scalar == "," || scalar == "\\" { name += "\\" }
            name.unicodeScalars.append(scalar)
        }
        let access = isWritable ? "rw" : "ro"
        return "\(access),nosuid,nodev,default_permissions,auto_unmount,fsname=\(sourcePrefix)\(name),subtype=synctrain"
    }

    /// The device number of what is seen at a directory, such as `0:45`, and the directory as the same text writes it; nil if
    /// nothing of ours is.
    package static func device(in text: String, at directory: String) -> (number: String, place: String)? {
        let words = lines(of: text).last { $0.count > 6 && unescaped($0[4]) == directory }
        guard let words, words.contains(type) else { return nil }
        return (words[2], words[4])
    }

    private static func lines(of text: String) -> [[String]] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// With each backslash and three octal digits as the byte that they stand for.
    private static func unescaped(_ word: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
