import BlockExchange

/// Which unknown devices the log names: each once an hour, and so many in an hour at most. Who connects again and again does not fill
/// the disk with it. Pure.
package struct StrangerLog {
    static let pause: MonotonicTime = .seconds(3600)
    static let limit = 100

    /// When each was named last, within the pause.
    private var named: [DeviceID: MonotonicTime] = [:]

    package init() {}

    /// Whether the log is to name a device that has connected; notes that it does.
    package mutating func names(_ device: DeviceID, at now: MonotonicTime) -> Bool {
        named = named.filter { now - $0.value < Self.pause }
        guard named[device] == nil, named.count < Self.limit else { return false }
        named[device] = now
        return true
    }
}
