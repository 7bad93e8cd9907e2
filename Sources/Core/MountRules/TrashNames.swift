/// The directories that file managers make at the top of a file system for what is put into the trash, as the Trash specification of
/// freedesktop.org has them. Pure.
package enum TrashNames {
    private static let shared = ".Trash"
    private static let own = ".Trash-"

    /// - Parameter path: relative to the folder's root.
    package static func isTrash(_ path: String) -> Bool {
        guard path.utf8.starts(with: own.utf8) else { return path.utf8.elementsEqual(shared.utf8) }
        let user = path.utf8.dropFirst(own.utf8.count)
        return !user.isEmpty && user.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
