/// How much may be under way, and how fast it may go out, from the rate at which the peer confirmed what was sent.
///
/// The window is about twice the greatest rate of the last ten round trips times the least round trip, and packets are
/// spread over time at that rate, with a faster and a slower phase in each eight round trips: enough to keep the link
/// busy, not so much that queues on the way grow (bluetoothd queues without bound) or a slow reader's socket runs over.
/// A lost packet does not shrink the window by itself: on a radio it says nothing about the rate.
struct RateModel: Sendable {
    /// What was known when a packet went out.
    struct Snapshot: Sendable {
        fileprivate var delivered: Int
        fileprivate var deliveredAt: Nanoseconds
        fileprivate var firstSentAt: Nanoseconds
        fileprivate var inFlight: Int
        /// There was less to send than the link would have taken.
        fileprivate var isLimited: Bool
    }

    private enum Phase {
        /// Doubling, until the rate grows no more.
        case startup
        /// Slow, until the queue that startup made is gone.
        case drain
        case cruise(step: Int, since: Nanoseconds)
    }

    /// Factors on the rate, one round trip each: look for more, make up for it, go on.
    private static let cruiseGains = [1.25, 0.75, 1, 1, 1, 1, 1, 1]
    private static let startupGain = 2.885
    private static let roundsRemembered = 10
    /// After this long without a round trip as short as the least one, it is measured again.
    private static let leastRoundTripAge = Nanoseconds.milliseconds(5000)
    private static let measuringTime = Nanoseconds.milliseconds(200)
    /// What may go out in one go after a pause.
    private static let burstTime = Nanoseconds.milliseconds(5)

    private let packetByteCount: Int
    private let windowLimit: Int

    private var phase = Phase.startup
    private(set) var window: Int
    private var paceAt: Nanoseconds = 0

    private var delivered = 0
    private var deliveredAt: Nanoseconds = 0
    private var firstSentAt: Nanoseconds = 0
    /// What is sent before this much was delivered says nothing about the link; the first packets do not either.
    private var limitedUntil = 1

    /// The link itself, not want of data, has set a rate that was measured.
    private var isMeasured = false
    private var roundEnd = 0
    private var roundRates = [0]
    private var roundLost = 0
    private var roundDelivered = 0
    private var lossShare = 0.0
    private var plateau = (rate: 0, rounds: 0)

    private var leastRoundTrip: (value: Nanoseconds, at: Nanoseconds)?
    private var measuring: (until: Nanoseconds, least: Nanoseconds?)?

    init(packetByteCount: Int, windowLimit: Int) {
        self.packetByteCount = packetByteCount
        self.windowLimit = max(windowLimit, 8 * packetByteCount)
        window = 10 * packetByteCount
    }

    /// Bytes a second that the link was seen to carry, packet headers included; 0 before the first measurement.
    var rate: Int { roundRates.max() ?? 0 }

    private var leastWindow: Int { 8 * packetByteCount }

    /// Bytes that fill the link once.
    private var product: Int {
        guard let leastRoundTrip, rate > 0 else { return window }
        return Int(Double(rate) * Double(leastRoundTrip.value) / 1e9)
    }

    private var paceRate: Double? {
        // What little was sent so far must not hold back the first larger message.
        guard isMeasured, rate > 0 else { return nil }
        let gain =
            switch phase {
            case .startup: Self.startupGain
            case .drain: 1 / Self.startupGain
            case .cruise(let step, _): Self.cruiseGains[step]
            }
        // What gets lost at random has to be sent on top. Only most of it: if it is this sending that overflows a
        // queue, loss and compensation both die away.
        return gain * Double(rate) / (1 - 0.8 * min(lossShare, 0.6))
    }

    // MARK: sending

    /// Whether `byteCount` more fit the window besides `inFlight`. One packet always may.
    func hasRoom(for byteCount: Int, inFlight: Int) -> Bool {
        let window = measuring == nil ? window : max(4 * packetByteCount, min(window, product / 2))
        return inFlight == 0 || inFlight + byteCount <= window
    }

    /// When the next packet may go.
    var nextSend: Nanoseconds { paceAt }

    /// A packet goes out.
    mutating func sent(_ byteCount: Int, inFlight: Int, at now: Nanoseconds) -> Snapshot {
        if inFlight == 0 {
            firstSentAt = now
            deliveredAt = now
        }
        if let paceRate {
            paceAt = max(paceAt, now - Self.burstTime) + Nanoseconds(Double(byteCount) * 1e9 / paceRate)
        }
        return Snapshot(
            delivered: delivered, deliveredAt: deliveredAt, firstSentAt: firstSentAt, inFlight: inFlight,
            isLimited: limitedUntil > delivered)
    }

