import BlockExchange

/// Whose blocks on this disk may become content of a folder without being asked for: pure.
///
/// A device that may write needs only the hashes of a file to announce it. Blocks that this device then took from a folder that
/// is not shared with it would give it their content.
package enum BlockOrigins {
    /// A folder, and the devices that may have its content.
    package struct Sharing: Equatable, Sendable {
        package var folder: FolderID
        package var devices: Set<DeviceID>

        package init(folder: FolderID, devices: Set<DeviceID>) {
            self.folder = folder
            self.devices = devices
        }
    }

    /// Those of `folders`, besides `target` itself, whose blocks may be used for `target`: every device that gets them there may
    /// have them already. None where `target` is not shared: what is missing there was announced by devices that it was shared
    /// with before, and may be again.
    package static func others(for target: Sharing, among folders: [Sharing]) -> Set<FolderID> {
        guard !target.devices.isEmpty else { return [] }
        return Set(
            folders.filter { $0.folder != target.folder && target.devices.isSubset(of: $0.devices) }.map(\.folder))
    }
}
