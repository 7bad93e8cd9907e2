import BlockExchange
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationEditTests {
    static let id1 = testDevice(1).description
    static let id2 = testDevice(2).description
    static let id3 = testDevice(3).description

    func edited(_ text: String, _ edits: ConfigurationEdit...) throws -> String {
        var draft = try ConfigurationText(Array(text.utf8), reader: testReader)
        for edit in edits { draft = try draft.applying(edit) }
        return String(decoding: draft.bytes, as: UTF8.self)
    }

    @Test func addsToAnEmptyFile() throws {
        #expect(
            try edited("", .addDevice(DeviceConfiguration(id: testDevice(1), name: "a \"b\" \\ é"))) == """
                [[device]]
                id = "\(Self.id1)"
                name = "a \\"b\\" \\\\ é"
                addresses = ["dynamic"]

                """)
    }

    @Test func addsAfterTheLastOfItsKind() throws {
        let text = """
            # top
            [[device]]   # mine
            id = "\(Self.id1)"
            # about folders
            [[folder]]
            id = "f"
            path = "/f"
            """
        #expect(
            try edited(
                text, .addDevice(DeviceConfiguration(id: testDevice(2), name: "n", addresses: [])),
                .addFolder(FolderConfiguration(id: FolderID("g"), label: "G", path: "/g", devices: [testDevice(2)])))
                    == """
                    # top
                    [[device]]   # mine
                    id = "\(Self.id1)"

                    [[device]]
                    id = "\(Self.id2)"
                    name = "n"
                    addresses = []

                    # about folders
                    [[folder]]
                    id = "f"
                    path = "/f"

                    [[folder]]
                    id = "g"
                    label = "G"
                    path = "/g"
                    mode = "selective"
                    type = "sendreceive"
                    devices = ["\(Self.id2)"]
                    paused = false

                    """)
    }

    @Test func changesOnlyWhatIsMeant() throws {
        let text = """
              [[device]]
                id   =   "\(Self.id1)"   # the NAS
                'name'='old'# why
            \t[[device]]
            \tid = "\(Self.id2)"
            [[folder]] # f
            id = "f"
            path = "/f"
            """
        #expect(
            try edited(
                text, .renameDevice(testDevice(1), name: "new"), .renameDevice(testDevice(2), name: "second"),
                .setAddresses(testDevice(2), ["tcp://h:1"]), .setFolderPaused(FolderID("f"), true))
                    == """
                      [[device]]
                        id   =   "\(Self.id1)"   # the NAS
                        'name'="new"# why
                    \t[[device]]
                    \tid = "\(Self.id2)"
                    \taddresses = ["tcp://h:1"]
                    \tname = "second"
                    [[folder]] # f
                    id = "f"
                    paused = true
                    path = "/f"
                    """)
    }

    @Test func aPauseHasItsEndAndLosesIt() throws {
        let text = """
            [[device]]
            id = "\(Self.id1)"
            [[folder]]
            id = "f"
            path = "/f"

            """
        let paused = try edited(
            text, .setFolderPaused(FolderID("f"), true, until: 1_795_289_512), .setDevicePaused(testDevice(1), true))
        #expect(
            paused == """
                [[device]]
                id = "\(Self.id1)"
                paused = true
                [[folder]]
                id = "f"
                paused-until = "2026-11-21T19:31:52Z"
                paused = true
                path = "/f"

                """)
        #expect(
            try edited(paused, .setFolderPaused(FolderID("f"), false), .setDevicePaused(testDevice(1), false))
                == paused.replacing("paused-until = \"2026-11-21T19:31:52Z\"\n", with: "").replacing(
                    "true", with: "false"))
    }

    static let moments: [(String, Int64?)] = [
        ("1970-01-01T00:00:00Z", 0), ("2026-11-21T19:31:52Z", 1_795_289_512), ("2024-02-29T23:59:59Z", 1_709_251_199),
        ("2023-02-29T00:00:00Z", nil), ("2026-13-01T00:00:00Z", nil), ("2026-11-21T24:00:00Z", nil),
        ("2026-11-21 19:31:52Z", nil), ("2026-11-21T19:31:52", nil), ("+026-11-21T19:31:52Z", nil), ("", nil),
        ("1969-12-31T23:59:59Z", nil), ("2026-11-21T19:31:52Zé", nil),
    ]

    @Test(arguments: moments.indices) func momentsAreReadAsTheyAreWritten(_ number: Int) {
        let (text, seconds) = Self.moments[number]
        #expect(MomentText.parse(text) == seconds)
        if let seconds { #expect(MomentText.format(seconds) == text) }
    }

    @Test func removesABlockAndItsPlacesInFolders() throws {
        let text = """
            # devices

            # Anna's
            [[device]]
            id = "\(Self.id1)"
            # inside
            name = "anna"
            # after anna

            # Ben's
            [[device]]
            id = "\(Self.id2)"

            [[folder]]
            id = "f"
            path = "/f"
            devices = ["\(Self.id1)", "\(Self.id2)"]
            """
        #expect(
            try edited(text, .removeDevice(testDevice(1))) == """
                # devices

                # Anna's
                # after anna

                # Ben's
                [[device]]
                id = "\(Self.id2)"

                [[folder]]
                id = "f"
                path = "/f"
                devices = ["\(Self.id2)"]
                """)
        #expect(
            try edited(text, .removeFolder(FolderID("f")))
                == text.components(separatedBy: "[[folder]]")[0])
    }

    @Test func listsWithALineEachKeepTheirLines() throws {
        let blocks = [Self.id1, Self.id2, Self.id3].map { "[[device]]\nid = \"\($0)\"\n" }.joined()
        let text =
            blocks + """
                [[folder]]
                id = "f"
                path = "/f"
                devices = [
                    # the family
                    "\(Self.id1)",  # Anna
                    "\(Self.id2)"   # Ben
                ]  # end

                """
        #expect(
            try edited(text, .setFolderDevices(FolderID("f"), [testDevice(2), testDevice(3)]))
                == blocks + """
                    [[folder]]
                    id = "f"
                    path = "/f"
                    devices = [
                        # the family
                        "\(Self.id2)",   # Ben
                        "\(Self.id3)",
                    ]  # end

                    """)
        // An order that lines cannot keep: the list is written anew and its comments move above it.
        #expect(
            try edited(text, .setFolderDevices(FolderID("f"), [testDevice(3), testDevice(1)]))
                == blocks + """
                    [[folder]]
                    id = "f"
                    path = "/f"
                    # the family
                    # Anna
                    # Ben
                    devices = ["\(Self.id3)", "\(Self.id1)"]  # end

                    """)
    }

    @Test func lineEndsOfWindowsStay() throws {
        let text = "name = \"x\"\r\n\r\n[[device]]\r\nid = \"\(Self.id1)\"\r\n"
        let result = try edited(
            text, .renameDevice(testDevice(1), name: "n"), .addDevice(DeviceConfiguration(id: testDevice(2))))
        #expect(result.utf8.count { $0 == 0x0A } == result.utf8.count { $0 == 0x0D })
        #expect(
            result.hasPrefix(
                "name = \"x\"\r\n\r\n[[device]]\r\nid = \"\(Self.id1)\"\r\nname = \"n\"\r\n\r\n[[device]]\r\n"))
    }

    @Test func wrongEditsAreRefused() throws {
        let text = "[[device]]\nid = \"\(Self.id1)\"\n[[folder]]\nid = \"f\"\npath = \"/f\"\n"
        let cases: [(ConfigurationEdit, ConfigurationError.Code)] = [
            (.addDevice(DeviceConfiguration(id: testDevice(1))), .duplicate),
            (.addDevice(DeviceConfiguration(id: testDevice(2), name: "a\nb")), .invalidValue),
            (.addDevice(DeviceConfiguration(id: testDevice(2), addresses: ["x"])), .invalidValue),
            (.renameDevice(testDevice(2), name: "x"), .noSuchDevice),
            (.renameDevice(testDevice(1), name: String(repeating: "x", count: 256)), .invalidValue),
            (.setAddresses(testDevice(2), []), .noSuchDevice),
            (.setAddresses(testDevice(1), ["tcp://x"]), .invalidValue),
            (.removeDevice(testDevice(2)), .noSuchDevice),
            (.addFolder(FolderConfiguration(id: FolderID("f"), path: "/g")), .duplicate),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/f")), .duplicate),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/f/g")), .nestedFolder),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/g/")), .invalidValue),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "g")), .invalidValue),
            (.addFolder(FolderConfiguration(id: FolderID(""), path: "/g")), .invalidValue),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/g", devices: [testDevice(2)])), .noSuchDevice),
            (.setFolderPaused(FolderID("g"), true), .noSuchFolder),
            (.setFolderDevices(FolderID("g"), []), .noSuchFolder),
            (.setFolderDevices(FolderID("f"), [testDevice(2)]), .noSuchDevice),
            (.setFolderDevices(FolderID("f"), [testDevice(1), testDevice(1)]), .duplicate),
            (.removeFolder(FolderID("g")), .noSuchFolder), (.setFolderMode(FolderID("g"), .full), .noSuchFolder),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/g", rescanInterval: -1)), .invalidValue),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/g", priority: ["!x"])), .invalidValue),
            (.addFolder(FolderConfiguration(id: FolderID("g"), path: "/g", maxConflicts: 0)), .invalidValue),
        ]
        for (edit, code) in cases {
            let error = failure { _ = try edited(text, edit) }
            #expect(error?.code == code, "\(edit)")
            #expect(error?.file == "/c/config.toml")
        }
    }

    @Test func aKeyWithEscapesIsFound() throws {
        let text = "[[device]]\nid = \"\(Self.id1)\"\n\"\\u006eame\" = \"old\" # c\n"
        #expect(
            try edited(text, .renameDevice(testDevice(1), name: "new")) == text.replacing("\"old\"", with: "\"new\""))
    }

    @Test func aByteOrderMarkStays() throws {
        let text = "\u{FEFF}[[device]]\nid = \"\(Self.id1)\"\n"
        #expect(try edited(text, .removeDevice(testDevice(1))) == "\u{FEFF}")
    }

    @Test func aLayoutThatCannotBeEditedIsLeftAlone() throws {
        let emptyArray = "device = []\n"
        let device = DeviceConfiguration(id: testDevice(1))
        #expect(failure { _ = try edited(emptyArray, .addDevice(device)) }?.code == .notEditable)
    }

    // MARK: - Random edits

    /// After any sequence of edits the text says what the model says, and comments outside of what was removed are there.
    @Test(arguments: 0..<40)
    func randomEditsAgreeWithTheModel(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var text = try ConfigurationText(Array(Self.startingText(&random).utf8), reader: testReader)
        var model = text.configuration
        let comments = Self.standingComments(text)
        #expect(!comments.isEmpty)
        var made = 0
        for step in 0..<60 {
            let edit = Self.randomEdit(model, &random)
            guard let expected = try? model.applying(edit) else {
                #expect(throws: ConfigurationError.self) { try text.applying(edit) }
                continue
            }
            text = try text.applying(edit)
            model = expected
            made += 1
            #expect(text.configuration == model, "seed \(seed) step \(step) \(edit)")
        }
        #expect(made > 10)
        let reread = try ConfigurationText(text.bytes, reader: testReader)
        #expect(reread.configuration == model)
        let lines = Self.lines(text.bytes)
        for comment in comments { #expect(lines.contains(comment), "seed \(seed): \(comment) is lost") }
    }

    /// The comments outside of blocks, which no edit may remove.
    private static func standingComments(_ text: ConfigurationText) -> [String] {
        lines(text.bytes).filter { $0.hasPrefix("# stays") }
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
    }

    private static func startingText(_ random: inout SeededGenerator) -> String {
        let isAnnotated = Bool.random(using: &random)
        var text = isAnnotated ? DefaultConfiguration.text(name: "n") : ""
        var count = 0
        func comment() -> String {
            count += 1
            return "# stays \(count)\n"
        }
        text += comment()
        for number in 1...3 {
            if Bool.random(using: &random) { text += "\n" }
            if Bool.random(using: &random) { text += comment() }
            text += "[[device]] # inside\n  id = '\(testDevice(number))'\n"
            if Bool.random(using: &random) { text += "# inside\nname = \"\"\"d\(number)\"\"\" # inside\n" }
            if Bool.random(using: &random) { text += "addresses = [\n\"dynamic\" # inside\n, 'tcp://h:1']\n" }
            if Bool.random(using: &random) { text += comment() }
        }
        for number in 1...2 {
            text += "[[folder]]\nid = \"f\(number)\"\n\npath = \"/f\(number)\"\n"
            let devices = [1, 2, 3].shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text += "devices = [\n" + devices.map { "  \"\(testDevice($0))\", # inside\n" }.joined() + "]\n"
            case 1: text += "devices = [" + devices.map { "\"\(testDevice($0))\"," }.joined(separator: "\n") + "]\n"
            case 2: text += "devices = [" + devices.map { "\"\(testDevice($0))\"" }.joined(separator: " , ") + "]\n"
            default: break
            }
            if Bool.random(using: &random) { text += comment() }
        }
        if Bool.random(using: &random) { text = String(text.dropLast()) }
        return Bool.random(using: &random) ? text : text.replacing("\n", with: "\r\n")
    }

    private static func randomEdit(_ model: Configuration, _ random: inout SeededGenerator) -> ConfigurationEdit {
        let device = testDevice(Int.random(in: 1...6, using: &random))
        let folder = FolderID("f\(Int.random(in: 1...5, using: &random))")
        let names = ["", "plain", "with \"quotes\" and \\", "# no comment", "é 語 [[device]]", "'", "a = \"b\""]
        let name = names.randomElement(using: &random) ?? ""
        let addresses = ["dynamic", "tcp://a:1", "tcp://[fe80::1%eth0]:2", "tcp://b.example:3"]
            .shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random))
        let sharedWith = model.devices.map(\.id).shuffled(using: &random)
            .prefix(Int.random(in: 0...4, using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            return .addDevice(
                DeviceConfiguration(
                    id: device, name: name, addresses: Array(addresses),
                    bluetooth: BluetoothUse.allCases.randomElement(using: &random) ?? .all,
                    introducedBy: Bool.random(using: &random) ? device : nil))
        case 1: return .renameDevice(device, name: name)
        case 2: return .setAddresses(device, Array(addresses))
        case 3: return .removeDevice(device)
        case 4:
            return .addFolder(
                FolderConfiguration(
                    id: folder, label: name, path: "/x \"\\ \(folder)", mode: .full, kind: .sendOnly,
                    devices: Array(sharedWith), isPaused: Bool.random(using: &random),
                    rescanInterval: [3600, 0, 60].randomElement(using: &random) ?? 0,
                    isWatched: Bool.random(using: &random), ignoresPermissions: Bool.random(using: &random),
                    order: FolderConfiguration.Order.allCases.randomElement(using: &random) ?? .newest,
                    priority: [[], ["*.md", "a\\[b", "\"q\""]].randomElement(using: &random) ?? [],
                    groups: [[], ["*.{a,b}", "\"q\"/{x,y}"]].randomElement(using: &random) ?? [],
                    minimumFree: [.basisPoints(100), .basisPoints(5), .byteCount(0), .byteCount(1 << 30)]
                        .randomElement(using: &random) ?? .byteCount(1),
                    maxConflicts: [nil, 1, 1000].randomElement(using: &random) ?? nil,
                    minimumCopies: [1, 2, 100].randomElement(using: &random) ?? 3,
                    keepFree: [nil, .basisPoints(1000), .byteCount(1 << 30)].randomElement(using: &random) ?? nil,
                    bluetooth: BluetoothUse.allCases.randomElement(using: &random) ?? .off,
                    bluetoothLimit: [0, 1, 10_000_000, 1 << 20].randomElement(using: &random) ?? 7))
        case 5:
            let until: Int64? = [nil, 1_795_289_512, 0].randomElement(using: &random) ?? nil
            let isPaused = Bool.random(using: &random)
            return Bool.random(using: &random)
                ? .setFolderPaused(folder, isPaused, until: until) : .setDevicePaused(device, isPaused, until: until)
        case 6: return .setFolderDevices(folder, Array(sharedWith))
        case 7: return .setFolderMode(folder, Bool.random(using: &random) ? .full : .selective)
        case 8:
            return .setFolderBluetooth(
                folder, BluetoothUse.allCases.randomElement(using: &random),
                limit: [nil, 0, 1000, 1 << 30].randomElement(using: &random) ?? nil)
        case 9: return .setDeviceBluetooth(device, BluetoothUse.allCases.randomElement(using: &random) ?? .off)
        case 10: return .setFolderRole(folder, device, DeviceRole.allCases.randomElement(using: &random) ?? .read)
        default: return .removeFolder(folder)
        }
    }
}
