import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import LinkRules
import SyncDecisions
import Transport

extension DeviceSession {
    /// What others may read of a device without waiting for it.
    package struct Snapshot: Sendable {
        package private(set) var name: String
        package private(set) var addresses: [String]
        package private(set) var bluetooth: BluetoothUse
        package private(set) var isPaused: Bool
        package private(set) var pausedUntil: Int64?
        /// The quota that it went over, for which it is paused.
        package private(set) var exceededQuota: DeviceQuota?
        /// The primary of the links in use.
        package var session: PeerSession?
        package var linkCount = 0
        /// All links that have not ended, those that are being replaced among them.
        var sessions: [PeerSession] = []
        package var client: String?
        /// Of the Hello of the link in use, or of the last one.
        package var clientName = ""
        /// Seconds that its clock was ahead of this one's when it said Hello; nil if it did not tell the time.
        package var clockSkew: Int64?
        package var lastSeen: WallTime?
        package var lastError: Phrase?
        package var acceptance: DeviceStatus.Acceptance?
        /// What became of the dials, by address.
        package var ways: [String: DialReport] = [:]
        /// The addresses that are not dialled, and why.
        package var obstacles: [String: DialObstacle] = [:]
        /// Bytes over links that have ended.
        package var pastBytesIn: Int64 = 0
        package var pastBytesOut: Int64 = 0
        /// The admin that brought it.
        package private(set) var introducedBy: DeviceID?
        package var radio = RadioStanding()
        /// The last that it announced could not be stored.
        package var hasUnstoredIndex = false

        init(_ configuration: DeviceConfiguration, lastSeen: WallTime? = nil) {
            name = configuration.name
            addresses = configuration.addresses
            bluetooth = configuration.bluetooth
            isPaused = configuration.isPaused
            pausedUntil = configuration.pausedUntil
            exceededQuota = configuration.exceededQuota
            introducedBy = configuration.introducedBy
            self.lastSeen = lastSeen
        }

        /// - Parameter exceeded: the quota that it went over, which the configuration may not say yet.
        mutating func configure(_ configuration: DeviceConfiguration, exceeded: DeviceQuota?) {
            name = configuration.name
            addresses = configuration.addresses
            bluetooth = configuration.bluetooth
            isPaused = configuration.isPaused || exceeded != nil
            pausedUntil = configuration.pausedUntil
            exceededQuota = configuration.exceededQuota ?? exceeded
            introducedBy = configuration.introducedBy
        }
    }
}

extension DeviceSession.Snapshot {
    /// Compares its clock with this one's, if it tells the time.
    mutating func noteClock(_ hello: Hello, at now: WallTime) {
        guard hello.timestamp > 0 else { return }
        let seconds = hello.timestamp / 1_000_000_000  // bounded: a division by a constant
        let (skew, overflows) = seconds.subtractingReportingOverflow(now.seconds)
        clockSkew = overflows ? nil : skew
    }

    /// Keeps what became of a dial, of so many addresses.
    mutating func note(_ report: DialReport, of address: String) {
        if ways.count >= 64 { ways = [:] }
        ways[address] = report
    }

    /// Takes in where the device may be now and which of that is not dialled: of dials elsewhere nothing is told any more.
    mutating func note(targets: [DialTarget], obstacles: [DialTarget: DialObstacle]) {
        self.obstacles = Dictionary(obstacles.map { ($0.key.text, $0.value) }) { first, _ in first }
        let tried = Set(targets.map(\.text)).subtracting(self.obstacles.keys)
        ways = ways.filter { tried.contains($0.key) }
    }

    /// Where a radio reaches it.
    var radioAddresses: Set<LinkAddress> {
        Set(addresses.compactMap { try? LinkAddress(parsing: $0) }.filter(\.isSlow))
    }

    /// The device as `RadioSearch` sees it, but for its folders; nil if no radio reaches it.
    func radioCandidate(at now: Duration) -> RadioSearch.Candidate? {
        let addresses = radioAddresses
        guard !addresses.isEmpty else { return nil }
        return RadioSearch.Candidate(
            addresses: addresses, isConnected: session != nil, isPaused: isPaused, isSought: radio.isSought(at: now),
            unseen: radio.lastLinkEnd.map { now - $0 })
    }
}
