import Arithmetic
import ControlAPI
import IndexStore
import SyncDecisions

/// What transfers, links and the disk add to how a name stands by the index. Pure.
struct EntryStanding: Equatable, Sendable {
    /// Why the folder does nothing, if so.
    enum Rest: Equatable, Sendable { case paused, halted }

    /// By the index: of a directory all below it, of a file itself.
    var state: LocalState
    var selectedBytes: Int64
    /// Of what is whole here and verified.
    var presentBytes: Int64
    /// Files on their way into their places at or below the name, and the bytes of them that are on this disk, verified.
    var downloads = 0
    var storedBytes: Int64 = 0
    /// What may be written above the folder's floor; nil if the disk does not say.
    var free: UInt64?
    /// Whether a connected device has what is missing; nil if that is not known.
    var isAvailable: Bool?
    /// Why it may not come over the links there are.
    var obstacle: Phrase?
    var rest: Rest?

    /// Bytes here, verified, of what is selected.
    var bytesHere: Int64 { min(selectedBytes, presentBytes.addingClamped(storedBytes)) }

    var entryState: Entry.State {
        switch state {
        case .present: .present
        case .absent: .absent
        case .queued, .partial:
            if state == .queued, storedBytes == 0 { .queued } else { downloads > 0 ? .downloading : .partial }
        }
    }

    /// How many bytes are missing on the disk for it.
    var short: Int64? {
        guard isMissing, let free else { return nil }
        return SpaceRule.short(missing: selectedBytes.subtractingClamped(bytesHere), free: free)
    }

    private var isMissing: Bool { state == .queued || state == .partial }

    /// Why it does not come, the most important first, in a word and a sentence.
    var waiting: (cause: Entry.Cause, message: Phrase)? {
        guard isMissing else { return nil }
        switch rest {
        case .paused: return (.paused, Phrase("the folder is paused"))
        case .halted: return (.halted, Phrase("the folder is halted; `synctrain status` shows why"))
        case nil: break
        }
        if let short { return (.space, Phrase("does not fit: \(ByteText.size(short)) short")) }
        if let obstacle { return (.policy, obstacle) }
        if isAvailable == false { return (.device, Phrase("no device that has it is connected")) }
        return nil
    }
}
