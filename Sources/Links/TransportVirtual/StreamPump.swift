import NIOCore

/// Carries a connection's bytes between the sockets of two devices, at the pace of the radio. Lives on one event loop.
final class StreamPump {
    /// Read from a device in one go, when the link has room for so much.
    static let readByteCount = 4 * 1024
    /// Bytes on their way to a device's socket; more stay in the connection, which then slows the sender down.
    private static let unwrittenLimit = 8 * 1024

    /// Moments that may pass in one go, and the least time until the next go.
    private static let stepLimit = 64
    private static let leastPause = TimeAmount.microseconds(500)

    private struct End {
        var client: AirClient?
        /// Whether bytes were asked of the device and have not come.
        var isReading = false
        var unwrittenByteCount = 0
    }

    let names: [String]
    private(set) var connection: VirtualConnection
    private var ends: [End]
    private let clock: AirClock
    /// How far this connection's time is behind the air's: time stands still for it where the machine is too slow.
    private var delay = Duration.zero
    private let eventLoop: any EventLoop
    private let onEnd: (StreamPump) -> Void
    private var timer: (time: Duration, task: Scheduled<Void>)?
    private var isRunning = false
    private var hasEnded = false

    /// - Parameters:
    ///   - central: the device that dialled.
    ///   - onEnd: called once, when neither device has the connection any more.
    init(
        _ connection: VirtualConnection, central: AirClient, peripheral: AirClient, names: [String], clock: AirClock,
        eventLoop: any EventLoop, onEnd: @escaping (StreamPump) -> Void
    ) {
        self.connection = connection
        self.names = names
        self.clock = clock
        self.eventLoop = eventLoop
        self.onEnd = onEnd
        ends = [End(client: central), End(client: peripheral)]
    }

    func received(_ bytes: ByteBuffer, from side: VirtualLink.Side) {
        ends[side.rawValue].isReading = false
        connection.write(bytes, from: side, at: advance())
        run()
    }

    /// The device has closed its end.
    func closed(_ side: VirtualLink.Side) {
        guard ends[side.rawValue].client != nil else { return }
        ends[side.rawValue].client = nil
        connection.finish(side, at: advance())
        run()
    }

    func change(_ conditions: RadioConditions) {
        connection.change(conditions, at: advance())
        run()
    }

    func setInRange(_ isInRange: Bool) {
        connection.setInRange(isInRange, at: advance())
        run()
    }

    func cut() {
        _ = advance()
        connection.cut()
        run()
    }

    func closeAll() { for end in ends { end.client?.close() } }

    /// Moves what can be moved now, and comes back when there is more to do.
    func run() {
        // Reads and writes below may call back at once.
        guard !isRunning, !hasEnded else { return }
        isRunning = true
        defer { isRunning = false }
        let now = advance()
        for side in VirtualLink.Side.allCases { deliver(to: side, now) }
        if ends.allSatisfy({ $0.client == nil }) { return end() }
        for side in VirtualLink.Side.allCases { read(from: side) }
        schedule()
    }

    /// Lets what is due happen, though not so much that the sockets have to wait for long, and gives the time that it is.
    private func advance() -> Duration {
        let now = clock.now - delay
        let reached = connection.advance(to: now, limit: Self.stepLimit)
        delay += now - reached
        return reached
    }

    private func deliver(to side: VirtualLink.Side, _ now: Duration) {
        while connection.availableByteCount(at: side) > 0 {
            guard let client = ends[side.rawValue].client else {
                // Nobody is there to read it.
                _ = connection.take(atMost: .max, at: side, now: now)
                break
            }
            guard ends[side.rawValue].unwrittenByteCount < Self.unwrittenLimit else { break }
            let bytes = connection.take(atMost: Self.unwrittenLimit, at: side, now: now)
            let byteCount = bytes.readableBytes
            ends[side.rawValue].unwrittenByteCount += byteCount
            client.write(bytes).assumeIsolated().whenComplete { _ in
                self.ends[side.rawValue].unwrittenByteCount -= byteCount
                self.run()
            }
        }
        let isEverythingThere =
            connection.availableByteCount(at: side) == 0 && ends[side.rawValue].unwrittenByteCount == 0
        if connection.isOver(at: side), isEverythingThere { ends[side.rawValue].client?.close() }
    }

    private func read(from side: VirtualLink.Side) {
        guard let client = ends[side.rawValue].client, !ends[side.rawValue].isReading,
            connection.room(at: side) >= Self.readByteCount
        else { return }
        ends[side.rawValue].isReading = true
        client.read()
    }

    private func schedule() {
        guard let deadline = connection.nextDeadline else { return }
        if let timer {
            guard deadline < timer.time else { return }
            timer.task.cancel()
        }
        // Never at once: a loop whose tasks are always due looks at no socket.
        let time = max(clock.deadline(of: deadline + delay), NIODeadline.now() + Self.leastPause)
        let task = eventLoop.assumeIsolated().scheduleTask(deadline: time) {
            self.timer = nil
            self.run()
        }
        timer = (deadline, task)
    }

    private func end() {
        hasEnded = true
        timer?.task.cancel()
        timer = nil
        onEnd(self)
    }
}
