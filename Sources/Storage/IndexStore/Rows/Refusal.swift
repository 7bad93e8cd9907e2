/// What an announcement counts in the choice of the global version.
enum Refusal: Equatable {
    /// It is a candidate.
    case none
    /// It is no candidate, and that makes no difference to anybody: another version has seen it, or it says nothing.
    case superseded
    /// It is no candidate, and the device that made it has something else than the folder.
    case open
}

/// What a device may do in a folder, as far as the index has to know.
enum AnnouncerRole: Int64 {
    case writer = 0
    /// Only versions that others announce, or announced, count from it.
    case reader = 1
    /// It was a reader: what was refused of it is about to be let in.
    case released = 2
}
