/// What of a folder may go over Bluetooth; each but the first allows less than the one before.
package enum BluetoothUse: String, Sendable, CaseIterable, Comparable {
    /// The index, and every file up to the limit that this device keeps.
    case all
    /// The index, the files that were selected, and what a person asks for; not what a folder keeps because it keeps all.
    case selectedAndOnDemand = "selected-and-on-demand"
    /// Names and sizes, no bytes of files.
    case indexOnly = "index-only"
    /// Nothing: over Bluetooth the folder is not spoken of.
    case off

    /// Whether `left` allows less than `right`.
    package static func < (left: BluetoothUse, right: BluetoothUse) -> Bool { left.strictness > right.strictness }

    private var strictness: Int {
        switch self {
        case .all: 0
        case .selectedAndOnDemand: 1
        case .indexOnly: 2
        case .off: 3
        }
    }
}
