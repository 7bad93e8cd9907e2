/// What went over the links of a cluster.
package struct Traffic: Sendable, Equatable {
    package private(set) var messageCount = 0
    /// Of frames as the agent makes them, compressed; without those of TLS and TCP.
    package private(set) var byteCount = 0
    /// Index entries in the messages.
    package internal(set) var entryCount = 0
    private var bytesByDevice: [Int]

    init(deviceCount: Int) { bytesByDevice = Array(repeating: 0, count: deviceCount) }

    mutating func count(_ byteCount: Int, by device: Int) {
        messageCount += 1
        self.byteCount += byteCount
        bytesByDevice[device] += byteCount
    }

    /// What the device that sent most has sent.
    package var mostBytesOfOneDevice: Int { bytesByDevice.max() ?? 0 }
}
