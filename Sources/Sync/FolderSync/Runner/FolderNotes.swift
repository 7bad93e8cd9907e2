import BlockExchange
import IndexStore
import Logging

/// What is needed later: what happened, until when nothing was missing, and what a halt holds back. That it cannot be kept stops
/// nothing.
struct FolderNotes {
    let store: IndexStore
    let folder: FolderID
    let logger: Logger

    /// For `synctrain log`.
    func record(_ changes: [RecordedChange]) async {
        do {
            try await store.record(changes, in: folder)
        } catch {
            logger.warning("changes cannot be recorded for `synctrain log`: \(error)")
        }
    }

    /// For `synctrain ready`, beyond the end of this process.
    func keep(_ completeness: Completeness) async {
        do {
            try await store.note(completeness, of: folder)
        } catch {
            logger.debug("the time at which something came to be missing cannot be kept: \(error)")
        }
    }

    /// For the next process: how many names a halt over deletions holds back, nil without a halt.
    func keep(heldDeletions: Int64?) async {
        do {
            try await store.note(heldDeletions: heldDeletions, of: folder)
        } catch {
            logger.warning("the index cannot keep whether deletions are held back: \(error)")
        }
    }
}
