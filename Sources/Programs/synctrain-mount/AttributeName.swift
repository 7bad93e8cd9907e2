/// The extended attributes of what is in a mount.
enum AttributeName {
    /// Of those that a file system without others may have; see xattr(7).
    static let userPrefix = "user."
    static let prefix = "user.synctrain."
    /// Those that the mount itself tells of its root.
    static let access = "access"
    static let budget = "budget"
    /// By which the process that calls for programs which watch knows the mount; nobody else is told.
    static let watchers = "watchers"
    private static let all: Set = ["state", "here", "holders", "version", "error", "pin", access, budget]

    /// The name without its prefix; nil for one that nothing has.
    static func known(_ name: String) -> String? {
        guard name.hasPrefix(prefix) else { return nil }
        let name = String(name.dropFirst(prefix.count))
        return all.contains(name) ? name : nil
    }
}
