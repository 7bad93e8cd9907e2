/// What an internet gateway says of itself (UPnP Device Architecture 1.1, section 2.3; WANIPConnection:1 and :2).
package struct DeviceDescription: Equatable, Sendable {
    /// A service that maps ports.
    package struct Service: Equatable, Hashable, Sendable {
        /// For example `urn:schemas-upnp-org:service:WANIPConnection:1`.
        package var type: String
        package var control: RouterURL

        package init(type: String, control: RouterURL) {
            self.type = type
            self.control = control
        }

        /// Whether it can choose a free external port itself (WANIPConnection:2, section 2.5.20).
        var choosesPorts: Bool { type == DeviceDescription.serviceTypes[0] }
    }

    /// What the router calls itself, for people: printable, at most 64 characters; empty if it does not say.
    package var name: String
    /// In the order in which they are tried; at least one, at most `maximumServiceCount`.
    package var services: [Service]

    static let maximumServiceCount = 8

    /// In the order in which they are preferred.
    static let serviceTypes = [
        "urn:schemas-upnp-org:service:WANIPConnection:2", "urn:schemas-upnp-org:service:WANIPConnection:1",
        "urn:schemas-upnp-org:service:WANPPPConnection:2", "urn:schemas-upnp-org:service:WANPPPConnection:1",
    ]

    /// Reads the description that came from `location`. Whatever URL it names, host and port stay those of `location`.
    /// - Throws: `tooLarge` or `malformed` for what is no bounded XML; `noService` if no service in it maps ports.
    package init(_ bytes: [UInt8], from location: RouterURL) throws(PortMappingError) {
        let root = try XMLElement(parsing: bytes)
        guard let device = root.child("device"), SSDP.gatewayTypes.contains(device.child("deviceType")?.text ?? "")
        else {
            throw PortMappingError(.noService, "its description is not one of a gateway")
        }
        name = Self.printable(device.child("friendlyName")?.text ?? "")
        var found: [Service] = []
        // Breadth first: gateway, WAN device, WAN connection device. The XML's depth bounds it.
        var level = [device]
        while !level.isEmpty {
            for service in level.flatMap({ $0.child("serviceList")?.children ?? [] }) {
                guard found.count < Self.maximumServiceCount, let type = service.child("serviceType")?.text,
                    Self.serviceTypes.contains(type), let url = service.child("controlURL")?.text,
                    let control = try? location.resolving(url)
                else { continue }
                found.append(Service(type: type, control: control))
            }
            level = level.flatMap { $0.child("deviceList")?.children ?? [] }
        }
        services = Self.serviceTypes.flatMap { type in found.filter { $0.type == type } }
        guard !services.isEmpty else {
            throw PortMappingError(.noService, "its description has no service that maps ports")
        }
    }

    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }).prefix(
                64))
    }
}
