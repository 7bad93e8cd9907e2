import MountRules

/// What mounts and unmounts on this machine.
package struct MountTools: Sendable {
    /// Waits until the mount's process has ended, and says whether it failed.
    package typealias End = @Sendable () async -> Bool

    /// The file systems of synctrain that there are.
    package var mounted: @Sendable () -> [MountedFolder]
    /// A directory with its links resolved, as the list has it.
    package var resolved: @Sendable (_ directory: String) -> String
    /// Mounts, and returns when programs can use the directory; `folders` are the directories of all folders. Nil where somebody
    /// else looks after the process. Throws `ControlError`.
    package var start: @Sendable (_ mount: WantedMount, _ folders: [String]) async throws -> End?
    /// Whether somebody else starts a mount again whose process was killed, as systemd does.
    package var isSupervised: Bool
    /// Unmounts. `process` is the mount's, 0 if it is not known. Throws `ControlError`, `busy` with the programs that use it.
    package var end: @Sendable (_ directory: String, _ process: Int32, _ isLazy: Bool) async throws -> Void

    package init(
        mounted: @escaping @Sendable () -> [MountedFolder], resolved: @escaping @Sendable (String) -> String,
        start: @escaping @Sendable (_ mount: WantedMount, _ folders: [String]) async throws -> End?,
        isSupervised: Bool = false,
        end: @escaping @Sendable (_ directory: String, _ process: Int32, _ isLazy: Bool) async throws -> Void
    ) {
        (self.mounted, self.resolved, self.start, self.end) = (mounted, resolved, start, end)
        self.isSupervised = isSupervised
    }
}
