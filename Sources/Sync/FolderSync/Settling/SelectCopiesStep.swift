import FileAccess
import Selection

/// Selects the conflict copies that were made here of files selected one by one, for as long as there is space: what lost a conflict
/// must reach the devices that keep everything, and not depend on this disk alone.
struct SelectCopiesStep: FolderStep {
    /// A copy that a line of the user's own excludes stays as it is. What cannot be written now is tried with the next scan.
    ///
    /// - Throws: `CancellationError`.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        var folder = folder
        let copies = work.memory.takeUnselectedCopies()
        for copy in copies {
            let root = folder.root
            do {
                guard try await folder.onDisk({ try root.status(of: copy) }) != nil else { continue }
                folder = try await folder.selectingWhileSpace(copy.text, &work)
            } catch let error as IgnoreError {
                folder.logger.info("the conflict copy \(copy) stays on this device only: \(error)")
            } catch let error as CancellationError {
                for copy in copies { work.memory.noteUnselectedCopy(copy) }
                throw error
            } catch {
                work.memory.noteUnselectedCopy(copy)
                folder.logger.warning("the conflict copy \(copy) cannot be selected yet: \(error)")
            }
        }
    }
}
