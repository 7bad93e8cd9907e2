import Transport

/// Has a router map one port by UPnP: description, external address, mapping; one HTTP request after the other.
struct UPnPConversation: Sendable {
    enum Step: Sendable, Equatable {
        case request(GatewayHTTPRequest)
        case granted(PortMappingGrant, by: DeviceDescription.Service)
        case failed(PortMappingError)
    }

    /// What is to be mapped, to whom.
    struct Wish: Sendable {
        var port: ListenedPort
        var client: IPAddress
        /// External ports, the most wanted first.
        var externalPorts: [UInt16]
        var settings: MappingSettings
    }

    private struct Adding {
        var service: DeviceDescription.Service
        var externalAddress: IPAddress?
        var ports: ArraySlice<UInt16>
        var isPermanent = false
        /// Whether the router chooses the port.
        var isAny = false
        var hasTriedAny = false
        var hasTriedSameNumber = false
    }

    private enum Stage {
        case begun
        case describing(RouterURL)
        case askingAddress(DeviceDescription.Service)
        case adding(Adding)
    }

    /// So that no set of routers, services and refusals takes more.
    static let maximumRequestCount = 40
    static let requestTimeout: Duration = .seconds(8)

    private let wish: Wish
    private var locations: ArraySlice<RouterURL>
    private var services: ArraySlice<DeviceDescription.Service>
    private var stage = Stage.begun
    private var requestCount = 0
    private var lastError = PortMappingError(.silent, "no router answered the search")

    /// - Parameters:
    ///   - locations: descriptions to look at.
    ///   - services: services that are known already, tried first.
    init(wish: Wish, locations: [RouterURL] = [], services: [DeviceDescription.Service] = []) {
        self.wish = wish
        self.locations = locations[...]
        self.services = services[...]
    }

    mutating func begin() -> Step { nextService() }

    /// Takes what came of the request of the last step.
    mutating func received(_ result: Result<GatewayHTTPAnswer, PortMappingError>) -> Step {
        do throws(PortMappingError) {
            switch stage {
            case .begun: return begin()
            case .describing(let location):
                let answer = try result.get()
                guard answer.status == 200 else {
                    throw PortMappingError(
                        .exchangeFailed, "it answered with HTTP status \(answer.status) for its description")
                }
                services = try DeviceDescription(answer.body, from: location).services[...]
                return nextService()
            case .askingAddress(let service):
                return try address(try Self.answer(in: result), of: service)
            case .adding(let adding):
                return try added(try Self.answer(in: result), adding)
            }
        } catch {
            lastError = error
            return nextService()
        }
    }

    private static func answer(
        in result: Result<GatewayHTTPAnswer, PortMappingError>
    ) throws(PortMappingError) -> SOAP.Answer {
        let answer = try result.get()
        return try SOAP.Answer(status: answer.status, body: answer.body)
    }

    private mutating func nextService() -> Step {
        if let service = services.popFirst() {
            stage = .askingAddress(service)
            return request(.externalAddress, of: service)
        }
        guard let location = locations.popFirst() else { return .failed(lastError) }
        stage = .describing(location)
        return counted(
            GatewayHTTPRequest(
                method: .get, url: location, headers: [], body: [],
                localAddress: wish.client, maximumBodyByteCount: XMLElement.Limits().byteCount,
                timeout: Self.requestTimeout))
    }

    private mutating func address(
        _ answer: SOAP.Answer, of service: DeviceDescription.Service
    ) throws(PortMappingError) -> Step {
        var known: IPAddress?
        switch answer {
        case .done(let address, _):
            if let address, address.isIPv4, !address.isUnspecified { known = address }
        case .fault(let code, _):
            lastError = SOAP.error(code: code)
        }
        // Of several services only the connected one has an address. The last is tried without one.
        if known == nil, !services.isEmpty { return nextService() }
        return add(Adding(service: service, externalAddress: known, ports: wish.externalPorts[...]))
    }

    private mutating func added(_ answer: SOAP.Answer, _ adding: Adding) throws(PortMappingError) -> Step {
        var adding = adding
        switch answer {
        case .done(_, let reserved):
            let port = (adding.isAny ? reserved : nil) ?? adding.ports.first ?? 0
            guard port != 0 else { throw .malformed("it names no external port") }
            return .granted(
                PortMappingGrant(
                    method: .upnp, externalAddress: adding.externalAddress, externalPort: port,
                    lease: adding.isPermanent ? nil : wish.settings.lease),
                by: adding.service)
        case .fault(let code, _):
            let error = SOAP.error(code: code)
            switch code {
            case 718 where adding.service.choosesPorts && !adding.hasTriedAny:
                adding.isAny = true
                adding.hasTriedAny = true
            case _ where adding.isAny && [401, 602, 718].contains(code), 718 where adding.ports.count > 1:
                adding.isAny = false
                adding.ports = adding.ports.dropFirst()
            case 725 where !adding.isPermanent:
                adding.isPermanent = true
            case 724 where !adding.hasTriedSameNumber:
                adding.hasTriedSameNumber = true
                adding.ports = [wish.port.number]
            default: throw error
            }
            lastError = error
            return add(adding)
        }
    }

    private mutating func add(_ adding: Adding) -> Step {
        guard let external = adding.ports.first else { return nextService() }
        stage = .adding(adding)
        let mapping = SOAP.Mapping(
            port: wish.port, externalPort: external, client: wish.client, label: wish.settings.label,
            leaseSeconds: adding.isPermanent ? 0 : wish.settings.leaseSeconds)
        return request(adding.isAny ? .addAny(mapping) : .add(mapping), of: adding.service)
    }

    private mutating func request(_ action: SOAP.Action, of service: DeviceDescription.Service) -> Step {
        counted(Self.request(action, of: service, from: wish.client))
    }

    private mutating func counted(_ request: GatewayHTTPRequest) -> Step {
        requestCount += 1
        return requestCount <= Self.maximumRequestCount ? .request(request) : .failed(lastError)
    }

    static func request(
        _ action: SOAP.Action, of service: DeviceDescription.Service, from client: IPAddress
    ) -> GatewayHTTPRequest {
        GatewayHTTPRequest(
            method: .post, url: service.control,
            headers: SOAP.headers(of: action, serviceType: service.type).map { .init(name: $0.name, value: $0.value) },
            body: SOAP.body(of: action, serviceType: service.type), localAddress: client,
            maximumBodyByteCount: SOAP.Answer.limits.byteCount, timeout: requestTimeout)
    }
}
