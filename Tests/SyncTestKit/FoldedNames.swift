import Glibc

/// How names are found on a disk that takes several spellings for one name and keeps the one that came first, as ext4 with `+F` does.
package struct FoldedNames: Equatable, Sendable {
    /// Whether `a` and `A` are one name.
    package var foldsCase: Bool
    /// Whether composed and decomposed letters are one name.
    package var normalizes: Bool

    package init(foldsCase: Bool = true, normalizes: Bool = true) {
        self.foldsCase = foldsCase
        self.normalizes = normalizes
    }

    package func areOne(_ left: String, _ right: String) -> Bool {
        let (left, right) = foldsCase ? (left.lowercased(), right.lowercased()) : (left, right)
        // Swift compares by canonical equivalence.
        return normalizes ? left == right : left.utf8.elementsEqual(right.utf8)
    }

    /// Whether the paths name one file, or would.
    package func areOne(path left: String, _ right: String) -> Bool {
        let (left, right) = (left.split(separator: "/"), right.split(separator: "/"))
        return left.count == right.count && zip(left, right).allSatisfy { areOne(String($0), String($1)) }
    }

    /// `path` with each name as the disk lists it, as far as it leads to something; the rest as it is.
    package func spelling(of path: String, in directory: String) -> String {
        var here = directory
        var names: [String] = []
        for component in path.split(separator: "/", omittingEmptySubsequences: false) {
            let name = String(component)
            let found = listed(name, in: here)
            names.append(found)
            here += "/" + found
        }
        return names.joined(separator: "/")
    }

    private func listed(_ name: String, in directory: String) -> String {
        var status = stat()
        if name.isEmpty || name == "." || name == ".." || lstat("\(directory)/\(name)", &status) == 0 { return name }
        guard let stream = opendir(directory) else { return name }
        defer { closedir(stream) }
        while let record = readdir(stream) {
            let entry = withUnsafePointer(to: &record.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if areOne(entry, name) { return entry }
        }
        return name
    }
}
