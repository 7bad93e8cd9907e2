import Glibc

/// Finds the entries of directories by path and makes those that are missing.
///
/// Names come mostly directory by directory, so the way to the last one is kept and only what differs is looked up.
struct DirectoryResolver {
    private let root: Int64
    /// The last directory's path.
    private var path: [UInt8] = []
    /// Where each of its components ends in `path`, and its entry.
    private var levels: [(end: Int, entry: Int64)] = []

    init(root: Int64) { self.root = root }

    /// The entry of `directory`, a path without a slash at its end; the root for an empty one.
    mutating func entry(of directory: UnsafeRawBufferPointer, in entries: EntryTable) throws -> Int64 {
        if directory.isEmpty { return root }
        keepCommonLevels(with: directory)
        var parent = levels.last?.entry ?? root
        var start = levels.last.map { $0.end + 1 } ?? 0
        while start <= directory.count {
            let slash = directory[start...].firstIndex(of: UInt8(ascii: "/")) ?? directory.count
            let name = UnsafeRawBufferPointer(rebasing: directory[start..<slash])
            if let found = try entries.find(name, in: parent) {
                parent = found.id
            } else if let made = try entries.insert(name, in: parent, winner: nil, own: nil) {
                parent = made
            } else {
                throw MalformedRow("a directory is there and is not")
            }
            levels.append((slash, parent))
            start = slash + 1
        }
        path.removeAll(keepingCapacity: true)
        path.append(contentsOf: directory)
        return parent
    }

    /// Drops the levels that are not on the way to `directory`.
    private mutating func keepCommonLevels(with directory: UnsafeRawBufferPointer) {
        var common = 0
        path.withUnsafeBytes { old in
            var start = 0
            for level in levels {
                let end = level.end
                guard end <= directory.count, end == directory.count || directory[end] == UInt8(ascii: "/"),
                    let left = old.baseAddress, let right = directory.baseAddress,
                    memcmp(left + start, right + start, end - start) == 0
                else { return }
                common += 1
                start = end
            }
        }
        levels.removeLast(levels.count - common)
    }
}