    /// There is nothing to send although the window has room: what is measured now is no measure of the link.
    mutating func ranDry(inFlight: Int) { limitedUntil = delivered + max(inFlight, 1) }

    // MARK: what became of it

    mutating func lost(_ byteCount: Int) { roundLost += byteCount }

    /// `byteCount` were confirmed. `newest`: of those sent once only, the one sent last.
    mutating func confirmed(
        _ byteCount: Int, newest: (snapshot: Snapshot, sentAt: Nanoseconds)?, inFlight: Int, at now: Nanoseconds
    ) {
        delivered += byteCount
        roundDelivered += byteCount
        deliveredAt = now
        if let newest {
            noteRoundTrip(now - newest.sentAt, sentInFlight: newest.snapshot.inFlight, at: now)
            measureRate(newest.snapshot, sentAt: newest.sentAt, at: now)
        }
        if let end = measuring?.until, now >= end {
            leastRoundTrip = measuring?.least.map { ($0, now) } ?? leastRoundTrip
            measuring = nil
        }
        advance(inFlight: inFlight, at: now)
        setWindow(confirmed: byteCount)
    }

    private mutating func measureRate(_ snapshot: Snapshot, sentAt: Nanoseconds, at now: Nanoseconds) {
        firstSentAt = max(firstSentAt, sentAt)
        let interval = max(sentAt - snapshot.firstSentAt, now - snapshot.deliveredAt)
        let isNewRound = snapshot.delivered >= roundEnd
        if isNewRound { endRound(isLimited: snapshot.isLimited) }
        guard interval > 0, interval >= leastRoundTrip?.value ?? 0 else { return }
        let sample = Int(Double(delivered - snapshot.delivered) * 1e9 / Double(interval))
        guard !snapshot.isLimited || sample > rate else { return }
        if !snapshot.isLimited { isMeasured = true }
        roundRates[roundRates.count - 1] = max(roundRates[roundRates.count - 1], sample)
    }

    private mutating func endRound(isLimited: Bool) {
        roundEnd = delivered
        let total = roundLost + roundDelivered
        if total > 0 { lossShare += (Double(roundLost) / Double(total) - lossShare) / 8 }
        roundLost = 0
        roundDelivered = 0
        // A round with too little to send does not make the link forget its rate.
        guard !isLimited else { return }
        if case .startup = phase, rate > 0 {
            if Double(rate) >= 1.25 * Double(plateau.rate) {
                plateau = (rate, 0)
            } else {
                plateau.rounds += 1
                if plateau.rounds >= 3 { phase = .drain }
            }
        }
        roundRates.append(0)
        if roundRates.count > Self.roundsRemembered { roundRates.removeFirst() }
    }

    private mutating func noteRoundTrip(_ sample: Nanoseconds, sentInFlight: Int, at now: Nanoseconds) {
        guard let least = leastRoundTrip else {
            leastRoundTrip = (sample, now)
            return
        }
        if let current = measuring { measuring?.least = min(current.least ?? sample, sample) }
        let isOld = now - least.at > Self.leastRoundTripAge
        if sample < least.value || isOld && sentInFlight <= product / 2 {
            leastRoundTrip = (sample, now)
        } else if sample <= least.value + least.value / 16 {
            leastRoundTrip = (least.value, now)
        } else if isOld, measuring == nil {
            measuring = (now + max(Self.measuringTime, 2 * least.value), nil)
        }
    }

    private mutating func advance(inFlight: Int, at now: Nanoseconds) {
        switch phase {
        case .startup: break
        case .drain where inFlight <= product: phase = .cruise(step: 2, since: now)
        case .drain: break
        case .cruise(let step, let since):
            let isDrained = step == 1 && inFlight <= product
            guard isDrained || now - since > leastRoundTrip?.value ?? 0 else { break }
            phase = .cruise(step: (step + 1) % Self.cruiseGains.count, since: now)
        }
    }

    private mutating func setWindow(confirmed byteCount: Int) {
        var wanted = window + byteCount
        // Eight packets on top: the peer may confirm that many at a time.
        if case .startup = phase {
            // As fast as the rate is found to grow, which doubles by it. Of a rate that is known no queue is made.
            if isMeasured {
                wanted = min(wanted, max(window, Int(Self.startupGain * Double(product)) + 8 * packetByteCount))
            }
        } else {
            wanted = min(wanted, 2 * product + 8 * packetByteCount)
        }
        window = min(max(wanted, leastWindow), windowLimit)
    }
}
