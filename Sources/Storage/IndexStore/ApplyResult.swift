/// What came of one call that changed a folder's index.
public struct ApplyResult: Equatable, Sendable {
    /// At most so many names are listed in `changed`.
    public static let changedLimit = 1000

    /// Entries taken.
    public var applied = 0
    /// Names whose global version is another now, a name twice if it changed twice.
    public var changedCount = 0
    /// The first of these names.
    public var changed: [String] = []
    /// The announcing device's highest sequence; zero for changes of this device.
    public var remoteSequence: Int64 = 0
    /// This device's highest sequence in the folder; there is something to announce if it grew.
    public var localSequence: Int64 = 0

    public init() {}
}
