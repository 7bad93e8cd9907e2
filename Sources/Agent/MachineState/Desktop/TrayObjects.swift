import MessageBus

/// The tray icon and its menu as objects on the bus: what they say, and how calls of them are answered. Pure.
///
/// The icon is a `StatusNotifierItem` (the specification of freedesktop.org, under the name that KDE gave it, which is the one in
/// use), the menu is `com.canonical.dbusmenu`, version 3.
struct TrayObjects: Sendable {
    static let itemPath = "/StatusNotifierItem"
    static let menuPath = "/MenuBar"
    static let itemInterface = "org.kde.StatusNotifierItem"
    static let menuInterface = "com.canonical.dbusmenu"

    private(set) var look: TrayLook
    /// The pictures that the icon theme has; of others the pixels are sent.
    let themed: Set<TrayLook.Mark>
    /// Of the menu's layout.
    private(set) var revision: UInt32 = 1
    /// The pixels of each picture that was shown and is not in the theme; drawing one takes some milliseconds.
    private var drawn: [TrayLook.Mark: BusValue] = [:]

    private static let noPixmaps = BusValue.array(element: "(iiay)", [])

    init(look: TrayLook, themed: Set<TrayLook.Mark>) {
        self.look = look
        self.themed = themed
        draw()
    }

    private mutating func draw() {
        guard !themed.contains(look.mark), drawn[look.mark] == nil else { return }
        drawn[look.mark] = TrayIcon.pixmaps(look.mark)
    }

    /// Shows something else, and gives the signals that tell of it.
    mutating func show(_ new: TrayLook) -> [BusSignal] {
        let old = look
        look = new
        var signals: [BusSignal] = []
        func item(_ member: String, _ arguments: [BusValue] = []) {
            signals.append(BusSignal(Self.itemPath, Self.itemInterface, member, arguments))
        }
        if old.mark != new.mark {
            draw()
            item("NewIcon")
            item("NewAttentionIcon")
        }
        if old.isUrgent != new.isUrgent { item("NewStatus", [.string(status)]) }
        if old.tip != new.tip || old.mark != new.mark { item("NewToolTip") }
        let changed = new.items.indices.filter { !old.items.indices.contains($0) || old.items[$0] != new.items[$0] }
        if old.items.count == new.items.count, !changed.isEmpty {
            signals.append(
                BusSignal(
                    Self.menuPath, Self.menuInterface, "ItemsPropertiesUpdated",
                    [
                        .array(
                            element: "(ia{sv})",
                            changed.map {
                                .structure([.int32(Int32($0 + 1)), .properties(allProperties(new.items[$0]))])
                            }),
                        .array(element: "(ias)", []),
                    ]))
        }
        if old.items.map(\.isVisible) != new.items.map(\.isVisible) {
            revision &+= 1
            signals.append(
                BusSignal(Self.menuPath, Self.menuInterface, "LayoutUpdated", [.uint32(revision), .int32(0)]))
        }
        return signals
    }

    /// The answer to a call, and the word of what was clicked with it.
    func answer(_ call: BusNotice) -> (BusAnswer, click: String?) {
        switch Self.objects.outcome(of: call, value: { value(of: $2, in: $1) }) {
        case .answer(let answer): (answer, nil)
        case .method(_, Self.itemInterface, let member, _):
            // Desktops that show the menu themselves do not ask for it: it is theirs to know where.
            (.nothing, member == "Activate" ? look.click : nil)
        case .method(_, _, let member, let arguments): menu(member, arguments)
        }
    }

    private var status: String { look.isUrgent ? "NeedsAttention" : "Active" }

    private func value(of property: String, in interface: String) -> BusValue {
        interface == Self.itemInterface ? itemValue(of: property) : menuValue(of: property)
    }

    private func itemValue(of property: String) -> BusValue {
        let name = BusValue.string(themed.contains(look.mark) ? look.mark.iconName : "")
        return switch property {
        case "Category": .string("ApplicationStatus")
        case "Id", "Title": .string("synctrain")
        case "Status": .string(status)
        case "WindowId": .int32(0)
        case "IconName", "AttentionIconName": name
        case "IconPixmap", "AttentionIconPixmap": drawn[look.mark] ?? Self.noPixmaps
        case "OverlayIconPixmap": Self.noPixmaps
        case "ToolTip":
            // An icon of its own would only repeat the one beside it.
            .structure([
                .string(""), Self.noPixmaps, .string("synctrain"),
                .string(look.tip.joined(separator: "\n")),
            ])
        case "ItemIsMenu": .boolean(false)
        case "Menu": .objectPath(Self.menuPath)
        // OverlayIconName, AttentionMovieName, IconThemePath
        default: .string("")
        }
    }

