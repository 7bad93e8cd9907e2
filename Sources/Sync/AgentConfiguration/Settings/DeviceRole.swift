/// What a device may do in a folder that is shared with it, as far as this device is concerned.
package enum DeviceRole: String, Sendable, CaseIterable {
    /// It gets everything; its changes are refused here.
    case read
    /// It may change what it likes: Syncthing's behaviour.
    case write
    /// As `write`, and this device follows its offers of further devices and folders.
    case admin
}
