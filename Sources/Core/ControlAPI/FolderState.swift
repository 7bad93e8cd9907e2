/// What a folder does, in a word. An open set: a client takes a word that it does not know for one of work.
package struct FolderState: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    private init(_ word: String) { rawValue = word }

    // MARK: at rest

    package static let idle = FolderState("idle")
    package static let paused = FolderState("paused")
    /// No agent looks after it; only said where none runs.
    package static let stopped = FolderState("stopped")

    // MARK: at work

    package static let starting = FolderState("starting")
    package static let receivingIndex = FolderState("receiving-index")
    package static let scanning = FolderState("scanning")
    /// What is needed is being fetched, put in its place or deleted.
    package static let syncing = FolderState("syncing")
    /// Somebody asked for files by `fetch`; the folder itself is idle.
    package static let fetching = FolderState("fetching")

    // MARK: failed: `message` says what to do

    /// The marker `.stfolder` is not at the root: the disk may not be mounted.
    package static let haltedMarkerMissing = FolderState("halted-marker-missing")
    package static let haltedRootMissing = FolderState("halted-root-missing")
    /// The root is there with its marker and nothing else, and was not empty before.
    package static let haltedRootEmptied = FolderState("halted-root-emptied")
    /// More than half of the folder's files, and more than a hundred, are gone at once.
    package static let haltedMassDelete = FolderState("halted-mass-delete")
    /// `.stignore` or a file that it includes cannot be read: nothing is synced until it can.
    package static let selectionError = FolderState("selection-error")
    /// Less space is free than `minimum-free` asks for, and something is needed.
    package static let lowSpace = FolderState("low-space")
    package static let error = FolderState("error")

    /// The folder has stopped itself and goes on only when told to.
    package var isHalted: Bool { rawValue.hasPrefix("halted-") }

    /// Nothing goes on until something is done or changes.
    package var isFailure: Bool {
        isHalted || [.error, .selectionError, .lowSpace].contains(self)
    }

    /// Neither at work nor failed: nothing happens until something changes.
    package var isAtRest: Bool { [.idle, .paused, .stopped, .fetching].contains(self) }
}
