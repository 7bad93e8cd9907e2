import BlockExchange
import FileAccess

/// Decides whether what is new has room on a disk that folds names: of those that differ in case alone, such a disk holds one.
struct Newcomers {
    enum Verdict: Equatable {
        case room
        /// The directory that is there gets the new name.
        case renaming(RelativePath)
        /// What is there is to go first; a later plan brings what is new.
        case later
        /// Another name has the place, and a person has to choose.
        case taken(by: String)
    }

    /// What the disk holds in the place under another spelling.
    struct Twin: Equatable {
        var path: RelativePath
        /// What is known to be there, if it was deleted on other devices; nil if it stays.
        var leaving: FileInfo.Kind?
    }

    /// How something new gets to its place.
    enum Arrival: Equatable {
        case downloaded
        case renamed(from: String)
        case directory
    }

    /// What was found to have room, by what all names have in common that are one to its disk.
    private var names: [String: String] = [:]

    /// - Parameters:
    ///   - twin: nil if the disk holds nothing in the place.
    ///   - disk: where the place is, which takes several names for one.
    mutating func judge(_ path: RelativePath, _ arrival: Arrival, over twin: Twin?, on disk: DiskTraits) -> Verdict {
        guard let twin else {
            let key = disk.key(path.text)
            let first = names[key] ?? path.text
            names[key] = first
            return first.utf8.elementsEqual(path.text.utf8) || !disk.areOne(first, path.text)
                ? .room : .taken(by: first)
        }
        guard let leaving = twin.leaving, !twin.path.isInternal, twin.path.internalTwin == nil else {
            return .taken(by: twin.path.text)
        }
        switch arrival {
        case .renamed(let source) where source == twin.path.text: return .room
        case .directory where leaving == .directory && twin.path.parent == path.parent: return .renaming(twin.path)
        default: return .later
        }
    }
}
