import MessageBus
import SyncTestKit
import Testing

@testable import MachineState

struct TrayObjectsTests {
    private static func look(
        _ mark: TrayLook.Mark = .plain, urgent: Bool = false, tip: [String] = ["Up to date"],
        state: String = "Up to date", attention: Bool = false
    ) -> TrayLook {
        TrayLook(
            mark: mark, isUrgent: urgent, tip: tip,
            items: [
                .init(word: "state", label: state, isEnabled: false),
                .init(word: "attention", label: "1 thing", isVisible: attention), .separator,
                .init(word: "open", label: "Open my_page"),
            ], click: "open")
    }

    private func call(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) -> BusNotice
    {
        BusNotice(sender: ":1.9", path: path, interface: interface, member: member, arguments: arguments)
    }

    private func menu(_ objects: TrayObjects, _ member: String, _ arguments: [BusValue]) -> (BusAnswer, click: String?)
    {
        objects.answer(call(TrayObjects.menuPath, TrayObjects.menuInterface, member, arguments))
    }

    private func property(_ objects: TrayObjects, _ name: String) -> BusValue? {
        let answer = objects.answer(
            call(
                TrayObjects.itemPath, "org.freedesktop.DBus.Properties", "Get",
                [.string(TrayObjects.itemInterface), .string(name)])
        ).0
        guard case .values(let values) = answer else { return nil }
        return values.first?.plain
    }

    private func isError(_ answer: BusAnswer) -> Bool {
        if case .error = answer { true } else { false }
    }

