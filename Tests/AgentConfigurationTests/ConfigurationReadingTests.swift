import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationReadingTests {
    @Test func emptyFileIsAllDefaults() throws {
        #expect(try parse("") == Configuration(name: "host"))
        #expect(try parse("# nothing\n") == Configuration(name: "host"))
    }

    @Test func everySettingIsRead() throws {
        let configuration = try parse(
            """
            name = "Annas laptop"
            listen = ["tcp://127.0.0.1:0"]
            discovery.local = false
            [cache]
            limit = 4096
            [fetch]
            window = "128 MiB"
            "window-per-device" = '16 MiB'
            [bluetooth]
            scan-window = 3
            scan-interval = 0
            [log]
            level = "debug"
            format = "json"

            [[device]]
            id = "\(testDevice(1))"
            [[device]]
            id = "\(testDevice(2).description.lowercased())"
            name = "näs \\u00e9"
            addresses = ["tcp://192.0.2.7:22000", "dynamic"]
            [[folder]]
            id = "f1"
            path = "~/Photos/"
            [[folder]]
            id = "f2"
            label = "L"
            path = "/srv/x"
            mode = "full"
            type = "receiveonly"
            devices = ["\(testDevice(2))", "\(testDevice(1))"]
            paused = true
            rescan-interval = 60
            watch = false
            ignore-permissions = true
            order = "newest"
            priority = ["*.md", "/notes", "(?i)*.TXT"]
            groups = ["album/**/*.{jpg,txt}"]
            minimum-free = "2.5 %"
            max-conflicts = 7
            min-copies = 2
            keep-free = "10 %"
            scrub-every = "30d"
            bluetooth = "selected-and-on-demand"
            bluetooth-limit = "3 MB"
            versions = "staggered"
            versions-path = "~/old/"
            versions-keep = 9
            versions-cleanout-days = 30
            versions-max-age-days = 0
            versions-clean-interval = 60
            conflicts = "both"
            conflicts-deleted = "command"
            conflicts-command = ["/bin/decide", "-x"]
            conflicts-command-seconds = 5
            [[folder]]
            id = "f3"
            path = "/srv/y"
            rescan-interval = 0
            order = "alphabetic"
            minimum-free = "5 GB"
            max-conflicts = -1
            bluetooth = "off"
            bluetooth-limit = 0
            """)
        #expect(
            configuration
                == Configuration(
                    name: "Annas laptop", listen: ["tcp://127.0.0.1:0"], discovery: .init(local: false),
                    bluetooth: .init(scanWindow: 3, scanInterval: 0), cache: .init(byteLimit: 4096),
                    fetch: .init(windowByteCount: 128 << 20, deviceWindowByteCount: 16 << 20),
                    log: .init(level: .debug, format: .json),
                    devices: [
                        DeviceConfiguration(id: testDevice(1)),
                        DeviceConfiguration(
                            id: testDevice(2), name: "näs é", addresses: ["tcp://192.0.2.7:22000", "dynamic"]),
                    ],
                    folders: [
                        FolderConfiguration(id: FolderID("f1"), path: "/home/anna/Photos"),
                        FolderConfiguration(
                            id: FolderID("f2"), label: "L", path: "/srv/x", mode: .full, kind: .receiveOnly,
                            devices: [testDevice(2), testDevice(1)], isPaused: true, rescanInterval: 60,
                            isWatched: false, ignoresPermissions: true, order: .newest,
                            priority: ["*.md", "/notes", "(?i)*.TXT"], groups: ["album/**/*.{jpg,txt}"],
                            minimumFree: .basisPoints(250), maxConflicts: 7,
                            minimumCopies: 2, keepFree: .basisPoints(1000),
                            bluetooth: .selectedAndOnDemand, bluetoothLimit: 3_000_000,
                            versions: FolderVersions(
                                kind: .staggered, path: "/home/anna/old", keep: 9, cleanoutDays: 30, maximumAgeDays: 0,
                                cleanInterval: 60),
                            conflicts: FolderConflicts(
                                policy: .both, deletedPolicy: .command, command: ["/bin/decide", "-x"],
                                commandSeconds: 5), scrubInterval: 30 * 86_400),
                        FolderConfiguration(
                            id: FolderID("f3"), path: "/srv/y", rescanInterval: 0, order: .alphabetic,
                            minimumFree: .byteCount(5_000_000_000), bluetooth: .off, bluetoothLimit: 0),
                    ]))
    }

    @Test(
        arguments: [
            ("", "127.0.0.1", 8394), ("listen = \"127.0.0.1:8384\"", "127.0.0.1", 8384),
            ("listen = \"[::1]:0\"", "::1", 0),
            ("listen = \"localhost:5\"", "127.0.0.1", 5), ("listen = \"\"", nil, nil),
            ("listen = \"0.0.0.0:80\"\nnetwork = true", "0.0.0.0", 80),
        ] as [(String, String?, Int?)])
    func linksAreListenedFor(text: String, host: String?, port: Int?) throws {
        let http = try parse("[http]\nhosts = [\"nas.local\"]\nrate = \"2 MiB/s\"\n\(text)\n").http
        #expect(http.address?.host == host)
        #expect(http.address?.port == port)
        #expect(http.hosts == ["nas.local"])
        #expect(http.rate == 2 << 20)
    }

    @Test(arguments: [("", true), ("enabled = true\n", true), ("enabled = false\n", false)])
    func notifications(text: String, isEnabled: Bool) throws {
        #expect(try parse("[notifications]\n" + text).notifications.isEnabled == isEnabled)
    }

    @Test(arguments: [("", true), ("tray = true\n", true), ("tray = false\n", false)])
    func tray(text: String, hasTray: Bool) throws {
        #expect(try parse("[desktop]\n" + text).desktop.hasTray == hasTray)
    }

    @Test func thumbnails() throws {
        #expect(try parse("[thumbnails]\n").thumbnails == ThumbnailSettings())
        let text = """
            [thumbnails]
            enabled = false
            cache = "~/t"
            limit = 0
            fetch-limit = "1 MiB"
            fetch-limit-slow = 5
            folder = "photos"
            directory = "a/b"
            """
        #expect(
            try parse(text).thumbnails
                == ThumbnailSettings(
                    isEnabled: false, cache: "/home/anna/t", byteLimit: 0, fetchLimit: 1 << 20, slowFetchLimit: 5,
                    folder: FolderID("photos"), directory: "a/b"))
    }

    @Test func mounts() throws {
        #expect(try parse("[mount]\n").mounting == MountingSettings())
        let text = """
            [mount]
            patience = 600
            read-budget = "20 GiB"
            scanners = ["cataloguer", "!tumblerd"]

            [[folder]]
            id = "f"
            path = "/f"
            mount = "~/Films/"
            mount-read-only = true
            """
        let configuration = try parse(text)
        #expect(
            configuration.mounting
                == MountingSettings(patience: 600, readBudget: 20 << 30, scanners: ["cataloguer", "!tumblerd"]))
        #expect(configuration.folders[0].mount == FolderMount(directory: "/home/anna/Films", isReadOnly: true))
    }

    @Test(
        arguments: [
            ("/f", nil), ("/f/a", nil), ("/", nil), ("/g/a", nil), ("/m", "/m/n"), ("/m/n", "/m"), ("/m", "/m"),
            (nil, "/f/x"),
        ] as [(String?, String?)])
    func mountsThatClash(_ first: String?, _ second: String?) throws {
        func mount(_ path: String?) -> String { path.map { "mount = \"\($0)\"\n" } ?? "" }
        let text =
            "[[folder]]\nid = \"f\"\npath = \"/f\"\n" + mount(first) + "[[folder]]\nid = \"g\"\npath = \"/g\"\n"
            + mount(second)
        #expect(failure { _ = try parse(text) }?.message.contains("director") == true)
        #expect(try parse(text.replacing("mount = ", with: "label = ")).folders.count == 2)
    }

    @Test func reach() throws {
        let (id1, id2, id3) = (testDevice(1), testDevice(2), testDevice(3))
        let configuration = try parse(
            """
            [discovery]
            global = false
            servers = ["https://192.0.2.9:8443/?id=\(id1)", "http://[::1]:80/v2?insecure&noannounce"]
            announce-local-addresses = false
            [relays]
            enabled = false
            servers = ["relay://192.0.2.9:22067/?id=\(id1)", "dynamic+https://x/y"]
            [network]
            port-mapping = false
            connections = 1
            proxy = "socks5://me:se%20cret@127.0.0.1:9050"
            proxy-only = true
            [ignored]
            devices = ["\(id3)"]
            folders = ["f", "Pictures from Anna", "f from \(id2)"]
            [[device]]
            id = "\(id1)"
            addresses = ["relay://192.0.2.9:22067/?id=\(id1)&providedBy=x"]
            introducer = true
            skip-introduction-removals = true
            introduced-by = "\(id2)"
            allowed-networks = ["10.0.0.0/8", "!::/0"]
            up = "1 MiB/s"
            down = 2048
            connections = 8
            [[folder]]
            id = "f"
            path = "/f"
            devices = ["\(id1)"]
            relays = false
            guard-incoming-deletions = false
            case-clash = "rename"
            introduced = ["\(id1) by \(id2)"]
            """)
        #expect(
            configuration.discovery
                == Configuration.Discovery(
                    global: false,
                    servers: ["https://192.0.2.9:8443/?id=\(id1)", "http://[::1]:80/v2?insecure&noannounce"],
                    announcesLocalAddresses: false))
        #expect(
            configuration.relays
                == Configuration.Relays(
                    isEnabled: false, servers: ["relay://192.0.2.9:22067/?id=\(id1)", "dynamic+https://x/y"]))
        #expect(
            configuration.network
                == Configuration.Network(
                    mapsPorts: false, connections: 1, proxy: "socks5://me:se%20cret@127.0.0.1:9050", isProxyOnly: true))
        #expect(
            configuration.ignored
                == Configuration.Ignored(
                    devices: [id3],
                    folders: [
                        IgnoredFolder(FolderID("f")), IgnoredFolder(FolderID("Pictures from Anna")),
                        IgnoredFolder(FolderID("f"), from: id2),
                    ]))
        let device = configuration.devices[0]
        #expect(device.isIntroducer && device.skipsIntroductionRemovals && device.introducedBy == id2)
        #expect(device.allowedNetworks == ["10.0.0.0/8", "!::/0"])
        #expect(device.rates == TransferLimits.Rates(up: 1 << 20, down: 2048) && device.connections == 8)
        #expect(configuration.folders[0].usesRelays == false)
        #expect(configuration.folders[0].guardsIncomingDeletions == false)
        #expect(configuration.folders[0].caseClash == .rename)
        #expect(configuration.folders[0].introductions == [FolderIntroduction(id1, by: id2)])
    }

    /// A wrong file, the line that is to be named, and words that the message must have.
    static let mistakes: [(text: String, code: ConfigurationError.Code, line: Int, words: [String])] = {
        let id1 = testDevice(1).description
        let id2 = testDevice(2).description
        let device = "[[device]]\nid = \"\(id1)\"\n"
        let folder = "[[folder]]\nid = \"f\"\npath = \"/a\"\n"
        return [
            ("[discovery]\nglobel = true\n", .unknownKey, 2, ["`globel`", "did you mean `global`?"]),
            ("[discovery]\nservers = [\"defualt\"]\n", .invalidValue, 2, ["did you mean `default`?"]),
            ("[discovery]\nservers = [\"default\", \"default\"]\n", .duplicate, 2, ["listed twice"]),
            ("[relay]\n", .unknownKey, 1, ["did you mean `relays`?"]),
            ("[relays]\nservers = [\"https://x/y\"]\n", .invalidValue, 2, ["did you mean `dynamic+https://x/y`?"]),
            ("listen = [\"relay://x:1/\"]\n", .invalidValue, 1, ["`servers` of `[relays]`"]),
            ("[network]\nconnections = 0\n", .invalidValue, 2, ["from 1 to 8"]),
            ("[network]\nproxy = \"me:geheim@h:1\"\n", .invalidValue, 2, ["not a proxy"]),
            ("[network]\nproxy = \"\"\nproxy-only = true\n", .invalidValue, 3, ["needs a proxy"]),
            ("[ignored]\ndevices = [\"x\"]\n", .invalidValue, 2, ["`x`", "device id"]),
            (
                "[ignored]\nfolders = [\"f from \(id1.dropLast())A\"]\n", .invalidValue, 2, ["not a device id"]
            ),
            ("[ignored]\nfolders = [\"f\", \"f\"]\n", .duplicate, 2, ["listed twice"]),
            (device + "allowed-networks = [\"10.0.0\"]\n", .invalidValue, 3, ["not a network"]),
            (device + "up = 100\n", .invalidValue, 3, ["at least 1 KiB/s"]),
            (device + "connections = 9\n", .invalidValue, 3, ["from 1 to 8"]),
            (device + "addresses = [\"relay://x/?id=\(id1)\"]\n", .invalidValue, 3, ["no port", "22067"]),
            (folder + "introduced = [\"\(id1)\"]\n", .invalidValue, 4, ["DEVICE-ID by DEVICE-ID"]),
            (folder + "introduced = [\"\(id1) by \(id2)\"]\n", .noSuchDevice, 4, ["not shared with"]),
            ("name = \"a\"\nlisten = [\n", .syntax, 3, ["the file ends"]),
            ("listen = [}\n", .syntax, 1, ["`}`"]), ("[=]\n", .syntax, 1, ["`=`"]), ("[]\n", .syntax, 1, ["name"]),
            ("[[a]\n", .syntax, 1, ["`]]`"]), ("name = \n", .syntax, 1, ["value"]), ("name\n", .syntax, 1, ["`=`"]),
            ("é = 1\n", .syntax, 1, ["`é`"]), ("name = \"a\n", .syntax, 1, ["closing quote"]),
            ("name = \"\"\"a\n\n", .syntax, 1, ["closing quote"]), ("name = \"\\x\"\n", .syntax, 1, ["backslash"]),
            ("name = \"\\uD800\"\n", .syntax, 1, ["escape"]), ("name = 01\n", .syntax, 1, ["TOML"]),
            ("x = \(String(repeating: "[", count: 5000))\n", .syntax, 1, ["deep"]),
            ("# x\nname = \"a\" \"b\"\n", .syntax, 2, ["line should end"]),
            ("name = \"a\"\nname = \"b\"\n", .syntax, 2, ["TOML"]),
            ("a\u{0}b = 1\n", .syntax, 1, ["control character"]),
            ("\n\"a\\u0000b\" = 1\n", .syntax, 2, ["escape"]),
            ("# c\nnmae = \"x\"\n", .unknownKey, 2, ["`nmae`", "did you mean `name`?"]),
            ("# c\nxyzzy = \"x\"\n", .unknownKey, 2, ["`xyzzy`", "`listen`"]),
            ("\n[discovery]\n\nelsewhere = true\n", .unknownKey, 4, ["`elsewhere`", "`[discovery]`"]),
            ("[discovery]\nlocla = true\n", .unknownKey, 2, ["did you mean `local`?"]),
            ("[discvery]\nlocal = true\n", .unknownKey, 1, ["did you mean `discovery`?"]),
            ("[log]\n[log.sub]\nx = 1\n", .unknownKey, 2, ["`sub`"]),
            (device + "addreses = []\n", .unknownKey, 3, ["`[[device]]`", "did you mean `addresses`?"]),
            (device + "[device.extra]\nx = 1\n", .unknownKey, 3, ["`extra`"]),
            ("name = 3\n", .wrongType, 1, ["`name`", "in quotes"]),
            ("x = 1\n", .unknownKey, 1, ["`x`"]),
            ("discovery = true\n", .wrongType, 1, ["[discovery]"]),
            ("[discovery]\nlocal = \"yes\"\n", .wrongType, 2, ["true"]),
            ("# a\nlisten = \"tcp://0.0.0.0:1\"\n", .wrongType, 2, ["list", "[\""]),
            ("listen = [1]\n", .wrongType, 1, ["list"]),
            ("listen = [\n\"tcp://:1\",\n1979-05-27]\n", .wrongType, 3, ["`listen[1]` is a date", "list"]),
            ("limits = 5\n", .wrongType, 1, ["[limits]"]),
            (
                "[[limits.schedule]]\nfrom = \"08:00\"\nto = \"09:00\"\n[[limits.schedule]]\nup = 1\n", .invalidValue,
                4, []
            ),
            ("name = { a = 1 }\n", .wrongType, 1, ["a group of settings", "in quotes"]),
            ("device = [{ id = \"a\" }, 1]\n", .wrongType, 1, ["[[device]]"]),
            ("name = 0.5\n", .wrongType, 1, ["the fraction `0.5`"]),
            ("listen = [\n  \"tcp://0.0.0.0:1\",\n  \"quic://x:1\",\n]\n", .invalidValue, 1, ["quic://x:1", "tcp://"]),
            ("listen = [\"tcp://:1\", \"tcp://:1\"]\n", .duplicate, 1, ["twice"]),
            ("[cache]\nlimit = \"1 gig\"\n", .invalidValue, 2, ["GiB"]),
            ("[cache]\nlimit = -1\n", .invalidValue, 2, ["GiB"]),
            ("[cache]\nlimit = 1.5\n", .wrongType, 2, ["`1.5`", "GiB"]),
            ("[cache]\nlimit = true\n", .wrongType, 2, ["GiB"]),
            ("[log]\nlevel = info\n", .syntax, 2, ["`info`", "quotes"]),
            ("name = 1979-05-27Ts.07:32:00\n", .syntax, 1, ["quotes"]), ("name = +-1\n", .syntax, 1, ["`+-1`"]),
            ("[fetch]\nwindow = \"1 MiB\"\n", .invalidValue, 2, ["16 MiB"]),
            ("fetch = { window = \"64 MiB\", window-per-device = \"2 GiB\" }\n", .invalidValue, 1, ["1 GiB"]),
            ("[log]\nlevel = \"loud\"\n", .invalidValue, 2, ["debug"]),
            ("[http]\nport = 1\n", .unknownKey, 2, ["`port`", "`listen`"]),
            ("[http]\nlisten = \"8384\"\n", .invalidValue, 2, ["127.0.0.1:8394"]),
            ("[http]\nlisten = \"127.0.0.1:99999\"\n", .invalidValue, 2, ["cannot be listened on"]),
            ("[http]\nlisten = \"nas.local:80\"\n", .invalidValue, 2, ["cannot be listened on"]),
            ("[http]\nlisten = \"0.0.0.0:80\"\n", .invalidValue, 2, ["http.network true", "127.0.0.1"]),
            ("[http]\nlisten = \"192.168.1.7:80\"\n", .invalidValue, 2, ["http.network true"]),
            ("[http]\nlisten = \"[fe80::1]:80\"\n", .invalidValue, 2, ["http.network true"]),
            ("[http]\nnetwork = \"yes\"\n", .wrongType, 2, ["true"]),
            ("[http]\nhosts = [\"nas.local:80\"]\n", .invalidValue, 2, ["without a port"]),
            ("[http]\n\nrate = \"100 B\"\n", .invalidValue, 3, ["rate"]),
            ("[bluetooth]\nscan-window = 0\n", .invalidValue, 2, ["from 1 to 60 seconds"]),
            ("[bluetooth]\nscan-window = 61\n", .invalidValue, 2, ["from 1 to 60 seconds"]),
            ("[bluetooth]\nscan-window = \"5 s\"\n", .wrongType, 2, ["whole number"]),
            ("[bluetooth]\nscan-window = 9\nscan-interval = 8\n", .invalidValue, 3, ["`scan-window` (9)", "3600"]),
            ("[bluetooth]\nscan-interval = -1\n", .invalidValue, 2, ["`scan-window` (5)", "0 for no scan"]),
            ("[bluetooth]\nscan-interval = 3601\n", .invalidValue, 2, ["3600"]),
            ("[bluetooth]\nscan = 5\n", .unknownKey, 2, []),
            ("[notifications]\nenable = true\n", .unknownKey, 2, ["did you mean `enabled`?"]),
            ("[desktop]\ntrays = true\n", .unknownKey, 2, ["did you mean `tray`?"]),
            ("[desktop]\ntray = 1\n", .wrongType, 2, ["true"]),
            ("[thumbnails]\nlimit = \"x\"\n", .invalidValue, 2, ["GiB"]),
            ("[thumbnails]\nfolders = \"x\"\n", .unknownKey, 2, ["did you mean `folder`?"]),
            ("[thumbnails]\ndirectory = \"../x\"\n", .invalidValue, 2, [".thumbnails"]),
            ("[thumbnails]\ndirectory = \".stfolder/x\"\n", .invalidValue, 2, [".thumbnails"]),
            ("[thumbnails]\n\ncache = \"x\"\n", .invalidValue, 3, ["`x`"]),
            ("[mount]\npatience = 4\n", .invalidValue, 2, ["from 5 to 600"]),
            ("[mount]\nread-budget = \"x\"\n", .invalidValue, 2, ["GiB"]),
            ("[mount]\nscanners = [\"/usr/bin/x\"]\n", .invalidValue, 2, ["without a path"]),
            ("[mount]\nscanners = [\"!\"]\n", .invalidValue, 2, ["`!`"]),
            ("[mount]\nscanner = []\n", .unknownKey, 2, ["did you mean `scanners`?"]),
            (folder + "mount = \"m\"\n", .invalidValue, 4, ["absolute"]),
            ("name = \"a\\nb\"\n", .invalidValue, 1, ["control"]),
            ("device = [{ id = \"\(id1)\" }]\n", .wrongType, 1, ["[[device]]"]),
            ("\n[device]\nid = \"\(id1)\"\n", .wrongType, 2, ["[[device]]"]),
            ("\n[[device]]\nname = \"x\"\n", .missing, 2, ["`id`"]),
            ("[[device]]\n\nid = \"ABC\"\n", .invalidValue, 3, ["56"]),
            ("[[device]]\nid = \"\(id1.dropLast())\"\n", .invalidValue, 2, ["56"]),
            (device + "addresses = [\"dynamic\", \"nas:\"]\n", .invalidValue, 3, ["`nas:`", "`dynamic`"]),
            (device + "# again\n" + device, .duplicate, 5, ["twice"]),
            ("[[folder]]\nid = \"f\"\n", .missing, 1, ["`path`"]),
            ("[[folder]]\npath = \"/a\"\n", .missing, 1, ["`id`"]),
            ("[[folder]]\nid = \"\"\npath = \"/a\"\n", .invalidValue, 2, ["folder id"]),
            ("[[folder]]\nid = \"f\"\npath = \"a/b\"\n", .invalidValue, 3, ["absolute"]),
            ("[[folder]]\nid = \"f\"\npath = \"/a/../b\"\n", .invalidValue, 3, [".."]),
            ("[[folder]]\nid = \"f\"\npath = \"/\"\n", .invalidValue, 3, ["below"]),
            ("[[folder]]\nid = \"f\"\npath = \"/a\"\nmode = \"some\"\n", .invalidValue, 4, ["selective", "full"]),
            ("[[folder]]\nid = \"f\"\npath = \"/a\"\ntype = \"x\"\n", .invalidValue, 4, ["receiveonly"]),
            ("[[folder]]\nid = \"f\"\npath = \"/a\"\npaused = 1\n", .wrongType, 4, ["true"]),
            (folder + "bluetooth = \"some\"\n", .invalidValue, 4, ["`\"index-only\"`", "`\"off\"`"]),
            (device + "bluetooth = true\n", .wrongType, 3, ["in quotes"]),
            (folder + "bluetooth-limit = \"much\"\n", .invalidValue, 4, ["not a size"]),
            (folder + "rescan_interval = 60\n", .unknownKey, 4, ["did you mean `rescan-interval`?"]),
            (folder + "rescan-interval = \"60\"\n", .wrongType, 4, ["whole number", "`rescan-interval = 60`"]),
            (folder + "rescan-interval = -1\n", .invalidValue, 4, ["seconds", "0 for none"]),
            (folder + "rescan-interval = 99999999999\n", .invalidValue, 4, ["a year"]),
            (folder + "watch = \"yes\"\n", .wrongType, 4, ["true"]),
            (folder + "ignore-permissions = 0\n", .wrongType, 4, ["true"]),
            (folder + "order = \"random\"\n", .invalidValue, 4, ["small-first", "newest", "alphabetic"]),
            (folder + "priority = \"*.md\"\n", .wrongType, 4, ["list"]),
            (folder + "priority = [\"*.md\", \"!/a\"]\n", .invalidValue, 4, ["`!/a`", "without `!`"]),
            (folder + "priority = [\"#include x\"]\n", .invalidValue, 4, ["`#include x`"]),
            (folder + "priority = [\" \"]\n", .invalidValue, 4, ["empty"]),
            (folder + "groups = \"*.{a,b}\"\n", .wrongType, 4, ["list"]),
            (folder + "groups = [\"*.{a,b}\", \"*.{a\"]\n", .invalidValue, 4, ["`*.{a`", "needs a `}`"]),
            (folder + "groups = [\"*.jpg\"]\n", .invalidValue, 4, ["`*.jpg`", "two kinds"]),
            (folder + "groups = [\"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*\"]\n", .invalidValue, 4, ["32"]),
            (
                folder + "groups = [\(Array(repeating: "\"*.{a,b}\"", count: 101).joined(separator: ","))]\n",
                .invalidValue, 4, ["100"]
            ),
            (folder + "priority = [\"a[\"]\n", .invalidValue, 4, ["`a[`"]),
            (
                folder + "priority = [\(Array(repeating: "\"a\"", count: 101).joined(separator: ","))]\n",
                .invalidValue,
                4, ["100"]
            ),
            (folder + "minimum-free = \"101 %\"\n", .invalidValue, 4, ["1 %", "1 GiB"]),
            (folder + "min-copies = 0\n", .invalidValue, 4, ["1 and 100"]),
            (folder + "keep-free = \"some\"\n", .invalidValue, 4, ["1 %"]),
            (folder + "scrub-every = \"soon\"\n", .invalidValue, 4, ["`soon`", "30d"]),
            (folder + "scrub-every = \"30m\"\n", .invalidValue, 4, ["12h"]),
            (folder + "scrub-every = \"-3d\"\n", .invalidValue, 4, ["12h"]),
            (folder + "scrub-every = \"9999999w\"\n", .invalidValue, 4, ["ten years"]),
            (folder + "scrub-every = 30\n", .wrongType, 4, ["30"]),
            (folder + "case-clash = \"remane\"\n", .invalidValue, 4, ["`remane`", "`\"keep\"`", "`\"rename\"`"]),
            (folder + "case-clash = true\n", .wrongType, 4, ["case-clash"]),
            (folder + "minimum-free = \"much\"\n", .invalidValue, 4, ["1 %"]),
            (folder + "minimum-free = true\n", .wrongType, 4, ["512 MiB"]),
            (folder + "max-conflicts = 0\n", .invalidValue, 4, ["lost", "-1"]),
            (folder + "max-conflicts = 1001\n", .invalidValue, 4, ["1000"]),
            (folder + "xattr-filter = [\"\"]\n", .invalidValue, 4, ["user.*"]),
            (folder + "xattr-max-entry-size = -1\n", .invalidValue, 4, ["1000000", "no limit"]),
            (folder + "sync-xattrs = 1\n", .wrongType, 4, ["true"]),
            (folder + "versions = \"external\"\n", .invalidValue, 4, ["trashcan", "staggered"]),
            (folder + "versions-keep = 0\n", .invalidValue, 4, ["10000"]),
            (folder + "versions-cleanout-days = -1\n", .invalidValue, 4, ["no limit"]),
            (folder + "versions-path = \"old\"\n", .invalidValue, 4, ["absolute"]),
            (folder + "conflicts = \"oldest\"\n", .invalidValue, 4, ["newest", "command"]),
            (folder + "conflicts = \"command\"\n", .invalidValue, 4, ["conflicts-command"]),
            (folder + "conflicts-command = [\"decide\"]\n", .invalidValue, 4, ["full path"]),
            (folder + "conflicts-command-seconds = 0\n", .invalidValue, 4, ["3600"]),
            (
                device + "[[folder]]\nid = \"f\"\npath = \"/a\"\ndevices = [\n  \"\(id2)\"\n]\n", .noSuchDevice, 6,
                [id2, "synctrain device add"]
            ),
            (device + "[[folder]]\nid = \"f\"\npath = \"/a\"\ndevices = [\"x\"]\n", .invalidValue, 6, ["device id"]),
            (
                device + "[[folder]]\nid = \"f\"\npath = \"/a\"\ndevices = [\"\(id1)\", \"\(id1)\"]\n", .duplicate, 6,
                ["twice"]
            ),
            (
                "[[folder]]\nid = \"f\"\npath = \"/a\"\n[[folder]]\nid = \"f\"\npath = \"/b\"\n", .duplicate, 5, ["`f`"]
            ),
            (
                "[[folder]]\nid = \"f\"\npath = \"/a\"\n[[folder]]\nid = \"g\"\npath = \"/a/\"\n", .duplicate, 6,
                ["`f`", "another directory"]
            ),
            (
                "[[folder]]\nid = \"f\"\npath = \"/a/b\"\n[[folder]]\nid = \"g\"\npath = \"/a\"\n", .nestedFolder, 6,
                ["`f`", "`g`"]
            ),
        ]
    }()

    @Test(arguments: mistakes.indices)
    func mistakeIsNamed(_ index: Int) {
        let (text, code, line, words) = Self.mistakes[index]
        let error = failure { _ = try parse(text) }
        #expect(error?.code == code, "\(text)")
        #expect(error?.line == line, "\(text)\n\(error.map(\.description) ?? "")")
        #expect(error?.file == "/c/config.toml")
        for word in words { #expect(error?.message.contains(word) == true, "\(error?.message ?? "") lacks \(word)") }
    }

    @Test func bytesThatAreNoUTF8AreNamed() {
        let bytes = Array("# fine\nname = \"".utf8) + [0xFF] + Array("\"\n".utf8)
        let error = failure { _ = try ConfigurationText(bytes, reader: testReader) }
        #expect(error?.line == 2)
        #expect(error?.description.hasPrefix("/c/config.toml:2: ") == true)
    }

    /// No text may end the process.
    @Test func anyTextIsAnswered() throws {
        var random = SeededGenerator(seed: 7)
        let pieces = [
            "[[", "]]", "[", "]", "device", "folder", "\"", "'", "\"\"\"", "'''", "=", " ", "\n", "\r\n", "#", "\\",
            ",",
            "{", "}", ".", "id", "name", "1", "true", "listen", "é", "\t", "x", "1979-05-27 07:32:00", "\"a\"",
        ]
        var taken = 0
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            if (try? parse(text)) != nil { taken += 1 }
        }
        #expect(taken > 20)
    }

    @Test func damagedFilesAreAnswered() throws {
        let base =
            Array(DefaultConfiguration.text(name: "x").utf8) + Array("[[device]]\nid = \"\(testDevice(1))\"\n".utf8)
        var random = SeededGenerator(seed: 11)
        var refused = 0
        for _ in 0..<800 {
            var bytes = base
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let offset = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[offset] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: offset)
                default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: offset)
                }
            }
            do throws(ConfigurationError) {
                _ = try ConfigurationText(bytes, reader: testReader)
            } catch {
                refused += 1
                let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
                #expect(error.line.map { (1...lines).contains($0) } == true, "\(error)")
            }
        }
        #expect(refused > 80)
    }
}

@Suite struct ConfigurationSyntaxTests {
    /// TOML in every form is read; as none of these settings exists, that is what is said.
    @Test(arguments: [
        "a=1", "a = 1\r\n", "\u{FEFF}a = 1\n", "a . b = 1", "\"\" = 1", "a = [ ]", "a = [1,]",
        "a = [1,\n# c\n2 # d\n]", "a = { }", "a = { b = 1, c.d = [ { e = 2 } ] }", "a = '''x'''", "a = '''''''",
        "a = \"\"\"a\\  \n  b\"\"\"", "a = \"\\u00e9 \\U0001F600 \\\" \\\\\"", "a = +1_000", "a = -7", "a = true",
        "[a]\n[b.'c']\n[[d]]\n[[d]]\n", "a = 1 # é", "\t\n a = '\\'\n",
    ])
    func takesTOML(_ text: String) {
        let error = failure { _ = try parse(text) }
        #expect(error?.code == .unknownKey, "\(error.map(\.description) ?? "")")
    }
}