    private func menuValue(of property: String) -> BusValue {
        switch property {
        case "Version": .uint32(3)
        case "Status": .string(look.isUrgent ? "notice" : "normal")
        case "IconThemePath": .strings([])
        default: .string("ltr")
        }
    }

    // MARK: the menu

    private func menu(_ member: String, _ arguments: [BusValue]) -> (BusAnswer, click: String?) {
        switch member {
        case "GetLayout": (layout(arguments), nil)
        case "GetGroupProperties": (groupProperties(arguments), nil)
        case "GetProperty": (property(arguments), nil)
        case "Event": event(arguments)
        case "EventGroup": eventGroup(arguments)
        case "AboutToShow":
            Self.id(arguments.first).flatMap(properties(of:)) == nil
                ? (Self.noItem, nil) : (.values([.boolean(false)]), nil)
        default: (aboutToShowGroup(arguments), nil)
        }
    }

    private static let noItem = BusAnswer.error(
        name: BusErrorName.invalidArguments, message: "the menu has no such item")

    private static func id(_ value: BusValue?) -> Int32? {
        if case .int32(let id)? = value?.plain { id } else { nil }
    }

    private static func elements(_ value: BusValue?) -> [BusValue] {
        if case .array(_, let elements)? = value?.plain { elements } else { [] }
    }

    /// The item with an id; 0 is the menu itself.
    private func item(_ id: Int32) -> TrayLook.Item? {
        id > 0 && look.items.indices.contains(Int(id) - 1) ? look.items[Int(id) - 1] : nil
    }

    /// What of an item differs from the default; nil if there is none.
    private func properties(of id: Int32) -> [String: BusValue]? {
        if id == 0 { return ["children-display": .string("submenu")] }
        guard let item = item(id) else { return nil }
        var properties: [String: BusValue] = [:]
        if item.word == nil {
            properties["type"] = .string("separator")
        } else {
            properties["label"] = .string(Self.label(item.label))
        }
        if !item.isEnabled { properties["enabled"] = .boolean(false) }
        if !item.isVisible { properties["visible"] = .boolean(false) }
        return properties
    }

    /// What an item is now, also where that is the default: for a desktop that knew it otherwise.
    private func allProperties(_ item: TrayLook.Item) -> [String: BusValue] {
        var properties: [String: BusValue] = [
            "enabled": .boolean(item.isEnabled), "visible": .boolean(item.isVisible),
        ]
        if item.word != nil { properties["label"] = .string(Self.label(item.label)) }
        return properties
    }

