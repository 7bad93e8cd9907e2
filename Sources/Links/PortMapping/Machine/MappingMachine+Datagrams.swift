import Transport

/// PCP and NAT-PMP: what is sent, and what an answer leads to.
extension MappingMachine {
    /// A router that is there answers within milliseconds; the last wait is a second.
    private static let probeSends = 3
    private static let requestSends = 4
    /// Routers repeat their announcements: no more renewals than one in this time because of them.
    static let announcementPause: Duration = .seconds(5)
    /// As above, while nothing says that the router restarted.
    private static let idleAnnouncementPause: Duration = .seconds(60)

    /// Asks which of the two the router speaks, without changing anything there.
    mutating func probe(at now: Duration) -> [Action] {
        lastStart = now
        refusals = []
        speaksNATPMP = false
        natPMPAddress = nil
        let actions = probeDatagrams
        guard !actions.isEmpty else { return search(at: now) }
        phase = .probing(Probe(retransmission: Retransmission(at: now, sends: Self.probeSends)))
        return actions
    }

    private var asksPCP: Bool { settings.methods.contains(.pcp) }
    private var asksNATPMP: Bool { settings.methods.contains(.natPMP) && gateway.address.isIPv4 }

    private var probeDatagrams: [Action] {
        var actions: [Action] = []
        if asksPCP { actions.append(.toGateway(PCP.Request(client: gateway.local.address).bytes)) }
        if asksNATPMP { actions.append(.toGateway(NATPMP.Request.externalAddress.bytes)) }
        return actions
    }

    mutating func probeAgain(_ probe: Probe, at now: Duration) -> [Action] {
        var probe = probe
        // One has answered and the other has had its time.
        if probe.natPMP == true { return ask(.natPMP, isRenewal: false, at: now) }
        guard probe.retransmission.sendsAgain(at: now) else { return noneSpoken(at: now) }
        phase = .probing(probe)
        return probeDatagrams
    }

    private mutating func noneSpoken(at now: Duration) -> [Action] {
        if asksPCP { refusals.append(.init(method: .pcp, error: .notMapped)) }
        if asksNATPMP { refusals.append(.init(method: .natPMP, error: .notMapped)) }
        return search(at: now)
    }

    mutating func refused(at now: Duration) -> [Action] {
        switch phase {
        case .probing: return noneSpoken(at: now)
        case .asking(let asking): return failed(asking.method, .notMapped, isRenewal: asking.isRenewal, at: now)
        case .deleting(let method, _, _) where method != .upnp:
            phase = .ended
            return []
        default: return []
        }
    }

    mutating func ask(_ method: MappingMethod, isRenewal: Bool, at now: Duration) -> [Action] {
        phase = .asking(
            Asking(
                method: method, isRenewal: isRenewal,
                retransmission: Retransmission(at: now, sends: Self.requestSends)))
        if isRenewal { natPMPAddress = nil }
        return requestDatagrams(method)
    }

    mutating func askAgain(_ asking: Asking, at now: Duration) -> [Action] {
        var asking = asking
        guard asking.retransmission.sendsAgain(at: now) else {
            // The router maps, and says no address: discovery servers see it.
            if let partial = asking.partial {
                return granted(natPMPGrant(port: partial.externalPort, lifetime: partial.lifetime), at: now)
            }
            return failed(asking.method, .notMapped, isRenewal: asking.isRenewal, at: now)
        }
        phase = .asking(asking)
        return requestDatagrams(asking.method)
    }

    private func requestDatagrams(_ method: MappingMethod) -> [Action] {
        guard method == .natPMP else { return [.toGateway(pcpRequest(lifetime: settings.leaseSeconds).bytes)] }
        let request = NATPMP.Request.map(
            port.transport, internalPort: port.number, externalPort: wantedPort, lifetime: settings.leaseSeconds)
        let address: [Action] =
            natPMPAddress == nil ? [.toGateway(NATPMP.Request.externalAddress.bytes)] : []
        return address + [.toGateway(request.bytes)]
    }

    private var wantedPort: UInt16 { held?.grant.externalPort ?? externalPorts.first ?? 0 }

