/// What becomes of two versions neither of which was made of the other, on the device whose version loses.
///
/// The winner is the same for all devices, whatever their policies are. Only who has the loser decides more, and what it
/// decides is a version that has seen both: so others take it as they take any change.
package enum ConflictPolicy: String, Hashable, Sendable, CaseIterable {
    /// The winner takes the place, and the loser becomes a conflict copy. Of a deletion and an edit, the edit stays.
    case newest
    /// What this device has takes the place on all devices.
    case mine
    /// What the other device has takes the place, and what was here goes, to the archive if there is one.
    case theirs
    /// As `newest`, but the copy gets an ordinary name. Of a deletion and an edit, the edit stays.
    case both
    /// As `newest`, and then a program is asked.
    case command
}