    /// One `_` marks the key of an item, two are one.
    private static func label(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "_" ? "__" : String($1) }
    }

    private func shown(_ id: Int32, _ names: [String]) -> BusValue? {
        properties(of: id).map { .properties(names.isEmpty ? $0 : $0.filter { names.contains($0.key) }) }
    }

    private func layout(_ arguments: [BusValue]) -> BusAnswer {
        let names = arguments.last?.texts ?? []
        guard let parent = Self.id(arguments.first), let depth = Self.id(arguments[1]),
            let properties = shown(parent, names)
        else { return Self.noItem }
        let ids = parent == 0 && depth != 0 ? look.items.indices.map { Int32($0 + 1) } : []
        let children = ids.compactMap { id in
            shown(id, names).map {
                BusValue.variant(.structure([.int32(id), $0, .array(element: "v", [])]))
            }
        }
        return .values([
            .uint32(revision), .structure([.int32(parent), properties, .array(element: "v", children)]),
        ])
    }

    private func groupProperties(_ arguments: [BusValue]) -> BusAnswer {
        let names = arguments.last?.texts ?? []
        let asked = Self.elements(arguments.first).compactMap { Self.id($0) }
        // None are all.
        let ids = asked.isEmpty ? (0...look.items.count).map { Int32($0) } : asked
        return .values([
            .array(
                element: "(ia{sv})",
                ids.compactMap { id in shown(id, names).map { .structure([.int32(id), $0]) } })
        ])
    }

    private func property(_ arguments: [BusValue]) -> BusAnswer {
        guard let id = Self.id(arguments.first), let name = arguments.last?.text,
            let value = item(id).map(allProperties)?[name] ?? properties(of: id)?[name]
        else { return Self.noItem }
        return .values([.variant(value)])
    }

    private func event(_ arguments: [BusValue]) -> (BusAnswer, click: String?) {
        guard let id = Self.id(arguments.first), properties(of: id) != nil else { return (Self.noItem, nil) }
        return (.nothing, click(id, arguments[1].text))
    }

    private func click(_ id: Int32, _ event: String?) -> String? {
        guard event == "clicked", let item = item(id), item.isEnabled, item.isVisible else { return nil }
        return item.word
    }

    /// Of many clicks in one call the last one counts.
    private func eventGroup(_ arguments: [BusValue]) -> (BusAnswer, click: String?) {
        var (wrong, clicked): ([BusValue], String?) = ([], nil)
        let events = Self.elements(arguments.first)
        for case .structure(let fields) in events {
            guard let id = Self.id(fields.first) else { continue }
            if properties(of: id) == nil {
                wrong.append(.int32(id))
            } else if fields.count > 1, let word = click(id, fields[1].text) {
                clicked = word
            }
        }
        // The specification has an error only where none of them is there.
        guard events.isEmpty || wrong.count < events.count else { return (Self.noItem, nil) }
        return (.values([.array(element: "i", wrong)]), clicked)
    }

    private func aboutToShowGroup(_ arguments: [BusValue]) -> BusAnswer {
        let wrong = Self.elements(arguments.first).filter { Self.id($0).flatMap(properties(of:)) == nil }
        return .values([.array(element: "i", []), .array(element: "i", wrong)])
    }
}

extension TrayObjects {
    static let objects = BusObjects([
        itemPath: [
            BusInterface(
                itemInterface,
                methods: [
                    .init("ContextMenu", takes: "ii"), .init("Activate", takes: "ii"),
                    .init("SecondaryActivate", takes: "ii"), .init("Scroll", takes: "is"),
                    .init("ProvideXdgActivationToken", takes: "s"),
                ],
                properties: [
                    .init("Category", "s"), .init("Id", "s"), .init("Title", "s"), .init("Status", "s"),
                    .init("WindowId", "i"), .init("IconThemePath", "s"), .init("IconName", "s"),
                    .init("IconPixmap", "a(iiay)"), .init("OverlayIconName", "s"),
                    .init("OverlayIconPixmap", "a(iiay)"),
                    .init("AttentionIconName", "s"), .init("AttentionIconPixmap", "a(iiay)"),
                    .init("AttentionMovieName", "s"), .init("ToolTip", "(sa(iiay)ss)"), .init("ItemIsMenu", "b"),
                    .init("Menu", "o"),
                ],
                signals: [
                    .init("NewTitle"), .init("NewIcon"), .init("NewAttentionIcon"), .init("NewOverlayIcon"),
                    .init("NewToolTip"), .init("NewStatus", "s"),
                ])
        ],
        menuPath: [
            BusInterface(
                menuInterface,
                methods: [
                    .init("GetLayout", takes: "iias", gives: "u(ia{sv}av)"),
                    .init("GetGroupProperties", takes: "aias", gives: "a(ia{sv})"),
                    .init("GetProperty", takes: "is", gives: "v"), .init("Event", takes: "isvu"),
                    .init("EventGroup", takes: "a(isvu)", gives: "ai"), .init("AboutToShow", takes: "i", gives: "b"),
                    .init("AboutToShowGroup", takes: "ai", gives: "aiai"),
                ],
                properties: [
                    .init("Version", "u"), .init("TextDirection", "s"), .init("Status", "s"),
                    .init("IconThemePath", "as"),
                ],
                signals: [
                    .init("ItemsPropertiesUpdated", "a(ia{sv})a(ias)"), .init("LayoutUpdated", "ui"),
                    .init("ItemActivationRequested", "iu"),
                ])
        ],
    ])
}
