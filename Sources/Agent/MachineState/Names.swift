import MessageBus

/// Where on the bus the machine's state is said.
enum Names {
    struct Place {
        var service: String
        var path: String
        var interface: String
    }

    static let bus = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
    static let properties = "org.freedesktop.DBus.Properties"

    static let networkManager = Place(
        service: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager",
        interface: "org.freedesktop.NetworkManager")
    static let upower = Place(
        service: "org.freedesktop.UPower", path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower")
    /// All batteries as one, as a desktop shows them.
    static let battery = Place(
        service: "org.freedesktop.UPower", path: "/org/freedesktop/UPower/devices/DisplayDevice",
        interface: "org.freedesktop.UPower.Device")

    static let logind = Place(
        service: "org.freedesktop.login1", path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager")
    static let sleep = "PrepareForSleep"

    private static let places = [networkManager, upower, battery]

    /// The signals that are asked for: a service comes or goes, one of the three says that something has changed, or the machine is
    /// about to sleep or has woken.
    static var rules: [String] {
        [networkManager, upower, logind].map {
            "type='signal',sender='\(bus)',path='\(busPath)',interface='\(bus)',member='NameOwnerChanged',"
                + "arg0='\($0.service)'"
        }
            + places.map {
                "type='signal',sender='\($0.service)',path='\($0.path)',interface='\(properties)',"
                    + "member='PropertiesChanged',arg0='\($0.interface)'"
            } + [
                "type='signal',sender='\(logind.service)',path='\(logind.path)',interface='\(logind.interface)',"
                    + "member='\(sleep)'"
            ]
    }

    static func isOfInterest(_ signal: BusNotice) -> Bool {
        switch signal.member {
        case "NameOwnerChanged": (places + [logind]).contains { isOfOwner(signal, of: $0) }
        case "PropertiesChanged": places.contains { $0.path == signal.path }
        default: false
        }
    }

    /// Whether a service has come or gone.
    static func isOfOwner(_ signal: BusNotice, of place: Place) -> Bool {
        signal.member == "NameOwnerChanged" && signal.arguments.first?.text == place.service
    }

    /// Whether the machine is about to sleep (true) or has woken; nil for any other signal.
    static func isFallingAsleep(_ signal: BusNotice) -> Bool? {
        signal.member == sleep && signal.path == logind.path ? signal.arguments.first?.flag : nil
    }
}
