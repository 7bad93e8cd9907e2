import Transport

/// How Bluetooth is used.
package struct BluetoothConfiguration: Equatable, Sendable {
    /// The adapter, as `hci0`; nil: the first one that is switched on.
    package var adapter: String?
    /// Whether others may connect by an L2CAP channel; if not, they use GATT.
    package var offersL2CAP = true
    /// Whether this side tries L2CAP channels when it connects.
    package var usesL2CAP = true
    /// Whether values go by bluetoothd's sockets where it has them; if not, by calls, as with an old one.
    package var usesValueSockets = true
    /// How much of the time the radio scans while somebody waits for a device.
    package var scanning = DutyCycle.pairing
    /// How many links there may be at the same time, those being set up included.
    package var linkLimit = 16
    /// How long an accepted channel may take to say its first byte.
    package var firstByteLimit = Duration.seconds(10)

    package init(adapter: String? = nil) { self.adapter = adapter }
}
