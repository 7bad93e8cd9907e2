import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import LinkRules
import Transport

extension DeviceSession {
    package nonisolated var status: DeviceStatus { state.status(of: id, links: links) }

    /// Which links are in use, and what became of the dials that led to none.
    package nonisolated var reachReport: ReachReport.Device { state.reachReport(of: id, links: links) }

    private nonisolated var links: [LinkInUse] { source.sessions.map(LinkInUse.init) }

    /// What reports say about a link that is in use.
    struct LinkInUse {
        var kind: LinkKind
        var way: LinkWay
        var address: String
        /// In bytes per second, when it was busy last.
        var rate: Double?

        var text: String { "\(kind.rawValue) \(address)" }
    }
}

extension DeviceSession.Snapshot {
    typealias LinkInUse = DeviceSession.LinkInUse

    func status(of id: DeviceID, links: [LinkInUse]) -> DeviceStatus {
        DeviceStatus(
            id: id.description, name: name, isConnected: session != nil, transport: session?.way.word,
            address: session?.information.remoteAddress, addresses: addresses, client: client,
            lastSeen: lastSeen?.rfc3339, bytesIn: sessions.reduce(pastBytesIn) { $0 + $1.bytesReceived },
            bytesOut: sessions.reduce(pastBytesOut) { $0 + $1.bytesSent }, lastError: lastError, isPaused: isPaused,
            pausedUntil: pausedUntil.map { WallTime(seconds: $0).rfc3339 }, pauseReason: exceededQuota?.rawValue,
            pausePhrase: exceededQuota?.text, introducedBy: introducedBy?.description,
            acceptance: acceptance, ways: ways(links))
    }

    func reachReport(of id: DeviceID, links: [LinkInUse]) -> ReachReport.Device {
        ReachReport.Device(
            id: id.description, name: name, links: links.map(\.text).sorted(),
            rates: Dictionary(grouping: links, by: \.text).compactMapValues(Self.rate),
            failures: ways.sorted { $0.key < $1.key }.map { address, report in
                ReachReport.Device.Failure(
                    address: address, source: report.source.rawValue, message: report.message,
                    time: report.time.rfc3339)
            },
            untried: obstacles.sorted { $0.key < $1.key }.map { address, obstacle in
                ReachReport.Device.Untried(address: address, message: obstacle.text)
            })
    }

    /// What links carry together, in whole bytes per second; nil if nothing is known of any.
    private static func rate(_ links: [LinkInUse]) -> Int64? {
        let rates = links.compactMap(\.rate)
        return rates.isEmpty ? nil : Int64(exactly: min(max(0, rates.reduce(0, +)), 1e15).rounded())
    }

    /// The links in use, those of one address together; then what failed; then what is not tried.
    func ways(_ links: [LinkInUse]) -> [DeviceWay] {
        let inUse = Dictionary(grouping: links, by: \.address).sorted { $0.key < $1.key }.map { address, links in
            DeviceWay(
                address: address, outcome: DeviceWay.connected, transport: links.first?.way.word, links: links.count,
                bytesPerSecond: Self.rate(links))
        }
        let failed = ways.sorted { $0.key < $1.key }.map { address, report in
            DeviceWay(
                address: address, outcome: DeviceWay.failed, source: report.source.rawValue, message: report.message,
                time: report.time.rfc3339)
        }
        let untried = obstacles.sorted { $0.key < $1.key }.map { address, obstacle in
            DeviceWay(address: address, outcome: DeviceWay.notTried, message: obstacle.text)
        }
        return inUse + failed + untried
    }
}

extension DeviceSession.LinkInUse {
    init(_ session: PeerSession) {
        self.init(
            kind: session.kind, way: session.way, address: session.information.remoteAddress,
            rate: session.carriedRate)
    }
}

extension PeerSession {
    package var way: LinkWay { LinkWay(kind, isLocal: route == .localNetwork) }
}

extension LinkWay {
    /// As `status` says it.
    package var word: String {
        switch self {
        case .localTCP: "tcp-lan"
        case .wideTCP: "tcp-wan"
        case .relay, .l2cap, .gatt, .virtual: rawValue
        }
    }
}
