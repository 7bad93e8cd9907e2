import NIOCore

/// A byte stream between two devices over one `VirtualLink`: what is written at one side can be taken at the other when
/// the link has carried it. Knows no clock and no socket.
package struct VirtualConnection: Sendable {
    /// How the stream is made of the link's frames.
    package enum Mode: String, Sendable, CaseIterable {
        case l2cap
        case gatt
        /// No stream, but single GATT values, as GhostDrop's first version wants them: see `ValueEnd`.
        case values
    }

    /// Frames that a host hands to its controller ahead.
    private static let controllerByteLimit = 1500

    package let mode: Mode
    package private(set) var link: VirtualLink
    private var ends: [any StreamEnd]
    private var takenByteCounts = [0, 0]
    /// Never goes back: an end may name a deadline that has passed.
    private var time: Duration

    package init(_ mode: Mode, _ conditions: RadioConditions, seed: UInt64, start: Duration) {
        self.mode = mode
        time = start
        link = VirtualLink(conditions, seed: seed, start: start)
        switch mode {
        case .l2cap: ends = [CreditChannel(conditions), CreditChannel(conditions)]
        case .gatt:
            var chance = RadioChance(seed: ~seed)
            ends = VirtualLink.Side.allCases.map {
                AttributeStream($0, conditions, token: UInt32(truncatingIfNeeded: chance.next()))
            }
        case .values: ends = VirtualLink.Side.allCases.map { ValueEnd($0, conditions) }
        }
    }

    /// What went over the radio from `side`.
    package func statistics(from side: VirtualLink.Side) -> DirectionStatistics {
        var statistics = link.statistics(of: side)
        statistics.streamBytes = takenByteCounts[side.other.rawValue]
        return statistics
    }

    /// How many bytes `side` should write at most at the moment.
    package func room(at side: VirtualLink.Side) -> Int { link.end == nil ? ends[side.rawValue].room : 0 }

    package mutating func write(_ bytes: ByteBuffer, from side: VirtualLink.Side, at now: Duration) {
        guard bytes.readableBytes > 0 else { return }
        ends[side.rawValue].write(bytes, at: now)
        fill(side, at: now)
    }

    /// `side` will write nothing more: the other side's stream ends behind what was written.
    package mutating func finish(_ side: VirtualLink.Side, at now: Duration) {
        ends[side.rawValue].finish(at: now)
        fill(side, at: now)
    }

    package func availableByteCount(at side: VirtualLink.Side) -> Int { ends[side.rawValue].availableByteCount }

    /// What has arrived at `side`; empty if nothing has.
    package mutating func take(
        atMost byteCount: Int, at side: VirtualLink.Side, now: Duration
    ) -> ByteBuffer {
        let bytes = ends[side.rawValue].take(atMost: byteCount, at: now)
        takenByteCounts[side.rawValue] += bytes.readableBytes
        // Room may have to be told to the other side.
        if bytes.readableBytes > 0 { fill(side, at: now) }
        return bytes
    }

    /// Whether nothing more can arrive at `side`, beyond what can be taken already.
    package func isOver(at side: VirtualLink.Side) -> Bool {
        link.end != nil || ends[side.rawValue].state != .open
    }

    package var nextDeadline: Duration? {
        guard link.end == nil else { return nil }
        // An end that waits for the controller is asked again when the link has moved on.
        let waiting = VirtualLink.Side.allCases.filter { link.waitingByteCount(at: $0) < Self.controllerByteLimit }
        return ([link.nextDeadline] + waiting.map { ends[$0.rawValue].nextDeadline }).compactMap { $0 }.min()
    }

    /// Lets time pass; everything that is due until `now` happens at its time.
    ///
    /// - Parameter limit: how many moments at which something happens may pass.
    /// - Returns: `now`, or the moment that was reached within the limit.
    @discardableResult
    package mutating func advance(to now: Duration, limit: Int = .max) -> Duration {
        var steps = 0
        while let deadline = nextDeadline, deadline <= now {
            guard steps < limit else { return time }
            steps += 1
            step(to: max(time, deadline))
        }
        time = max(time, now)
        return now
    }

    package mutating func change(_ conditions: RadioConditions, at now: Duration) {
        advance(to: now)
        link.change(conditions, at: now)
    }

    package mutating func setInRange(_ isInRange: Bool, at now: Duration) {
        advance(to: now)
        link.setInRange(isInRange, at: now)
    }

    /// Ends the link at once; what has not arrived is lost.
    package mutating func cut() { link.finish(.cut) }

    private mutating func step(to time: Duration) {
        self.time = time
        for arrival in link.advance(to: time) { ends[arrival.side.rawValue].receive(arrival.frame, at: arrival.time) }
        for side in VirtualLink.Side.allCases { fill(side, at: time) }
    }

    private mutating func fill(_ side: VirtualLink.Side, at now: Duration) {
        while link.end == nil, link.waitingByteCount(at: side) < Self.controllerByteLimit,
            let frame = ends[side.rawValue].nextFrame(at: now)
        {
            link.send(frame, from: side, at: now)
        }
    }
}
