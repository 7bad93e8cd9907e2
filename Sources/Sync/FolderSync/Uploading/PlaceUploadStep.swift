import ControlAPI
import FileAccess
import Reconciliation
import Selection

/// Puts an uploaded file into its place: selects it if it is not, and has it announced. Never in the place of anything.
package struct PlaceUploadStep: FolderStep {
    let upload: StagedUpload
    let modified: FileTime?

    /// - Parameter modified: in milliseconds since 1970; nil for now.
    package init(_ upload: StagedUpload, modified: Int64?) {
        self.upload = upload
        self.modified = modified.map { time in
            let (seconds, rest) = time.quotientAndRemainder(dividingBy: 1000)
            return rest < 0
                ? FileTime(seconds: seconds - 1, nanoseconds: Int32(rest + 1000) * 1_000_000)
                : FileTime(seconds: seconds, nanoseconds: Int32(rest) * 1_000_000)
        }
    }

    /// Gives the lines that were added to `.stignore`.
    ///
    /// - Throws: `FolderError` for a name that is taken by now; `IgnoreError` where a line excludes it that commands do not edit;
    ///   `FileAccessError`; `IndexStoreError`; `CancellationError`. What has arrived stays then.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> [String] {
        let path = upload.path
        guard try await !folder.isTaken(path) else { throw FolderError.nameTaken(path.text) }
        var (folder, added): (FolderContext, [String]) = (folder, [])
        if folder.selection.isLeftOut(path.text) {
            // First: killed after this, a name is selected that there is not; a file that is not selected would be nobody's.
            let wasAll = work.effects.scansEverything
            let change = try await SelectionChangeStep(paths: [path.text], isSelecting: true, isDryRun: false) {
                try $0.selecting([path.text])
            }.run(folder, &work)
            // Nothing else is selected by these lines.
            work.effects.scansEverything = wasAll
            (folder, added) = (change.folder, change.outcome.added)
        }
        let placement = StagedPlacement(
            position: 0, content: .local, path: path, root: upload.root, replacement: .nothing,
            commit: StagedCommit(upload.file, replacing: .nothing, permissions: nil, modified: modified),
            fate: .discarded)
        let outcome = try await FilePlacer(units: [[placement]]).run(folder, &work).first?.1
        switch outcome {
        case .done: return added
        case .failed(let error): throw error
        default: throw FileAccessError(.changedOnDisk, .rename, path: path.text)
        }
    }
}
