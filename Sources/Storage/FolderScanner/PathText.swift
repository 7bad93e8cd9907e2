import Glibc

/// Paths as the walk puts them together and takes them apart: by bytes, as the disk and the index order them.
extension String {
    /// This directory's path and then `name`; `""` is the root.
    func appendingComponent(_ name: String) -> String { isEmpty ? name : "\(self)/\(name)" }

    var componentCount: Int { utf8.reduce(1) { $1 == UInt8(ascii: "/") ? $0 + 1 : $0 } }

    /// The bytes after the last `/`, as text.
    var lastComponent: Substring {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self[...] }
        return self[utf8.index(after: slash)...]
    }

}

extension Substring {
    /// Below zero if these bytes come before those of `other`, zero if they are the same. Strings compare by Unicode's
    /// equivalence, which takes different names for one.
    func order(to other: Substring) -> Int {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { UnsafeRawBufferPointer(left).order(to: UnsafeRawBufferPointer($0)) }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Below zero if these bytes come before those of `other`, zero if they are the same.
    func order(to other: UnsafeRawBufferPointer) -> Int {
        guard let first = baseAddress, let second = other.baseAddress else { return count - other.count }
        let order = Int(memcmp(first, second, Swift.min(count, other.count)))
        return order != 0 ? order : count - other.count
    }
}