    func pcpRequest(lifetime: UInt32) -> PCP.Request {
        // IPv6 firewalls let connections to the address and port themselves in.
        let suggested = gateway.address.isIPv4 ? wantedPort : port.number
        let unspecified = IPAddress(packed: [UInt8](repeating: 0, count: gateway.address.isIPv4 ? 4 : 16))
        let address = held?.grant.externalAddress ?? unspecified ?? gateway.local.address
        return PCP.Request(
            client: gateway.local.address, lifetime: lifetime,
            map: PCP.Map(
                nonce: nonce, transport: port.transport, internalPort: port.number, externalPort: suggested,
                externalAddress: address))
    }

    /// Takes a datagram of the router's. One that cannot be read is as none.
    mutating func received(_ bytes: [UInt8], at now: Duration) -> [Action] {
        if bytes.first == 0 {
            guard let response = try? NATPMP.Response(bytes) else { return [] }
            // A refusal of the version need not have an epoch.
            let isNews = response.result == 0 && isYounger(.natPMP, response.epoch, at: now)
            if case .resting = phase { return isNews ? refreshSoon(after: Self.announcementPause, at: now) : [] }
            return received(response, at: now)
        }
        guard let response = try? PCP.Response(bytes) else { return [] }
        let isNews = response.version == PCP.version && isYounger(.pcp, response.epoch, at: now)
        // A router that restarted may tell those that it knows one by one (RFC 6887 sections 14.1.2 and 14.2).
        if case .resting = phase { return isNews ? refreshSoon(after: Self.announcementPause, at: now) : [] }
        return received(response, at: now)
    }

    /// Notes a router's epoch; whether the mapping that is held is older than the router's table. What tells so is an answer that
    /// came unasked; a late one has the epoch of the others.
    private mutating func isYounger(_ method: MappingMethod, _ epoch: UInt32, at now: Duration) -> Bool {
        let hasRestarted = hasRestarted(method, epoch, at: now)
        guard let held else { return false }
        // The epoch is cut to whole seconds, and the answer was under way.
        return hasRestarted || now - .seconds(Int64(epoch)) > held.since + .seconds(2)
    }

    private mutating func hasRestarted(_ method: MappingMethod, _ epoch: UInt32, at now: Duration) -> Bool {
        epochs[method, default: EpochTracker()].hasRestarted(epoch: epoch, isPCP: method == .pcp, at: now)
    }

    private mutating func received(_ response: NATPMP.Response, at now: Duration) -> [Action] {
        switch (phase, response.body) {
        case (.probing(var probe), let body):
            if response.result == 1 {
                // It speaks NAT-PMP and knows no version 2.
                probe.pcp = false
                probe.natPMP = asksNATPMP
            } else {
                probe.natPMP = asksNATPMP
                if case .externalAddress(let address) = body { natPMPAddress = address }
            }
            return decide(probe, at: now)
        case (.asking(let asking), .externalAddress(let address)) where asking.method == .natPMP:
            natPMPAddress = address
            if let partial = asking.partial {
                return granted(natPMPGrant(port: partial.externalPort, lifetime: partial.lifetime), at: now)
            }
            return []
        case (.asking(let asking), .externalAddress(let address)) where asking.method == .pcp && !asking.isRenewal:
            // The other half of the probe. PCP may yet be refused.
            speaksNATPMP = asksNATPMP
            natPMPAddress = address
            return []
        case (.asking(var asking), .mapped(let transport, let internalPort, let externalPort, let lifetime))
        where asking.method == .natPMP && transport == port.transport && internalPort == port.number:
            guard lifetime > 0, externalPort > 0 else { return [] }
            if natPMPAddress == nil {
                asking.partial = (externalPort, lifetime)
                phase = .asking(asking)
                return []
            }
            return granted(natPMPGrant(port: externalPort, lifetime: lifetime), at: now)
        case (.asking(let asking), .failed(let operation)):
            guard let refusal = response.refusal else { return [] }
            // A refused question for the address is told by the missing address alone, unless the router is offline.
            let isMap = operation == (port.transport == .udp ? 1 : 2)
            guard asking.method == .natPMP ? isMap || response.result == 3 : response.result == 1 else { return [] }
            return failed(asking.method, refusal, isRenewal: asking.isRenewal, at: now)
        case (.deleting(.natPMP, _, _), .mapped(_, _, _, let lifetime)):
            // Otherwise a renewal is answered that was under way.
            if lifetime == 0 { phase = .ended }
            return []
        case (.deleting(.natPMP, _, _), .failed):
            phase = .ended
            return []
        default: return []
        }
    }

