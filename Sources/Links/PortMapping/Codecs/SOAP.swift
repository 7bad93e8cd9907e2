import Transport

/// The operations of WANIPConnection and WANPPPConnection that this device uses, as SOAP 1.1 over HTTP.
package enum SOAP {
    package enum Action: Equatable, Sendable {
        case externalAddress
        case add(Mapping)
        /// As `add`; the router takes another external port if that one is not free.
        case addAny(Mapping)
        case delete(MappedTransport, externalPort: UInt16)

        var name: String {
            switch self {
            case .externalAddress: "GetExternalIPAddress"
            case .add: "AddPortMapping"
            case .addAny: "AddAnyPortMapping"
            case .delete: "DeletePortMapping"
            }
        }

        /// Names and values, in the order of the specification: some routers read them by position.
        var arguments: [(name: String, value: String)] {
            switch self {
            case .externalAddress: []
            case .add(let mapping), .addAny(let mapping):
                [
                    ("NewRemoteHost", ""), ("NewExternalPort", "\(mapping.externalPort)"),
                    ("NewProtocol", "\(mapping.port.transport)"), ("NewInternalPort", "\(mapping.port.number)"),
                    ("NewInternalClient", "\(mapping.client)"), ("NewEnabled", "1"),
                    ("NewPortMappingDescription", mapping.label), ("NewLeaseDuration", "\(mapping.leaseSeconds)"),
                ]
            case .delete(let transport, let externalPort):
                [("NewRemoteHost", ""), ("NewExternalPort", "\(externalPort)"), ("NewProtocol", "\(transport)")]
            }
        }
    }

    package struct Mapping: Equatable, Sendable {
        package var port: ListenedPort
        package var externalPort: UInt16
        /// This device's address in the router's network.
        package var client: IPAddress
        /// What the router shows people.
        package var label: String
        /// 0: until it is deleted.
        package var leaseSeconds: UInt32

        package init(
            port: ListenedPort, externalPort: UInt16, client: IPAddress, label: String, leaseSeconds: UInt32
        ) {
            self.port = port
            self.externalPort = externalPort
            self.client = client
            self.label = label
            self.leaseSeconds = leaseSeconds
        }
    }

    /// The body of a request of `service`'s.
    package static func body(of action: Action, serviceType: String) -> [UInt8] {
        let arguments = action.arguments.map { "<\($0.name)>\(XMLText.escaped($0.value))</\($0.name)>" }.joined()
        let text =
            "<?xml version=\"1.0\"?>\r\n"
            + "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" "
            + "s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body>"
            + "<u:\(action.name) xmlns:u=\"\(serviceType)\">\(arguments)</u:\(action.name)>"
            + "</s:Body></s:Envelope>\r\n"
        return Array(text.utf8)
    }

    /// The headers of such a request, with the names spelled as routers expect them.
    package static func headers(of action: Action, serviceType: String) -> [(name: String, value: String)] {
        [
            ("Content-Type", "text/xml; charset=\"utf-8\""), ("SOAPAction", "\"\(serviceType)#\(action.name)\""),
        ]
    }

    /// What a router answered.
    package enum Answer: Equatable, Sendable {
        /// It did what was asked; the address or port that it named, if it did.
        case done(externalAddress: IPAddress?, reservedPort: UInt16?)
        case fault(code: Int, text: String)

        static let limits: XMLElement.Limits = {
            var limits = XMLElement.Limits()
            limits.byteCount = 64 * 1024
            limits.elementCount = 200
            return limits
        }()

        /// - Throws: `malformed` or `tooLarge` for what is no answer; `exchangeFailed` for another HTTP status than 200
        ///   without a reason in the body.
        package init(status: Int, body: [UInt8]) throws(PortMappingError) {
            let parsed = Result { () throws(PortMappingError) in try XMLElement(parsing: body, limits: Self.limits) }
            if let error = try? parsed.get().descendant("UPnPError"),
                let code = Int(error.child("errorCode")?.text ?? "")
            {
                self = .fault(code: code, text: String((error.child("errorDescription")?.text ?? "").prefix(64)))
                return
            }
            guard status == 200 else {
                throw PortMappingError(.exchangeFailed, "it answered with HTTP status \(status)")
            }
            let root = try parsed.get()
            guard root.name == "Envelope", let answer = root.child("Body")?.children.first,
                answer.name.hasSuffix("Response")
            else { throw .malformed("its answer is not one of SOAP") }
            self = .done(
                externalAddress: answer.child("NewExternalIPAddress").flatMap { IPAddress($0.text) },
                reservedPort: answer.child("NewReservedPort").flatMap { UInt16($0.text) })
        }
    }

    /// What an error code of UPnP means (WANIPConnection:2, section 2.5; Device Architecture 1.1, table 3-3).
    package static func error(code: Int) -> PortMappingError {
        switch code {
        case 401, 602:
            PortMappingError(.unsupported, "it does not know the operation", result: code)
        case 402:
            PortMappingError(.malformed, "it does not accept the request's arguments", result: code)
        case 501:
            PortMappingError(.refused, "it failed to map the port", result: code)
        case 606:
            PortMappingError(.refused, "it does not let this device map ports", result: code)
        case 716:
            PortMappingError(.unsupported, "it does not map single ports for every sender", result: code)
        case 718:
            PortMappingError(.noFreePort, "another device uses the external port", result: code)
        case 724:
            PortMappingError(.noFreePort, "it maps a port only to the same number", result: code)
        case 725:
            PortMappingError(.unsupported, "it only maps ports without an end", result: code)
        case 728:
            PortMappingError(.noFreePort, "it has no room for another mapping", result: code)
        default:
            PortMappingError(.refused, "it refused with the error \(code)", result: code)
        }
    }
}
