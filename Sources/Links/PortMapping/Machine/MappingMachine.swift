import Transport

/// Decides how one router is made to map one port, and keeps it mapped.
///
/// Events in, actions out; `now` is the time since any fixed moment, and includes what the machine slept. The order is PCP and
/// NAT-PMP (one round trip for both tells which there is), then UPnP; the first that maps the port is used until it fails.
package struct MappingMachine: Sendable {
    package enum Event: Sendable, Equatable {
        /// Starts, or starts again because networks changed. What is mapped stays so meanwhile.
        case begin
        /// `deadline` has come.
        case wake
        /// A datagram to the socket that speaks with the router.
        case datagram([UInt8], from: IPAddress, port: UInt16)
        /// Nothing listens on the router's port 5351: ICMP port unreachable.
        case refused
        /// A datagram to 224.0.0.1:5350.
        case announcement([UInt8], from: IPAddress, port: UInt16)
        /// A datagram to the socket that searched.
        case found([UInt8], from: IPAddress)
        /// What came of the HTTP request of that number.
        case answer(Int, Result<GatewayHTTPAnswer, PortMappingError>)
        /// The port is not listened on any longer: deletes the mapping, and ends.
        case end
        /// The router or the address it is asked from is gone: ends.
        case gone
    }

    package enum Action: Sendable, Equatable {
        /// To port 5351 of the router, from the gateway's local address.
        case toGateway([UInt8])
        /// To 239.255.255.250:1900, from the gateway's local address.
        case search([UInt8])
        case request(Int, GatewayHTTPRequest)
    }

    /// A mapping that there is, as far as is known.
    struct Held: Sendable {
        var grant: PortMappingGrant
        var since: Duration
        /// With UPnP: who made it.
        var service: DeviceDescription.Service?

        var end: Duration? { grant.lease.map { since + $0 } }
    }

    enum Phase: Sendable {
        case idle
        case probing(Probe)
        /// A MAP request of PCP or NAT-PMP is under way.
        case asking(Asking)
        case searching(RouterSearch)
        case conversing(Conversing)
        case resting(until: Duration)
        case deleting(MappingMethod, Retransmission, until: Duration)
        case ended
    }

    struct Probe: Sendable {
        var retransmission: Retransmission
        /// Whether the router speaks them; nil: not known yet.
        var pcp: Bool?
        var natPMP: Bool?
    }

    struct Asking: Sendable {
        var method: MappingMethod
        var isRenewal: Bool
        var retransmission: Retransmission
        /// NAT-PMP's answer, while the external address is not known.
        var partial: (externalPort: UInt16, lifetime: UInt32)?
    }

    struct Conversing: Sendable {
        var conversation: UPnPConversation
        var isRenewal: Bool
        var request: Int
        /// For one request; the doer's own timeout comes first.
        var deadline: Duration
    }

    package let gateway: Gateway
    package let port: ListenedPort
    let settings: MappingSettings
    let nonce: [UInt8]
    let externalPorts: [UInt16]
    let ownAddresses: [IPAddress]

    var phase = Phase.idle
    var held: Held?
    var refusals: [RouterReport.Refusal] = []
    var speaksNATPMP = false
    /// NAT-PMP tells the address apart from the mapping.
    var natPMPAddress: IPAddress?
    var epochs: [MappingMethod: EpochTracker] = [:]
    var requestNumber = 0
    var failureCount = 0
    var hasFailed = false
    var lastStart: Duration = .zero
    /// The router announced itself while something was under way: should that fail, it is asked again.
    var mustRefresh = false

    /// - Parameter ownAddresses: all of this machine, none of which is a router.
    package init(
        gateway: Gateway, port: ListenedPort, identity: MappingIdentity, ownAddresses: [IPAddress] = [],
        settings: MappingSettings = MappingSettings()
    ) {
        self.gateway = gateway
        self.port = port
        self.settings = settings
        self.ownAddresses = ownAddresses
        nonce = identity.nonce(port: port, gateway: gateway)
        externalPorts = identity.externalPorts(port: port, gateway: gateway, count: settings.portTries)
    }

    package var report: RouterReport {
        let outcome: RouterReport.Outcome =
            if let held { .mapped(held.grant) } else if hasFailed { .failed(refusals) } else { .asking }
        return RouterReport(gateway: gateway, port: port, outcome: outcome)
    }

    package var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// When `wake` is due; nil: never.
    package var deadline: Duration? {
        switch phase {
        case .idle, .ended: nil
        case .probing(let probe): probe.retransmission.due
        case .asking(let asking): asking.retransmission.due
        case .searching(let search): search.due
        case .conversing(let conversing): conversing.deadline
        case .resting(let until): min(until, held?.end ?? until)
        case .deleting(_, let retransmission, let until): min(retransmission.due, until)
        }
    }

    package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        if hasEnded { return [] }
        if let end = held?.end, now >= end { held = nil }
        switch event {
        case .gone:
            held = nil
            phase = .ended
            return []
        case .end: return delete(at: now)
        case .begin:
            if case .deleting = phase { return [] }
            failureCount = 0
            return probe(at: now)
        case .wake: return wake(at: now)
        case .datagram(let bytes, let sender, let port):
            guard isGateway(sender, port) else { return [] }
            return received(bytes, at: now)
        case .refused: return refused(at: now)
        case .announcement(let bytes, let sender, let port):
            guard isGateway(sender, port) else { return [] }
            return announced(bytes, at: now)
        case .found(let bytes, let sender):
            guard case .searching(var search) = phase else { return [] }
            let isComplete = search.received(bytes, from: sender)
            phase = .searching(search)
            return isComplete ? converse(after: search, at: now) : []
        case .answer(let number, let result):
            return answered(number, result, at: now)
        }
    }

    private func isGateway(_ sender: IPAddress, _ port: UInt16) -> Bool {
        sender.isSameNumber(as: gateway.address) && port == NATPMP.serverPort
    }

    private mutating func wake(at now: Duration) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        switch phase {
        case .idle, .ended: return []
        case .probing(let probe): return probeAgain(probe, at: now)
        case .asking(let asking): return askAgain(asking, at: now)
        case .searching(let search): return searchAgain(search, at: now)
        case .conversing(let conversing):
            return answered(conversing.request, .failure(.notMapped), at: now)
        case .resting(let until):
            // Otherwise only the mapping has ended.
            return now >= until ? refresh(at: now) : []
        case .deleting(let method, var retransmission, let until):
            guard now < until, retransmission.sendsAgain(at: now) else {
                phase = .ended
                return []
            }
            phase = .deleting(method, retransmission, until: until)
            return deletion(method)
        }
    }

    /// Renews what there is, or tries again to map.
    mutating func refresh(at now: Duration) -> [Action] {
        guard let held else { return probe(at: now) }
        lastStart = now
        if let service = held.service { return converse(services: [service], isRenewal: true, at: now) }
        return ask(held.grant.method, isRenewal: true, at: now)
    }

    /// Takes the mapping that a method has made.
    mutating func granted(_ grant: PortMappingGrant, service: DeviceDescription.Service? = nil, at now: Duration)
        -> [Action]
    {
        held = Held(grant: grant, since: now, service: service)
        refusals = []
        hasFailed = false
        failureCount = 0
        mustRefresh = false
        let half = grant.lease.map { $0 / 2 } ?? settings.renewal
        phase = .resting(until: now + max(min(half, settings.renewal), .seconds(15)))
        return []
    }

    /// Notes why a method did not map the port, and tries the next.
    mutating func failed(
        _ method: MappingMethod, _ error: PortMappingError, isRenewal: Bool = false, at now: Duration
    ) -> [Action] {
        // What could be renewed before may be available in another way now: begin from the beginning.
        if isRenewal { return probe(at: now) }
        if !refusals.contains(where: { $0.method == method }) { refusals.append(.init(method: method, error: error)) }
        switch method {
        case .pcp where speaksNATPMP: return ask(.natPMP, isRenewal: false, at: now)
        case .pcp, .natPMP: return search(at: now)
        case .upnp: return rest(at: now)
        }
    }

    /// After all methods have failed.
    private mutating func rest(at now: Duration) -> [Action] {
        hasFailed = true
        let wasMapped = held != nil
        // A router that is silent may come back and still have the mapping; one that says no does not.
        if refusals.contains(where: { $0.error.isRefusal }) { held = nil }
        failureCount = min(failureCount + 1, 10)
        let (first, limit): (Duration, Duration) =
            wasMapped ? (.seconds(15), .seconds(600)) : (.seconds(300), .seconds(1800))
        var pause = min(first * (1 << (failureCount - 1)), limit)
        if mustRefresh { pause = min(pause, max(lastStart + Self.announcementPause - now, .zero)) }
        mustRefresh = false
        phase = .resting(until: now + pause)
        return []
    }

    // MARK: UPnP

    mutating func search(at now: Duration) -> [Action] {
        guard settings.methods.contains(.upnp), gateway.address.isIPv4 else { return rest(at: now) }
        return searchAgain(RouterSearch(gateway: gateway, ownAddresses: ownAddresses, at: now), at: now)
    }

    private mutating func searchAgain(_ search: RouterSearch, at now: Duration) -> [Action] {
        var search = search
        guard let datagrams = search.datagrams(at: now) else { return converse(after: search, at: now) }
        phase = .searching(search)
        return datagrams.map { .search($0) }
    }

    private mutating func converse(after search: RouterSearch, at now: Duration) -> [Action] {
        guard !search.locations.isEmpty else {
            return failed(.upnp, search.objection ?? .notMapped, at: now)
        }
        return converse(locations: search.locations, isRenewal: false, at: now)
    }

    private mutating func converse(
        locations: [RouterURL] = [], services: [DeviceDescription.Service] = [], isRenewal: Bool, at now: Duration
    ) -> [Action] {
        var ports = externalPorts
        if let held { ports = [held.grant.externalPort] + ports.filter { $0 != held.grant.externalPort } }
        let wish = UPnPConversation.Wish(
            port: port, client: gateway.local.address, externalPorts: Array(ports.prefix(max(settings.portTries, 1))),
            settings: settings)
        var conversation = UPnPConversation(wish: wish, locations: locations, services: services)
        let step = conversation.begin()
        return perform(step, of: conversation, isRenewal: isRenewal, at: now)
    }

    private mutating func answered(
        _ number: Int, _ result: Result<GatewayHTTPAnswer, PortMappingError>, at now: Duration
    ) -> [Action] {
        if case .deleting(.upnp, _, _) = phase, number == requestNumber {
            phase = .ended
            return []
        }
        guard case .conversing(var conversing) = phase, conversing.request == number else { return [] }
        let step = conversing.conversation.received(result)
        return perform(step, of: conversing.conversation, isRenewal: conversing.isRenewal, at: now)
    }

    private mutating func perform(
        _ step: UPnPConversation.Step, of conversation: UPnPConversation, isRenewal: Bool, at now: Duration
    ) -> [Action] {
        switch step {
        case .granted(let grant, let service): return granted(grant, service: service, at: now)
        case .failed(let error): return failed(.upnp, error, isRenewal: isRenewal, at: now)
        case .request(let request):
            requestNumber += 1
            phase = .conversing(
                Conversing(
                    conversation: conversation, isRenewal: isRenewal, request: requestNumber,
                    deadline: now + request.timeout + .seconds(2)))
            return [.request(requestNumber, request)]
        }
    }

    // MARK: the end

    private mutating func delete(at now: Duration) -> [Action] {
        guard case .deleting = phase else {
            var method = held?.grant.method
            // The router may have mapped the port, and its answer be under way.
            if method == nil, case .asking(let asking) = phase { method = asking.method }
            guard let method else {
                phase = .ended
                return []
            }
            if method == .upnp { requestNumber += 1 }
            phase = .deleting(
                method, Retransmission(at: now, sends: method == .upnp ? 1 : 3), until: now + .seconds(2))
            return deletion(method)
        }
        return []
    }

    private func deletion(_ method: MappingMethod) -> [Action] {
        switch method {
        case .pcp: return [.toGateway(pcpRequest(lifetime: 0).bytes)]
        case .natPMP:
            return [
                .toGateway(
                    NATPMP.Request.map(port.transport, internalPort: port.number, externalPort: 0, lifetime: 0).bytes)
            ]
        case .upnp:
            guard let held, let service = held.service else { return [] }
            let action = SOAP.Action.delete(port.transport, externalPort: held.grant.externalPort)
            return [
                .request(
                    requestNumber, UPnPConversation.request(action, of: service, from: gateway.local.address))
            ]
        }
    }
}
