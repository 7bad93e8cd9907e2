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

    @Test func whatANewFolderSyncsOfAttributesIsWritten() throws {
        var folder = FolderConfiguration(id: FolderID("g"), path: "/g")
        folder.attributes.syncsXattrs = true
        folder.attributes.sendsOwnership = true
        folder.attributes.patterns = ["!user.x", "*"]
        folder.attributes.entryByteLimit = 0
        let text = try edited("", .addFolder(folder))
        #expect(
            text.hasSuffix(
                """
                paused = false
                sync-xattrs = true
                send-ownership = true
                xattr-filter = ["!user.x", "*"]
                xattr-max-entry-size = 0

                """))
        #expect(try testReader.read(Array(text.utf8)).folders == [folder])
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

    /// A device that went over a quota is paused for it until it is resumed, however it is paused meanwhile.
    @Test func aQuotaIsTheReasonOfAPauseUntilTheDeviceIsResumed() throws {
        let text = "[[device]]\nid = \"\(Self.id1)\"\n"
        let device = testDevice(1)
        let paused = try edited(text, .pauseDevice(device, over: .nameBytes))
        #expect(paused.contains("paused = true\n") && paused.contains("paused-reason = \"name-bytes\"\n"))
        // An hour's pause of everything does not end it.
        let everything = try edited(paused, .setDevicePaused(device, true, until: 1_795_289_512))
        #expect(everything == paused)
        let resumed = try edited(paused, .setDevicePaused(device, false))
        #expect(resumed.contains("paused = false\n") && !resumed.contains("paused-reason"))
        // By hand, the reason may stay behind.
        let byHand = try ConfigurationText(
            Array(paused.replacing("paused = true", with: "paused = false").utf8), reader: testReader)
        #expect(byHand.configuration.devices[0].exceededQuota == nil)
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

    @Test func aNameOfAnotherDeviceIsRefused() throws {
        let text = "[[device]]\nid = \"\(Self.id1)\"\nname = \"nas\"\n[[device]]\nid = \"\(testDevice(2))\"\n"
        let error = #expect(throws: ConfigurationError.self) {
            try edited(text, .renameDevice(testDevice(2), name: "nas"))
        }
        #expect(error?.code == .duplicate)
        #expect(try edited(text, .renameDevice(testDevice(1), name: "nas")) == text)
        func name(_ text: String) -> ConfigurationEdit {
            .set(.device(testDevice(2)), [SettingAssignment("name", .text(text))])
        }
        let setting = #expect(throws: ConfigurationError.self) { try edited(text, name("nas")) }
        #expect(setting?.code == .duplicate)
        #expect(try edited(text, name("other")) != text)
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
            (.setDeviceRates(testDevice(1), .init(up: 1023)), .invalidValue),
            (.setDeviceConnections(testDevice(1), 9), .invalidValue),
            (.setIntroducer(testDevice(2), true), .noSuchDevice),
            (.setAllowedNetworks(testDevice(1), ["10.0.0"]), .invalidValue),
            (.setAllowedNetworks(testDevice(1), ["!10.0.0.0/8"]), .invalidValue),
            (.shareFolder(FolderID("f"), testDevice(2)), .noSuchDevice),
            (.setFolderRelays(FolderID("g"), true), .noSuchFolder),
            (.setFolderIgnored(IgnoredFolder(FolderID("")), true), .invalidValue),
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

    @Test func switchesAreSetWhereTheyStand() throws {
        let edits = Configuration.NetworkSwitch.allCases.map { ConfigurationEdit.setNetwork($0, false) }
        func switched(_ text: String) throws -> String {
            var draft = try ConfigurationText(Array(text.utf8), reader: testReader)
            for edit in edits { draft = try draft.applying(edit) }
            return String(decoding: draft.bytes, as: UTF8.self)
        }
        #expect(
            try switched(DefaultConfiguration.text())
                == DefaultConfiguration.text(
                    discovery: .init(local: false, global: false), relays: .init(isEnabled: false), mapsPorts: false))
        // Written with its table, there and not there, and in a file that has no tables.
        let folder = "[[folder]]\nid = \"f\"\npath = \"/f\"\n"
        let dotted = "discovery.local = true # why\nname = \"x\"\n[relays] # relays\n# none\n\(folder)"
        #expect(
            try switched(dotted) == """
                discovery.local = false # why
                discovery.global = false
                name = "x"
                [relays] # relays
                enabled = false

                [network]
                port-mapping = false

                # none
                \(folder)
                """)
        #expect(
            try switched(folder) == folder + """

                [discovery]
                local = false
                global = false

                [relays]
                enabled = false

                [network]
                port-mapping = false

                """)
    }

    @Test func whoIsIgnoredIsListed() throws {
        let ignored: [ConfigurationEdit] = [
            .setDeviceIgnored(testDevice(1), true), .setDeviceIgnored(testDevice(1), true),
            .setFolderIgnored(IgnoredFolder(FolderID("spam")), true),
            .setFolderIgnored(IgnoredFolder(FolderID("spam"), from: testDevice(2)), true),
        ]
        var draft = try ConfigurationText(Array("name = \"x\"\n".utf8), reader: testReader)
        for edit in ignored { draft = try draft.applying(edit) }
        #expect(
            String(decoding: draft.bytes, as: UTF8.self) == """
                name = "x"

                [ignored]
                devices = ["\(Self.id1)"]
                folders = ["spam", "spam from \(Self.id2)"]

                """)
        let settings = draft.configuration.ignored
        #expect(settings.contains(testDevice(1)) && !settings.contains(testDevice(2)))
        #expect(settings.contains(FolderID("spam"), from: testDevice(3)))
        #expect(settings.contains(FolderID("any"), from: testDevice(1)))
        #expect(!settings.contains(FolderID("any"), from: testDevice(2)))
        draft = try draft.applying(.setFolderIgnored(IgnoredFolder(FolderID("spam")), false))
        #expect(draft.configuration.ignored.contains(FolderID("spam"), from: testDevice(2)))
        #expect(!draft.configuration.ignored.contains(FolderID("spam"), from: testDevice(3)))
        // Who is added is no longer ignored, and neither is what.
        let added = try draft.applying(.addDevice(DeviceConfiguration(id: testDevice(1)))).applying(
            .addFolder(FolderConfiguration(id: FolderID("spam"), path: "/spam")))
        #expect(added.configuration.ignored == Configuration.Ignored())
        // An id that would read as another folder of one device cannot be written, and is not written as something else.
        let odd = IgnoredFolder(FolderID("spam from \(Self.id2)"))
        #expect(failure { _ = try draft.applying(.setFolderIgnored(odd, true)) }?.code == .notEditable)
    }

    /// What an introducer does at once: a device, its shares, and later their end.
    @Test func introductionsAreMarkedAndUndone() throws {
        let text = """
            [[device]]
            id = "\(Self.id1)" # the introducer
            introducer = true
            [[folder]]
            id = "f"
            path = "/f"
            devices = ["\(Self.id1)"] # with whom

            """
        let (introducer, added, folder) = (testDevice(1), testDevice(2), FolderID("f"))
        let introduced = try edited(
            text, .addDevice(DeviceConfiguration(id: added, name: "n", introducedBy: introducer)),
            .shareFolder(folder, added, introducedBy: introducer))
        #expect(
            introduced == """
                [[device]]
                id = "\(Self.id1)" # the introducer
                introducer = true

                [[device]]
                id = "\(Self.id2)"
                name = "n"
                addresses = ["dynamic"]
                introduced-by = "\(Self.id1)"

                [[folder]]
                id = "f"
                introduced = ["\(Self.id2) by \(Self.id1)"]
                path = "/f"
                devices = ["\(Self.id1)", "\(Self.id2)"] # with whom

                """)
        let configuration = try parse(introduced)
        #expect(configuration.folders[0].introducer(of: added) == introducer)
        #expect(configuration.folders[0].introducer(of: introducer) == nil)
        #expect(
            try parse(try edited(introduced, .unshareFolder(folder, added), .removeDevice(added)))
                == (try parse(text)))
        // The user's own share is not made an introducer's, and what the user shares again is the user's own.
        let own = try parse(try edited(introduced, .shareFolder(folder, introducer, introducedBy: added)))
        #expect(own == configuration)
        let kept = try parse(try edited(introduced, .shareFolder(folder, added)))
        #expect(kept.folders[0].devices == [introducer, added] && kept.folders[0].introductions == [])
    }

    @Test func whoIsUntrustedStaysItWhereNothingIsShared() throws {
        let text = """
            [[device]]
            id = "\(Self.id1)"

            [[folder]]
            id = "f"
            path = "/f"
            devices = ["\(Self.id1)"]

            """
        let (folder, device) = (FolderID("f"), testDevice(1))
        let without = try edited(
            text, .distrust(folder, device), .distrust(folder, device), .unshareFolder(folder, device),
            .removeDevice(device))
        #expect(without.contains("devices = []") && without.contains("untrusted = [\"\(Self.id1)\"]"))
        #expect(try parse(without).folders[0].untrusted == [device])
        let back = try parse(
            try edited(
                without, .addDevice(DeviceConfiguration(id: device)), .shareFolder(folder, device),
                .trust(folder, device)))
        #expect(back.folders[0].devices == [device] && back.folders[0].untrusted == [])
    }

    @Test func limitsOfADeviceComeAndGo() throws {
        let text = "[[device]]\nid = \"\(Self.id1)\"\n# stays\n"
        let limited = try edited(
            text, .setDeviceRates(testDevice(1), .init(up: 1 << 20, down: 500_000)),
            .setDeviceConnections(testDevice(1), 1), .setAllowedNetworks(testDevice(1), ["10.0.0.0/8"]),
            .setIntroducer(testDevice(1), true))
        #expect(
            limited == """
                [[device]]
                id = "\(Self.id1)"
                introducer = true
                allowed-networks = ["10.0.0.0/8"]
                connections = 1
                down = "500 KB/s"
                up = "1 MiB/s"
                # stays

                """)
        #expect(
            try edited(
                limited, .setDeviceRates(testDevice(1), .init()), .setDeviceConnections(testDevice(1), nil),
                .setAllowedNetworks(testDevice(1), []), .setIntroducer(testDevice(1), false))
                == "[[device]]\nid = \"\(Self.id1)\"\nintroducer = false\nallowed-networks = []\n# stays\n")
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
            guard let expected = try? edit.applied(to: model) else {
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
        if Bool.random(using: &random) { return randomReachEdit(model, device, folder, &random) }
        switch Int.random(in: 0..<13, using: &random) {
        case 0:
            var added = DeviceConfiguration(
                id: device, name: name, addresses: Array(addresses),
                bluetooth: BluetoothUse.allCases.randomElement(using: &random) ?? .all,
                isPaused: Bool.random(using: &random), introducedBy: Bool.random(using: &random) ? device : nil)
            if added.isPaused { added.pausedUntil = [nil, 1_795_289_512].randomElement(using: &random) ?? nil }
            added.isIntroducer = Bool.random(using: &random)
            added.skipsIntroductionRemovals = Bool.random(using: &random)
            added.allowedNetworks = randomNetworks(&random)
            added.rates = randomRates(&random)
            added.connections = [nil, 1, 8].randomElement(using: &random) ?? nil
            return .addDevice(added)
        case 1: return .renameDevice(device, name: name)
        case 2: return .setAddresses(device, Array(addresses))
        case 3: return .removeDevice(device)
        case 4:
            var added = FolderConfiguration(
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
                bluetoothLimit: [0, 1, 10_000_000, 1 << 20].randomElement(using: &random) ?? 7)
            added.usesRelays = Bool.random(using: &random)
            added.guardsIncomingDeletions = Bool.random(using: &random)
            added.caseClash = FolderConfiguration.CaseClash.allCases.randomElement(using: &random) ?? .keep
            added.scrubInterval = [nil, 3600, 7 * 86_400, 30 * 86_400, 90_000].randomElement(using: &random) ?? nil
            added.introductions = sharedWith.prefix(2).map { FolderIntroduction($0, by: device) }
            return .addFolder(added)
        case 5:
            let until: Int64? = [nil, 1_795_289_512, 0].randomElement(using: &random) ?? nil
            let isPaused = Bool.random(using: &random)
            return Bool.random(using: &random)
                ? .setFolderPaused(folder, isPaused, until: until)
                : Bool.random(using: &random)
                    ? .setDevicePaused(device, isPaused, until: until)
                    : .pauseDevice(device, over: DeviceQuota.allCases.randomElement(using: &random) ?? .names)
        case 6: return .setFolderDevices(folder, Array(sharedWith))
        case 7: return .setFolderMode(folder, Bool.random(using: &random) ? .full : .selective)
        case 8:
            return .setFolderBluetooth(
                folder, BluetoothUse.allCases.randomElement(using: &random),
                limit: [nil, 0, 1000, 1 << 30].randomElement(using: &random) ?? nil)
        case 9: return .setDeviceBluetooth(device, BluetoothUse.allCases.randomElement(using: &random) ?? .off)
        case 10: return .setFolderRole(folder, device, DeviceRole.allCases.randomElement(using: &random) ?? .read)
        case 11: return Bool.random(using: &random) ? .distrust(folder, device) : .trust(folder, device)
        default: return .removeFolder(folder)
        }
    }

    private static func randomNetworks(_ random: inout SeededGenerator) -> [String] {
        let all = ["192.168.0.0/16", "!10.0.0.0/8", "fe80::/10", "::/0", "192.0.2.7/32"].shuffled(using: &random)
        let some = Array(all.prefix(Int.random(in: 0...3, using: &random)))
        return some == ["!10.0.0.0/8"] ? [] : some
    }

    private static func randomRates(_ random: inout SeededGenerator) -> TransferLimits.Rates {
        let rates: [Int64?] = [nil, 1024, 1_000_000, 1025]
        return TransferLimits.Rates(
            up: rates.randomElement(using: &random) ?? nil, down: rates.randomElement(using: &random) ?? nil)
    }

    private static func randomReachEdit(
        _ model: Configuration, _ device: DeviceID, _ folder: FolderID, _ random: inout SeededGenerator
    ) -> ConfigurationEdit {
        let isOn = Bool.random(using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return .setIntroducer(device, isOn)
        case 1: return .setSkipsIntroductionRemovals(device, isOn)
        case 2: return .setAllowedNetworks(device, randomNetworks(&random))
        case 3: return .setDeviceRates(device, randomRates(&random))
        case 4: return .setDeviceConnections(device, [nil, 1, 3, 8].randomElement(using: &random) ?? nil)
        case 5: return .setFolderRelays(folder, isOn)
        case 6:
            return .shareFolder(
                folder, model.devices.randomElement(using: &random)?.id ?? device,
                introducedBy: [nil, testDevice(1), testDevice(9)].randomElement(using: &random) ?? nil)
        case 7: return .unshareFolder(folder, device)
        case 8: return .setDeviceIgnored(device, isOn)
        case 9:
            let id = [folder, FolderID("two words \"q\""), FolderID("from")].randomElement(using: &random) ?? folder
            return .setFolderIgnored(IgnoredFolder(id, from: Bool.random(using: &random) ? device : nil), isOn)
        default:
            return .setNetwork(
                Configuration.NetworkSwitch.allCases.randomElement(using: &random) ?? .relays, isOn)
        }
    }
}
