import FileAccess
import Selection

/// Selects the conflict copies that were made here of files selected one by one, for as long as there is space: what lost a conflict
/// must reach the devices that keep everything, and not depend on this disk alone.
struct SelectCopiesStep: FolderStep {
    /// - Throws: what the ignore file's disk and the index say. A copy that a line of the user's own excludes stays as it is.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        var folder = folder
        for copy in work.memory.takeUnselectedCopies() {
            let root = folder.root
            guard try await folder.onDisk({ try root.status(of: copy) }) != nil else { continue }
            do {
                folder = try await folder.selectingWhileSpace(copy.text, &work)
            } catch let error as IgnoreError {
                folder.logger.info("the conflict copy \(copy) stays on this device only: \(error)")
            }
        }
    }
}