    private mutating func received(_ response: PCP.Response, at now: Duration) -> [Action] {
        switch phase {
        case .probing(var probe):
            probe.pcp = asksPCP && response.version == PCP.version
            return decide(probe, at: now)
        case .asking(let asking) where asking.method == .pcp:
            guard response.version == PCP.version else {
                let error = PortMappingError(.unsupported, "it speaks another version of PCP", result: 1)
                return failed(.pcp, error, isRenewal: asking.isRenewal, at: now)
            }
            guard response.operation == 1 else { return [] }
            if let map = response.map {
                guard map.nonce == nonce, map.transport == port.transport, map.internalPort == port.number else {
                    return []
                }
            }
            if let refusal = response.refusal { return failed(.pcp, refusal, isRenewal: asking.isRenewal, at: now) }
            guard let map = response.map, response.lifetime > 0, map.externalPort > 0 else { return [] }
            let address = map.externalAddress.isUnspecified ? nil : map.externalAddress
            return granted(
                PortMappingGrant(
                    method: .pcp, externalAddress: address, externalPort: map.externalPort,
                    lease: Self.lease(response.lifetime)), at: now)
        case .deleting(.pcp, _, _) where response.operation == 1:
            // Otherwise a renewal is answered that was under way.
            if response.lifetime == 0 || response.refusal != nil { phase = .ended }
            return []
        default: return []
        }
    }

    private mutating func decide(_ probe: Probe, at now: Duration) -> [Action] {
        speaksNATPMP = probe.natPMP == true
        if probe.pcp == true { return ask(.pcp, isRenewal: false, at: now) }
        let isPCPOut = probe.pcp == false || !asksPCP
        if isPCPOut, probe.natPMP == true { return ask(.natPMP, isRenewal: false, at: now) }
        if isPCPOut, probe.natPMP == false || !asksNATPMP { return noneSpoken(at: now) }
        phase = .probing(probe)
        return []
    }

    private func natPMPGrant(port: UInt16, lifetime: UInt32) -> PortMappingGrant {
        let address = natPMPAddress.flatMap { $0.isUnspecified ? nil : $0 }
        return PortMappingGrant(
            method: .natPMP, externalAddress: address, externalPort: port, lease: Self.lease(lifetime))
    }

    /// Routers that give more than a day mean no end; it is renewed all the same.
    private static func lease(_ seconds: UInt32) -> Duration { .seconds(min(Int64(seconds), 86400)) }

    /// A router announces that it restarted or has another address. Anybody in the network can send that, so all that comes of
    /// it is an earlier renewal, and not many of them.
    mutating func announced(_ bytes: [UInt8], at now: Duration) -> [Action] {
        var isNews = false
        let epoch: UInt32
        if bytes.first == 0 {
            guard let response = try? NATPMP.Response(bytes), case .externalAddress(let address) = response.body else {
                return []
            }
            epoch = response.epoch
            isNews = hasRestarted(.natPMP, epoch, at: now)
            if let held, let address, held.grant.externalAddress != address { isNews = true }
        } else {
            guard let response = try? PCP.Response(bytes), response.operation == 0, response.version == PCP.version
            else { return [] }
            epoch = response.epoch
            isNews = hasRestarted(.pcp, epoch, at: now)
        }
        // The router's table is younger than the mapping; or there is none, and the router is back.
        if let held { if now - .seconds(Int64(epoch)) > held.since { isNews = true } } else { isNews = true }
        guard case .resting = phase else {
            // What is under way was begun while the router may not have been up.
            if isNews { mustRefresh = true }
            return []
        }
        return refreshSoon(after: isNews ? Self.announcementPause : Self.idleAnnouncementPause, at: now)
    }

    /// While resting: renews at once, but not sooner after the last start than `pause`.
    private mutating func refreshSoon(after pause: Duration, at now: Duration) -> [Action] {
        guard case .resting(let until) = phase else { return [] }
        let due = max(now, lastStart + pause)
        phase = .resting(until: min(until, due))
        return due <= now ? refresh(at: now) : []
    }
}
