import BlockExchange
import IndexStore
import Logging

/// What people are told later: what happened, and until when nothing was missing. That it cannot be kept stops nothing.
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
}
