/// How Bluetooth is used.
public struct BluetoothConfiguration: Equatable, Sendable {
    /// The adapter, as `hci0`; nil: the first one that is switched on.
    public var adapter: String?
    /// Whether others may connect by an L2CAP channel; if not, they use GATT.
    public var offersL2CAP = true
    /// Whether this side tries L2CAP channels when it connects.
    public var usesL2CAP = true
    /// Whether values go by bluetoothd's sockets where it has them; if not, by calls, as with an old one.
    public var usesValueSockets = true
    /// How the radio is shared out while a device is looked for.
    public var scanning = DutyCycle.pairing
    /// How many links there may be at the same time, those being set up included.
    public var linkLimit = 16
    /// How long an accepted channel may take to say its first byte.
    public var firstByteLimit = Duration.seconds(10)

    public init(adapter: String? = nil) { self.adapter = adapter }
}

/// Scanning for `window` at the beginning of every `interval`.
public struct DutyCycle: Equatable, Sendable {
    public var window: Duration
    public var interval: Duration

    /// - Parameters:
    ///   - window: made to be at least a second, as a device advertises about once in that time.
    ///   - interval: made to be at least the window; the same means scanning without a pause.
    public init(window: Duration, interval: Duration) {
        self.window = max(window, .seconds(1))
        self.interval = max(interval, self.window)
    }

    /// While somebody waits for the result: nearly always.
    public static let pairing = DutyCycle(window: .seconds(10), interval: .seconds(11))
    /// For a device that may or may not be near: 5 s of every minute.
    public static let background = DutyCycle(window: .seconds(5), interval: .seconds(60))

    /// One stretch of scanning or of rest.
    struct Stretch: Equatable {
        var isScanning: Bool
        var length: Duration
    }

    /// What there is to do from `elapsed` on, and for how long at most until `limit`; nil when the limit has come.
    func stretch(at elapsed: Duration, until limit: Duration) -> Stretch? {
        guard elapsed < limit else { return nil }
        let position = elapsed.remainder(of: interval)
        let isScanning = position < window
        let end = isScanning ? window - position : interval - position
        return Stretch(isScanning: isScanning, length: min(end, limit - elapsed))
    }
}

extension Duration {
    /// What is left of this after whole multiples of `interval`, which is not zero.
    fileprivate func remainder(of interval: Duration) -> Duration {
        self - interval * Int((self / interval).rounded(.down))
    }
}
