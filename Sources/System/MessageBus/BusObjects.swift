/// The names of errors that every program on a bus knows (D-Bus Specification and sd-bus-errors(3)).
package enum BusErrorName {
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    package static let readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
}

/// What can be called at an object, and which signals it sends.
package struct BusInterface: Equatable, Sendable {
    package struct Method: Equatable, Sendable {
        package var name: String
        /// The signature of its arguments.
        package var takes: String
        package var gives: String

        package init(_ name: String, takes: String = "", gives: String = "") {
            self.name = name
            self.takes = takes
            self.gives = gives
        }
    }

    /// A property that others may read.
    package struct Property: Equatable, Sendable {
        package var name: String
        package var type: String

        package init(_ name: String, _ type: String) {
            self.name = name
            self.type = type
        }
    }

    package struct Signal: Equatable, Sendable {
        package var name: String
        package var carries: String

        package init(_ name: String, _ carries: String = "") {
            self.name = name
            self.carries = carries
        }
    }

    package var name: String
    package var methods: [Method]
    package var properties: [Property]
    package var signals: [Signal]

    package init(_ name: String, methods: [Method], properties: [Property], signals: [Signal]) {
        self.name = name
        self.methods = methods
        self.properties = properties
        self.signals = signals
    }
}

/// The objects that this program has on a bus, by their paths. Pure.
///
/// It answers itself what follows from the interfaces alone: `org.freedesktop.DBus.Introspectable`,
/// `org.freedesktop.DBus.Properties`, and errors for what there is not. What is left is a method of ours with arguments of the
/// types that it takes.
package struct BusObjects: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case answer(BusAnswer)
        /// `interface` is not empty, as it may be in the call.
        case method(path: String, interface: String, member: String, [BusValue])
    }

    private static let propertiesInterface = "org.freedesktop.DBus.Properties"
    private static let introspectable = "org.freedesktop.DBus.Introspectable"

    private let objects: [String: [BusInterface]]

    /// - Parameter objects: by paths, which begin with `/` and do not end with one.
    package init(_ objects: [String: [BusInterface]]) { self.objects = objects }

    /// What is to be done about a call.
    ///
    /// - Parameter value: Gives the value of one of our properties.
    package func outcome(
        of call: BusNotice, value: (_ path: String, _ interface: String, _ property: String) -> BusValue
    ) -> Outcome {
        if call.interface == Self.introspectable {
            guard call.member == "Introspect" else { return unknownMethod(call) }
            guard let document = introspection(of: call.path) else { return unknownObject(call) }
            return .answer(.values([.string(document)]))
        }
        guard let interfaces = objects[call.path] else { return unknownObject(call) }
        if call.interface == Self.propertiesInterface {
            return .answer(properties(call, interfaces) { value(call.path, $0, $1) })
        }
        // The specification lets a caller leave the interface out.
        let asked = call.interface.isEmpty ? interfaces : interfaces.filter { $0.name == call.interface }
        guard !asked.isEmpty else {
            return error(BusErrorName.unknownInterface, "no interface \(call.interface) at \(Self.short(call.path))")
        }
        for interface in asked {
            guard let method = interface.methods.first(where: { $0.name == call.member }) else { continue }
            let given = call.arguments.map(\.type).joined()
            guard given == method.takes else {
                return error(
                    BusErrorName.invalidArguments,
                    "\(method.name) takes arguments of the types \"\(method.takes)\", not \"\(Self.short(given))\"")
            }
            return .method(
                path: call.path, interface: interface.name, member: method.name, call.arguments)
        }
        return unknownMethod(call)
    }

    private func properties(
        _ call: BusNotice, _ interfaces: [BusInterface], _ value: (_ interface: String, _ property: String) -> BusValue
    ) -> BusAnswer {
        let types = call.arguments.map(\.type)
        guard ["Get": ["s", "s"], "GetAll": ["s"], "Set": ["s", "s", "v"]][call.member] == types,
            let name = call.arguments.first?.text
        else {
            return ["Get", "GetAll", "Set"].contains(call.member)
                ? .error(
                    name: BusErrorName.invalidArguments, message: "\(call.member) takes arguments of other types")
                : .unknown(call)
        }
        // An empty name is any interface.
        let asked = name.isEmpty ? interfaces : interfaces.filter { $0.name == name }
        guard !asked.isEmpty else {
            return .error(
                name: BusErrorName.unknownInterface,
                message: "no interface \(Self.short(name)) at \(Self.short(call.path))")
        }
        if call.member == "GetAll" {
            var all: [String: BusValue] = [:]
            for interface in asked {
                for property in interface.properties { all[property.name] = value(interface.name, property.name) }
            }
            return .values([.properties(all)])
        }
        let property = call.arguments[1].text ?? ""
        guard let interface = asked.first(where: { $0.properties.contains { $0.name == property } }) else {
            return .error(name: BusErrorName.unknownProperty, message: "no property \(Self.short(property))")
        }
        guard call.member == "Get" else {
            return .error(name: BusErrorName.readOnly, message: "\(Self.short(property)) can only be read")
        }
        return .values([.variant(value(interface.name, property))])
    }

    private func unknownObject(_ call: BusNotice) -> Outcome {
        error(BusErrorName.unknownObject, "no object at \(Self.short(call.path))")
    }

    private func unknownMethod(_ call: BusNotice) -> Outcome {
        error(BusErrorName.unknownMethod, "no method \(call.member) at \(Self.short(call.path))")
    }

    private func error(_ name: String, _ message: String) -> Outcome { .answer(.error(name: name, message: message)) }

    /// What a caller said, as an error may repeat it.
    private static func short(_ text: String) -> String { text.utf8.count <= 200 ? text : text.prefix(100) + "…" }

    // MARK: introspection

    /// The XML of an object, or of a path above one; nil for any other path.
    private func introspection(of path: String) -> String? {
        let prefix = path == "/" ? "/" : path + "/"
        let children = Set(
            objects.keys.filter { $0.hasPrefix(prefix) && $0 != path }.compactMap {
                $0.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
            })
        guard objects[path] != nil || !children.isEmpty else { return nil }
        var lines = [
            "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
            " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">", "<node>",
        ]
        for interface in (objects[path] ?? []) + (objects[path] == nil ? [] : [Self.propertiesMethods]) {
            lines.append(" <interface name=\"\(interface.name)\">")
            for method in interface.methods {
                lines.append("  <method name=\"\(method.name)\">")
                lines += Self.types(method.takes).map { "   <arg direction=\"in\" type=\"\($0)\"/>" }
                lines += Self.types(method.gives).map { "   <arg direction=\"out\" type=\"\($0)\"/>" }
                lines.append("  </method>")
            }
            for property in interface.properties {
                lines.append("  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"read\"/>")
            }
            for signal in interface.signals {
                lines.append("  <signal name=\"\(signal.name)\">")
                lines += Self.types(signal.carries).map { "   <arg type=\"\($0)\"/>" }
                lines.append("  </signal>")
            }
            lines.append(" </interface>")
        }
        lines += children.sorted().map { " <node name=\"\($0)\"/>" }
        return (lines + ["</node>"]).joined(separator: "\n")
    }

    private static let propertiesMethods = BusInterface(
        propertiesInterface,
        methods: [
            .init("Get", takes: "ss", gives: "v"), .init("GetAll", takes: "s", gives: "a{sv}"),
            .init("Set", takes: "ssv"),
        ], properties: [], signals: [])

    /// The complete types of a signature of ours, one by one.
    static func types(_ signature: String) -> [String] {
        var types: [String] = []
        var (type, depth) = ("", 0)
        for character in signature {
            type.append(character)
            switch character {
            case "(", "{": depth += 1
            case ")", "}": depth -= 1
            default: break
            }
            guard depth == 0, character != "a" else { continue }
            types.append(type)
            type = ""
        }
        return types
    }
}
