/// What came of one call that changed a folder's index.
package struct ApplyResult: Equatable, Sendable {
    /// At most so many names are listed in `changed`.
    package static let changedLimit = 1000

    /// Entries taken.
    package var applied = 0
    /// Names whose global version is another now, a name twice if it changed twice.
    package var changedCount = 0
    /// The first of these names.
    package var changed: [String] = []
    /// The announcing device's highest sequence; zero for changes of this device.
    package var remoteSequence: Int64 = 0
    /// This device's highest sequence in the folder; there is something to announce if it grew.
    package var localSequence: Int64 = 0

    package init() {}
}
