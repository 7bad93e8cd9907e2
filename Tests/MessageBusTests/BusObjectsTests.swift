import SyncTestKit
import Testing

@testable import MessageBus

struct BusObjectsTests {
    private static let interface = BusInterface(
        "org.example.Lamp",
        methods: [.init("Dim", takes: "ia{sv}"), .init("Ask", gives: "b")],
        properties: [.init("Level", "i"), .init("Name", "s")], signals: [.init("Changed", "i")])
    private let objects = BusObjects([
        "/lamp": [interface, BusInterface("org.example.Empty", methods: [], properties: [], signals: [])],
        "/house/attic/lamp": [interface],
    ])

    private func outcome(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) -> BusObjects.Outcome {
        objects.outcome(
            of: BusNotice(sender: ":1.7", path: path, interface: interface, member: member, arguments: arguments)
        ) { _, _, name in name == "Level" ? .int32(7) : .string(name) }
    }

    private func error(_ outcome: BusObjects.Outcome) -> String? {
        if case .answer(.error(let name, _)) = outcome { name } else { nil }
    }

    @Test func methodsAreHandedOut() {
        let arguments: [BusValue] = [.int32(5), .properties([:])]
        #expect(
            outcome("/lamp", "org.example.Lamp", "Dim", arguments)
                == .method(path: "/lamp", interface: "org.example.Lamp", member: "Dim", arguments))
        // The interface may be left out.
        #expect(
            outcome("/lamp", "", "Ask") == .method(path: "/lamp", interface: "org.example.Lamp", member: "Ask", []))
    }

    @Test(
        arguments: [
            ("/", "org.example.Lamp", "Ask", [], BusErrorName.unknownObject),
            ("/house", "org.example.Lamp", "Ask", [], BusErrorName.unknownObject),
            ("/lamp/x", "", "Ask", [], BusErrorName.unknownObject),
            ("/lamp", "org.example.Other", "Ask", [], BusErrorName.unknownInterface),
            ("/lamp", "org.example.Lamp", "ask", [], BusErrorName.unknownMethod),
            ("/lamp", "", "Changed", [.int32(1)], BusErrorName.unknownMethod),
            ("/lamp", "org.example.Lamp", "Ask", [.int32(1)], BusErrorName.invalidArguments),
            ("/lamp", "org.example.Lamp", "Dim", [], BusErrorName.invalidArguments),
            ("/lamp", "org.example.Lamp", "Dim", [.uint32(5), .properties([:])], BusErrorName.invalidArguments),
            (
                "/lamp", "org.example.Lamp", "Dim", [.variant(.int32(5)), .properties([:])],
                BusErrorName.invalidArguments
            ),
            ("/lamp", "org.freedesktop.DBus.Properties", "Get", [], BusErrorName.invalidArguments),
            (
                "/lamp", "org.freedesktop.DBus.Properties", "Get", [.string("org.example.Lamp")],
                BusErrorName.invalidArguments
            ),
            (
                "/lamp", "org.freedesktop.DBus.Properties", "Get", [.string("x.y"), .string("Level")],
                BusErrorName.unknownInterface
            ),
            (
                "/lamp", "org.freedesktop.DBus.Properties", "Get", [.string("org.example.Lamp"), .string("Weight")],
                BusErrorName.unknownProperty
            ),
            (
                "/lamp", "org.freedesktop.DBus.Properties", "Get", [.string("org.example.Empty"), .string("Level")],
                BusErrorName.unknownProperty
            ),
            (
                "/lamp", "org.freedesktop.DBus.Properties", "Set",
                [.string("org.example.Lamp"), .string("Level"), .variant(.int32(1))], BusErrorName.readOnly
            ),
            ("/lamp", "org.freedesktop.DBus.Properties", "Take", [], BusErrorName.unknownMethod),
            ("/house/att", "org.freedesktop.DBus.Introspectable", "Introspect", [], BusErrorName.unknownObject),
            ("/lamp", "org.freedesktop.DBus.Introspectable", "Inspect", [], BusErrorName.unknownMethod),
        ] as [(String, String, String, [BusValue], String)])
    func whatThereIsNotIsAnError(
        path: String, interface: String, member: String, arguments: [BusValue], expected: String
    ) {
        #expect(error(outcome(path, interface, member, arguments)) == expected)
    }

    @Test func propertiesAreRead() {
        let properties = "org.freedesktop.DBus.Properties"
        #expect(
            outcome("/lamp", properties, "Get", [.string("org.example.Lamp"), .string("Level")])
                == .answer(.values([.variant(.int32(7))])))
        let all = BusObjects.Outcome.answer(.values([.properties(["Level": .int32(7), "Name": .string("Name")])]))
        #expect(outcome("/lamp", properties, "GetAll", [.string("org.example.Lamp")]) == all)
        #expect(outcome("/lamp", properties, "GetAll", [.string("")]) == all)
        #expect(
            outcome("/lamp", properties, "GetAll", [.string("org.example.Empty")])
                == .answer(.values([.properties([:])])))
    }

    private func introspection(_ path: String) throws -> String {
        guard case .answer(.values(let values)) = outcome(path, "org.freedesktop.DBus.Introspectable", "Introspect")
        else { return "" }
        return try #require(values.first?.text)
    }

    @Test func introspectionNamesTheObjectsBelow() throws {
        #expect(try introspection("/").contains("<node name=\"house\"/>\n <node name=\"lamp\"/>"))
        #expect(try introspection("/house").contains("<node name=\"attic\"/>"))
        #expect(try !introspection("/house").contains("interface"))
        let lamp = try introspection("/lamp")
        #expect(lamp.contains("<arg direction=\"in\" type=\"i\"/>\n   <arg direction=\"in\" type=\"a{sv}\"/>"))
        #expect(lamp.contains("<property name=\"Level\" type=\"i\" access=\"read\"/>"))
        #expect(lamp.contains("<interface name=\"org.freedesktop.DBus.Properties\">"))
    }

    @Test(
        arguments: [
            ("", []), ("is", ["i", "s"]), ("aias", ["ai", "as"]), ("u(ia{sv}av)", ["u", "(ia{sv}av)"]),
            ("a(isvu)aa{s(ii)}b", ["a(isvu)", "aa{s(ii)}", "b"]),
        ] as [(String, [String])])
    func signaturesAreTakenApart(signature: String, types: [String]) {
        #expect(BusObjects.types(signature) == types)
    }

    /// An error repeats little of what a caller sent.
    @Test func errorsAreShort() {
        let long = String(repeating: "x", count: 100_000)
        for (path, interface, member, arguments) in [
            ("/" + long, "", "Ask", []),
            ("/lamp", "org.example.Lamp", "Dim", [BusValue.structure(Array(repeating: .byte(0), count: 5000))]),
            ("/lamp", "org.freedesktop.DBus.Properties", "Get", [.string(""), .string(long)]),
        ] {
            guard case .answer(.error(_, let message)) = outcome(path, interface, member, arguments) else {
                Issue.record("no error")
                continue
            }
            #expect(message.utf8.count < 500)
        }
    }
}

struct MessageLimitTests {
    @Test func whatIsTakenIsCounted() {
        var limit = MessageLimit(values: 3, bytes: 10)
        let taken = [limit.take(), limit.take(values: 0, bytes: 10), limit.take(values: 2)]
        #expect(taken == [true, true, true])
        #expect(!limit.isExceeded)
        // From then on nothing fits any more, however small.
        let refused = [limit.take(), limit.take(values: 0)]
        #expect(refused == [false, false])
        #expect(limit.isExceeded)
    }

    @Test func moreThanThereIsTakesNothing() {
        var limit = MessageLimit(values: 3, bytes: 10)
        let isTaken = limit.take(values: 0, bytes: .max)
        #expect(!isTaken)
        #expect(limit.values == 3)
        #expect(limit.bytes == 10)
    }
}
