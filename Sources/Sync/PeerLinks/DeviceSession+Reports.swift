import AgentContext
import ControlAPI
import LinkRules
import Transport

extension DeviceSession {
    package nonisolated var status: DeviceStatus {
        let state = state
        let sessions = state.sessions
        return DeviceStatus(
            id: id.description, name: state.name, isConnected: state.session != nil,
            transport: state.session?.way.word,
            address: state.session?.information.remoteAddress, addresses: state.addresses, client: state.client,
            lastSeen: state.lastSeen?.rfc3339, bytesIn: sessions.reduce(state.pastBytesIn) { $0 + $1.bytesReceived },
            bytesOut: sessions.reduce(state.pastBytesOut) { $0 + $1.bytesSent }, lastError: state.lastError,
            isPaused: state.isPaused, pausedUntil: state.pausedUntil.map { WallTime(seconds: $0).rfc3339 },
            introducedBy: state.introducedBy?.description, acceptance: state.acceptance,
            ways: Self.ways(source.sessions.map(LinkInUse.init), state))
    }

    /// Which links are in use, and what became of the dials that led to none.
    package nonisolated var reachReport: ReachReport.Device {
        let state = state
        let links = source.sessions.map(LinkInUse.init)
        func text(_ link: LinkInUse) -> String { "\(link.kind.rawValue) \(link.address)" }
        return ReachReport.Device(
            id: id.description, name: state.name, links: links.map(text).sorted(),
            rates: Dictionary(grouping: links, by: text).compactMapValues(Self.rate),
            failures: state.ways.sorted { $0.key < $1.key }.map { address, report in
                ReachReport.Device.Failure(
                    address: address, source: report.source.rawValue, message: report.message,
                    time: report.time.rfc3339)
            },
            untried: state.obstacles.sorted { $0.key < $1.key }.map { address, obstacle in
                ReachReport.Device.Untried(address: address, message: obstacle.message)
            })
    }

    /// What is told of a link that is in use.
    struct LinkInUse {
        var kind: LinkKind
        var way: LinkWay
        var address: String
        /// In bytes per second, when it was busy last.
        var rate: Double?
    }

    /// What links carry together, in whole bytes per second; nil if nothing is known of any.
    private static func rate(_ links: [LinkInUse]) -> Int64? {
        let rates = links.compactMap(\.rate)
        return rates.isEmpty ? nil : Int64(exactly: min(max(0, rates.reduce(0, +)), 1e15).rounded())
    }

    /// The links in use, those of one address together; then what failed; then what is not tried.
    static func ways(_ links: [LinkInUse], _ state: Snapshot) -> [DeviceWay] {
        let inUse = Dictionary(grouping: links, by: \.address).sorted { $0.key < $1.key }.map { address, links in
            DeviceWay(
                address: address, outcome: DeviceWay.connected, transport: links.first?.way.word, links: links.count,
                bytesPerSecond: rate(links))
        }
        let failed = state.ways.sorted { $0.key < $1.key }.map { address, report in
            DeviceWay(
                address: address, outcome: DeviceWay.failed, source: report.source.rawValue, message: report.message,
                time: report.time.rfc3339)
        }
        let untried = state.obstacles.sorted { $0.key < $1.key }.map { address, obstacle in
            DeviceWay(address: address, outcome: DeviceWay.notTried, message: obstacle.message)
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
