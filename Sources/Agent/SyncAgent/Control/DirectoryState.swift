import ControlAPI
import IndexStore

/// How a directory stands on this device, by what of it is selected and what of that is here. Pure.
enum DirectoryState {
    /// - Parameters:
    ///   - selected: what below the directory is selected, itself not counted.
    ///   - present: what of that is here in the newest version.
    ///   - isSelected: whether the directory itself is.
    ///   - isOnDisk: whether it is there at all.
    static func state(
        selected: Aggregate, present: Aggregate, isSelected: Bool, isOnDisk: Bool
    ) -> Entry.State {
        guard selected.count != 0 else {
            if isSelected { return isOnDisk ? .present : .queued }
            return isOnDisk ? .extraneous : .absent
        }
        if present.count == selected.count { return .present }
        // Directories are made before what is in them comes.
        return present.files &+ present.symlinks == 0 ? .queued : .partial
    }
}
