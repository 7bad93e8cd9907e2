/// Which of the buses of a machine.
package enum BusKind: Sendable {
    /// Of the machine, `DBUS_SYSTEM_BUS_ADDRESS`.
    case system
    /// Of the user, `DBUS_SESSION_BUS_ADDRESS` or `bus` in `XDG_RUNTIME_DIR`.
    case session
}

/// A call of a method on the bus.
package struct BusCall: Equatable, Sendable {
    package var destination: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]
    /// Whether the bus may start the service for it.
    package var startsService = false

    package init(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// A signal, or a call of one of this program's methods.
package struct BusNotice: Equatable, Sendable {
    /// The unique name of who sent it.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]

    package init(sender: String, path: String, interface: String, member: String, arguments: [BusValue] = []) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// A signal of one of this program's objects.
package struct BusSignal: Equatable, Sendable {
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]

    package init(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) {
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// What a call of one of this program's methods is answered with.
package enum BusAnswer: Equatable, Sendable {
    case values([BusValue])
    case error(name: String, message: String)

    package static let nothing = BusAnswer.values([])

    package static func unknown(_ notice: BusNotice) -> BusAnswer {
        .error(
            name: "org.freedesktop.DBus.Error.UnknownMethod",
            message: "no method \(notice.interface).\(notice.member) at \(notice.path)")
    }
}

/// Why a call on the bus gave no answer.
package struct BusError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Equatable, Sendable {
        /// There is no connection to the bus.
        case disconnected
        case timedOut
        /// The other program answered with an error: `name` says which.
        case remote
        /// The call could not be put into a message.
        case invalid
    }

    package var code: Code
    /// The error's name on the bus, such as `org.bluez.Error.NotReady`.
    package var name: String
    package var message: String

    package init(_ code: Code, name: String = "", _ message: String) {
        self.code = code
        self.name = name
        self.message = message
    }

    package var description: String { name.isEmpty ? message : "\(name): \(message)" }
}
