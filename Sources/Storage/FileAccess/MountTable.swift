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