    /// A desktop that asks for all gets each property, of the type that the introspection promises.
    @Test(arguments: TrayLook.Mark.allCases, [Set<TrayLook.Mark>(), Set(TrayLook.Mark.allCases)])
    func propertiesHaveTheirTypes(mark: TrayLook.Mark, themed: Set<TrayLook.Mark>) throws {
        let objects = TrayObjects(look: Self.look(mark), themed: themed)
        for (path, interface) in [
            (TrayObjects.itemPath, TrayObjects.itemInterface), (TrayObjects.menuPath, TrayObjects.menuInterface),
        ] {
            for name in ["IconName", "Status"] { #expect(property(objects, name) != nil) }
            let answer = objects.answer(
                call(path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)])
            ).0
            guard case .values(let values) = answer else {
                Issue.record("\(interface): \(answer)")
                continue
            }
            let all = try #require(values.first?.members)
            for declared in path == TrayObjects.itemPath ? Self.itemTypes : Self.menuTypes {
                #expect(all[declared.key]?.type == declared.value, "\(declared.key)")
            }
            #expect(all.count == (path == TrayObjects.itemPath ? Self.itemTypes : Self.menuTypes).count)
        }
    }

    /// As the specifications have them.
    private static let itemTypes = [
        "Category": "s", "Id": "s", "Title": "s", "Status": "s", "WindowId": "i", "IconThemePath": "s", "IconName": "s",
        "IconPixmap": "a(iiay)", "OverlayIconName": "s", "OverlayIconPixmap": "a(iiay)", "AttentionIconName": "s",
        "AttentionIconPixmap": "a(iiay)", "AttentionMovieName": "s", "ToolTip": "(sa(iiay)ss)", "ItemIsMenu": "b",
        "Menu": "o",
    ]
    private static let menuTypes = ["Version": "u", "TextDirection": "s", "Status": "s", "IconThemePath": "as"]

    @Test func aPictureThatTheThemeLacksComesAsPixels() throws {
        var objects = TrayObjects(look: Self.look(), themed: [.plain])
        #expect(property(objects, "IconName") == .string("synctrain"))
        #expect(property(objects, "IconPixmap") == .array(element: "(iiay)", []))
        _ = objects.show(Self.look(.attention, urgent: true))
        #expect(property(objects, "IconName") == .string(""))
        #expect(property(objects, "IconPixmap") == TrayIcon.pixmaps(.attention))
        #expect(property(objects, "Status") == .string("NeedsAttention"))
        _ = objects.show(Self.look())
        #expect(property(objects, "IconName") == .string("synctrain"))
        #expect(property(objects, "Status") == .string("Active"))
    }

    @Test(
        arguments: [
            (look(), []), (look(tip: ["Scanning"]), ["NewToolTip"]),
            (look(.paused), ["NewIcon", "NewAttentionIcon", "NewToolTip"]),
            (look(urgent: true), ["NewStatus"]), (look(state: "Scanning"), ["ItemsPropertiesUpdated"]),
            (look(attention: true), ["ItemsPropertiesUpdated", "LayoutUpdated"]),
        ] as [(TrayLook, [String])])
    func onlyWhatChangesIsTold(new: TrayLook, members: [String]) {
        var objects = TrayObjects(look: Self.look(), themed: [])
        let told = objects.show(new).map(\.member)
        #expect(told == members)
        let toldAgain = objects.show(new)
        #expect(toldAgain.isEmpty)
    }

    @Test func changesOfTheMenuSayWhatIsNow() {
        var objects = TrayObjects(look: Self.look(), themed: [])
        let signals = objects.show(Self.look(state: "a_b", attention: true))
        #expect(
            signals.map(\.arguments) == [
                [
                    .array(
                        element: "(ia{sv})",
                        [
                            .structure([
                                .int32(1),
                                .properties([
                                    "label": .string("a__b"), "enabled": .boolean(false), "visible": .boolean(true),
                                ]),
                            ]),
                            .structure([
                                .int32(2),
                                .properties([
                                    "label": .string("1 thing"), "enabled": .boolean(true), "visible": .boolean(true),
                                ]),
                            ]),
                        ]), .array(element: "(ias)", []),
                ], [.uint32(2), .int32(0)],
            ])
    }

    @Test func theLayoutHasAllItems() throws {
        let objects = TrayObjects(look: Self.look(), themed: [])
        func item(_ id: Int32, _ properties: [String: BusValue]) -> BusValue {
            .variant(.structure([.int32(id), .properties(properties), .array(element: "v", [])]))
        }
        let root = BusValue.properties(["children-display": .string("submenu")])
        #expect(
            menu(objects, "GetLayout", [.int32(0), .int32(-1), .strings([])]).0
                == .values([
                    .uint32(1),
                    .structure([
                        .int32(0), root,
                        .array(
                            element: "v",
                            [
                                item(1, ["label": .string("Up to date"), "enabled": .boolean(false)]),
                                item(2, ["label": .string("1 thing"), "visible": .boolean(false)]),
                                item(3, ["type": .string("separator")]), item(4, ["label": .string("Open my__page")]),
                            ]),
                    ]),
                ]))
        // Without children, and one item with what was asked for.
        #expect(
            menu(objects, "GetLayout", [.int32(0), .int32(0), .strings([])]).0
                == .values([.uint32(1), .structure([.int32(0), root, .array(element: "v", [])])]))
        #expect(
            menu(objects, "GetLayout", [.int32(1), .int32(-1), .strings(["enabled"])]).0
                == .values([
                    .uint32(1),
                    .structure([.int32(1), .properties(["enabled": .boolean(false)]), .array(element: "v", [])]),
                ]))
        for id in [5, -1, Int32.max, .min] {
            #expect(isError(menu(objects, "GetLayout", [.int32(id), .int32(-1), .strings([])]).0))
        }
    }

    @Test func propertiesOfItems() {
        let objects = TrayObjects(look: Self.look(), themed: [])
        #expect(
            menu(objects, "GetGroupProperties", [.array(element: "i", [.int32(4), .int32(99)]), .strings([])]).0
                == .values([
                    .array(
                        element: "(ia{sv})",
                        [.structure([.int32(4), .properties(["label": .string("Open my__page")])])])
                ]))
        #expect(
            menu(objects, "GetProperty", [.int32(4), .string("visible")]).0 == .values([.variant(.boolean(true))]))
        #expect(isError(menu(objects, "GetProperty", [.int32(4), .string("colour")]).0))
        #expect(isError(menu(objects, "GetProperty", [.int32(9), .string("label")]).0))
    }

    @Test(
        arguments: [
            (4, "clicked", "open", false), (4, "hovered", nil, false), (0, "opened", nil, false),
            // Disabled, not visible, a separator.
            (1, "clicked", nil, false), (2, "clicked", nil, false), (3, "clicked", nil, false),
            (5, "clicked", nil, true), (-1, "clicked", nil, true), (.min, "clicked", nil, true),
        ] as [(Int32, String, String?, Bool)])
    func clicks(id: Int32, event: String, word: String?, isWrong: Bool) {
        let objects = TrayObjects(look: Self.look(), themed: [])
        let data: [BusValue] = [.int32(id), .string(event), .variant(.int32(0)), .uint32(0)]
        let (answer, click) = menu(objects, "Event", data)
        #expect(click == word)
        #expect(isError(answer) == isWrong)
        let group = menu(objects, "EventGroup", [.array(element: "(isvu)", [.structure(data)])])
        #expect(group.click == word)
        #expect(isError(group.0) == isWrong)
    }

    @Test func aGroupOfEventsSaysWhichItemsThereAreNot() {
        let objects = TrayObjects(look: Self.look(), themed: [])
        let events = [(9, "clicked"), (4, "clicked"), (1, "clicked")].map { id, name in
            BusValue.structure([.int32(id), .string(name), .variant(.string("")), .uint32(1)])
        }
        let (answer, click) = menu(objects, "EventGroup", [.array(element: "(isvu)", events)])
        #expect(answer == .values([.array(element: "i", [.int32(9)])]))
        #expect(click == "open")
        #expect(
            menu(objects, "AboutToShowGroup", [.array(element: "i", [.int32(0), .int32(7)])]).0
                == .values([.array(element: "i", []), .array(element: "i", [.int32(7)])]))
        #expect(menu(objects, "AboutToShow", [.int32(0)]).0 == .values([.boolean(false)]))
        #expect(isError(menu(objects, "AboutToShow", [.int32(8)]).0))
    }

    @Test func aClickOnTheIconIsTheLooks() {
        let objects = TrayObjects(look: Self.look(), themed: [])
        let activate = objects.answer(
            call(TrayObjects.itemPath, TrayObjects.itemInterface, "Activate", [.int32(3), .int32(4)]))
        #expect(activate.0 == .nothing)
        #expect(activate.click == "open")
        #expect(
            objects.answer(call(TrayObjects.itemPath, TrayObjects.itemInterface, "Scroll", [.int32(1), .string("x")]))
                .click == nil)
        #expect(isError(objects.answer(call("/other", TrayObjects.itemInterface, "Activate")).0))
    }

    /// Whatever is called with whatever arguments, there is an answer.
    @Test func nothingTraps() {
        var random = SeededGenerator(seed: 7)
        let objects = TrayObjects(look: Self.look(), themed: [])
        let values: [BusValue] = [
            .int32(.min), .int32(0), .int32(4), .int32(.max), .uint32(.max), .string(""), .string("label"),
            .variant(.variant(.int32(1))), .strings([]), .strings(["label"]), .array(element: "i", [.int32(.min)]),
            .array(element: "(isvu)", []), .array(element: "i", []), .structure([]), .boolean(true), .bytes([]),
        ]
        let members = [
            "GetLayout", "GetGroupProperties", "GetProperty", "Event", "EventGroup", "AboutToShow", "AboutToShowGroup",
            "Activate", "Scroll", "Get", "GetAll", "Set", "Introspect", "",
        ]
        let interfaces = [
            "", TrayObjects.itemInterface, TrayObjects.menuInterface, "org.freedesktop.DBus.Properties",
            "org.freedesktop.DBus.Introspectable", "x",
        ]
        for _ in 0..<2_000 {
            let arguments = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                values.randomElement(using: &random) ?? .byte(0)
            }
            let (answer, _) = objects.answer(
                call(
                    ["/", TrayObjects.itemPath, TrayObjects.menuPath].randomElement(using: &random) ?? "",
                    interfaces.randomElement(using: &random) ?? "", members.randomElement(using: &random) ?? "",
                    arguments))
            if case .error(let name, _) = answer { #expect(name.hasPrefix("org.freedesktop.DBus.Error.")) }
        }
    }
}
