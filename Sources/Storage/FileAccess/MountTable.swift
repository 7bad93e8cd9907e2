import Glibc
import KernelFiles

/// The places at which file systems are mounted, as the kernel lists them for this process.
package enum MountTable {
    private static let file = "/proc/self/mountinfo"
    /// More mounts than this below one directory are not looked at.
    package static let limit = 1000

    /// The names below the directory `root` at which something is mounted, relative to it; nil if nobody can tell.
    package static func names(below root: String) -> Set<String>? {
        guard let resolved = realpath(root, nil) else { return nil }
        defer { free(resolved) }
        guard let text = KernelFile.bytes(at: file) else { return nil }
        return names(in: text, below: String(cString: resolved))
    }

    /// The same of a text in the form of proc_pid_mountinfo(5): the fifth word of a line is the place, with blanks as `\040`.
    static func names(in text: [UInt8], below root: String) -> Set<String> {
        let prefix = Array((root == "/" ? root : root + "/").utf8)
        var names: Set<String> = []
        for line in text.split(separator: UInt8(ascii: "\n")) where names.count < limit {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard words.count >= 5 else { continue }
            let place = unescaped(words[4])
            guard place.starts(with: prefix), place.count > prefix.count,
                let name = String(validating: place.dropFirst(prefix.count), as: UTF8.self)
            else { continue }
            names.insert(name)
        }
        return names
    }

    /// Where on which file system something is. Two paths lead to one place if a directory is mounted twice.
    package struct Origin: Equatable, Sendable {
        /// The numbers of the device: `8:1`.
        package var device: String
        /// From the root of the file system on; empty for that root.
        package var path: [UInt8]

        package init(device: String, path: [UInt8]) { (self.device, self.path) = (device, path) }

        /// Whether it is `other` or is in it.
        package func isSameOrInside(_ other: Origin) -> Bool {
            device == other.device && MountTable.isSameOrInside(path, other.path)
        }
    }

    /// The table as it is now; empty if nobody can tell.
    package static func text() -> [UInt8] { KernelFile.bytes(at: file) ?? [] }

    /// Where the full path `path`, without links, is on its file system; nil if the table `text` has no place above it.
    package static func origin(of path: String, in text: [UInt8]) -> Origin? {
        let path = path == "/" ? [] : Array(path.utf8)
        var found: (length: Int, origin: Origin)?
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard words.count >= 5 else { continue }
            var (root, place) = (unescaped(words[3]), unescaped(words[4]))
            if root == [UInt8(ascii: "/")] { root = [] }
            if place == [UInt8(ascii: "/")] { place = [] }
            // Of two in one place the later one hides the other.
            guard isSameOrInside(path, place), place.count >= found?.length ?? 0 else { continue }
            let device = String(decoding: words[2], as: UTF8.self)
            found = (place.count, Origin(device: device, path: root + path.dropFirst(place.count)))
        }
        return found?.origin
    }

    private static func isSameOrInside(_ path: [UInt8], _ directory: [UInt8]) -> Bool {
        guard path.starts(with: directory) else { return false }
        return path.count == directory.count || path[directory.count] == UInt8(ascii: "/")
    }

    /// With each backslash and three octal digits as the byte that they stand for.
    private static func unescaped(_ word: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = word
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
