import Transport

@testable import PortMapping

/// A router in memory: answers at once, as real ones do on the wire, or in the ways that a test wants.
struct FakeRouter {
    static let gateway = Gateway(
        address: address("192.168.1.1"), interface: "eth0",
        local: LocalAddress(address("192.168.1.2"), prefixLength: 24))
    static let location = "http://192.168.1.1:5000/root.xml"

    var pcp = true
    var natPMP = true
    var upnp = true
    var isOn = true
    /// Whether ICMP says that port 5351 is closed.
    var refusesPort = false
    /// Whether it maps what is asked for, and the answer never arrives.
    var losesAnswersToMaps = false
    var external = address("11.7.0.10")
    var pcpResult: UInt8 = 0
    var natPMPResult: UInt16 = 0
    /// External ports that other devices have.
    var taken: Set<UInt16> = []
    /// UPnP errors to AddPortMapping, one after the other, before it works.
    var faults: [Int] = []
    var allowsLeases = true
    var serviceVersion = 1
    /// Answers to the search instead of its own: bytes and sender.
    var searchAnswers: [([UInt8], IPAddress)]?
    /// The body of its description instead of its own.
    var description: [UInt8]?
    var booted: Duration = .seconds(-5000)
    var lifetime: UInt32?

    /// External to internal port.
    var mappings: [UInt16: UInt16] = [:]
    var datagramCount = 0
    var searchCount = 0
    var requests: [GatewayHTTPRequest] = []

    mutating func reboot(at now: Duration) {
        mappings = [:]
        booted = now
    }

    func epoch(at now: Duration) -> UInt32 { UInt32((now - booted).components.seconds) }

    mutating func answer(_ action: MappingMachine.Action, at now: Duration) -> [MappingMachine.Event] {
        switch action {
        case .toGateway(let bytes):
            datagramCount += 1
            guard isOn else { return [] }
            if refusesPort { return [.refused] }
            let reply = reply(to: bytes, at: now)
            let isMap = bytes.count > 1 && bytes[1] != 0
            if losesAnswersToMaps, isMap { return [] }
            return reply.map { [.datagram($0, from: Self.gateway.address, port: 5351)] } ?? []
        case .search:
            searchCount += 1
            if let searchAnswers { return searchAnswers.map { .found($0.0, from: $0.1) } }
            return isOn && upnp ? [.found(ssdpAnswer(Self.location), from: Self.gateway.address)] : []
        case .request(let number, let request):
            requests.append(request)
            guard isOn, upnp else {
                return [.answer(number, .failure(PortMappingError(.exchangeFailed, "connection refused")))]
            }
            return [.answer(number, .success(reply(to: request)))]
        }
    }

    private mutating func choose(_ wanted: UInt16, for port: UInt16) -> UInt16 {
        var external = wanted == 0 ? 1024 : wanted
        while taken.contains(external) { external += 1 }
        mappings = mappings.filter { $0.value != port }
        mappings[external] = port
        return external
    }

    private mutating func reply(to bytes: [UInt8], at now: Duration) -> [UInt8]? {
        let epoch = epoch(at: now).networkBytes
        if bytes[0] == 2 {
            guard pcp else { return natPMP ? [0, 0x80, 0, 1] + epoch : nil }
            var answer: [UInt8] = [2, bytes[1] | 0x80, 0, 0] + Array(bytes[4..<8]) + epoch
            answer += [UInt8](repeating: 0, count: 12)
            guard bytes[1] == 1 else { return answer }
            answer[3] = pcpResult
            var map = Array(bytes[24...])
            let port = UInt16(map[16]) << 8 | UInt16(map[17])
            if pcpResult == 0, bytes[4..<8].allSatisfy({ $0 == 0 }) {
                mappings = mappings.filter { $0.value != port }
            } else if pcpResult == 0 {
                let chosen = choose(UInt16(map[18]) << 8 | UInt16(map[19]), for: port)
                map.replaceSubrange(18..<36, with: chosen.networkBytes + external.mappedBytes)
                if let lifetime { answer.replaceSubrange(4..<8, with: lifetime.networkBytes) }
            }
            return answer + map
        }
        guard natPMP else { return nil }
        let head: [UInt8] = [0, bytes[1] | 0x80] + natPMPResult.networkBytes + epoch
        guard natPMPResult == 0 else { return head }
        if bytes[1] == 0 { return head + external.bytes }
        let port = UInt16(bytes[4]) << 8 | UInt16(bytes[5])
        guard bytes[8...11].contains(where: { $0 != 0 }) else {
            mappings = mappings.filter { $0.value != port }
            return head + port.networkBytes + [0, 0, 0, 0, 0, 0]
        }
        let chosen = choose(UInt16(bytes[6]) << 8 | UInt16(bytes[7]), for: port)
        return head + port.networkBytes + chosen.networkBytes + (lifetime?.networkBytes ?? Array(bytes[8...11]))
    }

