import ControlAPI
import IndexStore

/// The events of a scrub, each with the fields that it has.
extension ScrubEvent {
    static func plan(_ folder: String, files: Int64, bytes: Int64, done: ScrubTally) -> ScrubEvent {
        var event = ScrubEvent("plan", folder)
        (event.files, event.bytes) = (files, bytes)
        event.filesDone = done.files == 0 ? nil : done.files
        return event
    }

    static func progress(
        _ folder: String, path: String, files: Int64, bytes: Int64, of total: Int64, bytesPerSecond: Int64
    ) -> ScrubEvent {
        var event = ScrubEvent("progress", folder, path: path)
        (event.files, event.bytes, event.bytesTotal) = (files, bytes, total)
        event.bytesPerSecond = bytesPerSecond
        return event
    }

    static func damaged(_ folder: String, _ file: DamagedFile, holders: [Holder]) -> ScrubEvent {
        var event = ScrubEvent("damaged", folder, path: file.name)
        (event.wrongBlocks, event.blocks, event.holders) = (file.wrongBlocks, file.blocks, holders)
        return event
    }

    /// - Parameter bytes: what other devices sent.
    static func repaired(_ folder: String, path: String, bytes: Int64) -> ScrubEvent {
        var event = ScrubEvent("repaired", folder, path: path)
        event.bytes = bytes
        return event
    }

    static func failed(_ folder: String, path: String, error: ControlError) -> ScrubEvent {
        var event = ScrubEvent("failed", folder, path: path)
        event.error = error
        return event
    }

    static func done(
        _ folder: String, files: Int64, bytes: Int64, damaged: Int64, repaired: Int64, changed: Int64, seconds: Double
    ) -> ScrubEvent {
        var event = ScrubEvent("done", folder)
        (event.files, event.bytes, event.damaged) = (files, bytes, damaged)
        (event.repaired, event.changed, event.seconds) = (repaired, changed, seconds)
        return event
    }
}
