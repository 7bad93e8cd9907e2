import Transport

/// One search by SSDP for the routers that a gateway's network has.
struct RouterSearch: Sendable, Equatable {
    /// No more of the routers that answer are asked.
    static let maximumRouterCount = 8
    /// No more answers are read.
    static let maximumAnswerCount = 64
    /// Devices answer at a random moment within 2 s.
    static let length: Duration = .seconds(4)

    /// When which types are searched for, as multicast loses packets: 0: IGD:2; 1: IGD:1.
    private static let plan: [(after: Duration, types: [Int])] = [
        (.zero, [0]), (.milliseconds(500), [1]), (.milliseconds(1500), [0, 1]),
    ]

    private let gateway: Gateway
    private let ownAddresses: [IPAddress]
    private let start: Duration
    private var step = 0
    private var answerCount = 0
    /// Where descriptions are, the gateway's own first.
    private(set) var locations: [RouterURL] = []
    /// Why an answer was not used.
    private(set) var objection: PortMappingError?

    init(gateway: Gateway, ownAddresses: [IPAddress], at now: Duration) {
        self.gateway = gateway
        self.ownAddresses = ownAddresses + [gateway.local.address]
        start = now
    }

    static func == (left: RouterSearch, right: RouterSearch) -> Bool {
        left.gateway == right.gateway && left.start == right.start && left.step == right.step
            && left.locations == right.locations && left.answerCount == right.answerCount
    }

    var due: Duration { start + (step < Self.plan.count ? Self.plan[step].after : Self.length) }

    /// The datagrams for the group that are due at `now`; nil once the search is over.
    mutating func datagrams(at now: Duration) -> [[UInt8]]? {
        guard step < Self.plan.count else { return now >= due ? nil : [] }
        guard now >= due else { return [] }
        defer { step += 1 }
        return Self.plan[step].types.map { SSDP.search(for: SSDP.gatewayTypes[$0]) }
    }

    /// Takes an answer; whether it is the gateway's own, so that there is nothing to wait for.
    mutating func received(_ bytes: [UInt8], from sender: IPAddress) -> Bool {
        guard answerCount < Self.maximumAnswerCount || sender.isSameNumber(as: gateway.address) else { return false }
        answerCount += 1
        let location: RouterURL
        do throws(PortMappingError) {
            location = try SSDP.Answer(bytes).location
            try check(location, sender: sender)
        } catch {
            objection = error
            return false
        }
        let isGateway = sender.isSameNumber(as: gateway.address)
        guard !locations.contains(location) else { return isGateway }
        if isGateway {
            locations.insert(location, at: 0)
            locations = Array(locations.prefix(Self.maximumRouterCount))
        } else if locations.count < Self.maximumRouterCount {
            locations.append(location)
        }
        return isGateway
    }

    /// A device of this network must not make this one send requests to others: to programs of this machine, to machines
    /// on the internet or in other networks, or to its neighbours.
    private func check(_ location: RouterURL, sender: IPAddress) throws(PortMappingError) {
        let host = location.host
        guard host.isPrivateIPv4, gateway.local.networkContains(host),
            !ownAddresses.contains(where: { $0.isSameNumber(as: host) })
        else {
            throw PortMappingError(
                .foreignLocation, "it names \(location.authority), which is not a router of this network")
        }
        guard sender.isSameNumber(as: host) else {
            throw PortMappingError(.foreignLocation, "\(sender) names \(location.authority), which is another device")
        }
    }
}