    private mutating func reply(to request: GatewayHTTPRequest) -> GatewayHTTPAnswer {
        if request.method == .get {
            let own = PortMappingTests.description(service: "WANIPConnection:\(serviceVersion)")
            return GatewayHTTPAnswer(status: 200, body: description ?? own)
        }
        guard let action = try? XMLElement(parsing: request.body).child("Body")?.children.first else {
            return GatewayHTTPAnswer(status: 400, body: [])
        }
        let port = UInt16(action.child("NewInternalPort")?.text ?? "") ?? 0
        let wanted = UInt16(action.child("NewExternalPort")?.text ?? "") ?? 0
        func fault(_ code: Int) -> GatewayHTTPAnswer { GatewayHTTPAnswer(status: 500, body: soapFault(code)) }
        switch action.name {
        case "GetExternalIPAddress":
            return GatewayHTTPAnswer(
                status: 200,
                body: envelope(action.name, "<NewExternalIPAddress>\(external)</NewExternalIPAddress>"))
        case "AddPortMapping":
            if !faults.isEmpty { return fault(faults.removeFirst()) }
            if !allowsLeases, action.child("NewLeaseDuration")?.text != "0" { return fault(725) }
            if taken.contains(wanted) { return fault(718) }
            mappings[wanted] = port
            return GatewayHTTPAnswer(status: 200, body: envelope(action.name))
        case "AddAnyPortMapping":
            let chosen = choose(wanted, for: port)
            return GatewayHTTPAnswer(
                status: 200, body: envelope(action.name, "<NewReservedPort>\(chosen)</NewReservedPort>"))
        case "DeletePortMapping":
            mappings[wanted] = nil
            return GatewayHTTPAnswer(status: 200, body: envelope(action.name))
        default: return fault(401)
        }
    }
}

/// A machine and a router on one clock that only the test moves.
struct RouterSimulation {
    var router: FakeRouter
    var machine: MappingMachine
    private(set) var now: Duration = .zero
    private var waiting: [MappingMachine.Event] = []

    init(
        _ router: FakeRouter, gateway: Gateway = FakeRouter.gateway, change: (inout MappingSettings) -> Void = { _ in }
    ) {
        self.router = router
        var settings = MappingSettings()
        change(&settings)
        machine = MappingMachine(
            gateway: gateway, port: ListenedPort(.tcp, 22000), identity: MappingIdentity(secret: [7]),
            settings: settings)
        deliver(.begin)
    }

    var grant: PortMappingGrant? {
        if case .mapped(let grant) = machine.report.outcome { grant } else { nil }
    }

    /// Lets an event happen now, and all that follows at once.
    mutating func deliver(_ event: MappingMachine.Event) {
        waiting.append(event)
        while !waiting.isEmpty {
            for action in machine.handle(waiting.removeFirst(), at: now) {
                waiting += router.answer(action, at: now)
            }
        }
    }

    /// Lets time pass, with everything that is due in it.
    mutating func advance(_ duration: Duration) {
        let end = now + duration
        while let due = machine.deadline, due <= end {
            now = max(now, due)
            deliver(.wake)
        }
        now = end
    }
}
