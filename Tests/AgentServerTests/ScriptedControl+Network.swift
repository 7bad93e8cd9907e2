import ControlAPI

extension ScriptedControl {
    private var mountList: MountList {
        MountList(mounts: [
            MountStatus(
                folder: "library", directory: "/home/a/Library", state: "mounted", since: "2026-11-26T07:00:00Z",
                isReadOnly: true, isConfigured: true,
                readers: [
                    MountReading(
                        program: "mpv", process: 7, path: "films/a.mkv", files: 1, bytes: 1 << 20, bytesPerSecond: 5000)
                ], moreReaders: 2),
            MountStatus(
                folder: "music", directory: "/home/a/Music", state: "unmounted", isConfigured: true,
                problem: ControlError(.alreadyExists, "/home/a/Music is not empty. Choose an empty directory.")),
        ])
    }

    func addNetwork(to table: inout EndpointHandlers) {
        table.on(Endpoints.setFolderRelays) { try self.note("\($0)") }
        table.on(Endpoints.mounts) {
            try self.note("mounts")
            return self.mountList
        }
        table.on(Endpoints.setMounted) { change in
            try self.note("\(change)")
            return self.mountList
        }
        table.on(Endpoints.network) {
            try self.note("network")
            return NetworkSettings(
                discoveryServers: ["https://192.0.2.9/"], relays: false, proxy: "socks5://u:…@h:1", proxyOnly: true)
        }
        table.on(Endpoints.settings) {
            try self.note("settings")
            return SettingsDocument(
                settings: [
                    SettingDescription(
                        scope: "agent", key: "name", kind: "text", allowed: "a text", words: [], isList: false,
                        usual: "",
                        without: "the host name", summary: "Name shown to other devices", needsRestart: false,
                        changedBy: nil)
                ],
                agent: [SettingState(key: "name", value: "laptop", values: nil, isDefault: false)],
                folders: [SettingsSubject(id: "docs", name: "", settings: [])],
                devices: [SettingsSubject(id: "AAAAAAA-B", name: "nas", settings: [])])
        }
        table.on(
            Endpoints.changeSettings,
            inBrowser: { change in
                guard !change.settings.contains(where: { $0.key == "terminal-only" }) else {
                    throw ControlError(.noPermission, "Use a terminal.")
                }
            }
        ) { change in
            try self.note("\(change)")
            return SettingsAnswer(
                settings: change.settings.map {
                    .init(key: $0.key, from: "", to: $0.value ?? "", needsRestart: false)
                })
        }
        table.on(Endpoints.reach) {
            try self.note("reach")
            return ReachReport(
                announcedAddresses: ["tcp://0.0.0.0:22000", "relay://192.0.2.9:22067/?id=R"],
                servers: [
                    .init(url: "https://192.0.2.9/", announcedSeconds: 12, nextSeconds: 1788, problem: nil),
                    .init(
                        url: "https://192.0.2.8/", announcedSeconds: nil, nextSeconds: 30, problem: "it is overloaded"),
                ],
                relays: [
                    .init(
                        source: "dynamic+https://192.0.2.9/endpoint", address: "relay://192.0.2.9:22067",
                        state: "joined",
                        joinedSeconds: 3, roundTripMilliseconds: 21, problem: nil)
                ],
                routers: ["The router at 192.0.2.1 does not answer PCP, NAT-PMP or UPnP."],
                devices: [
                    .init(
                        id: "AAAAAAA-B", name: "nas", links: ["relay relay://192.0.2.9:22067"],
                        rates: ["relay relay://192.0.2.9:22067": 3 << 20],
                        failures: [
                            .init(
                                address: "tcp://192.0.2.7:22000", source: "global", message: "connection refused",
                                time: "2026-11-23T00:00:00Z")
                        ]), .init(id: "AAAAAAA-C", name: "phone", links: [], failures: []),
                    .init(
                        id: "DDDDDDD-E", name: "", links: Array(repeating: "tcp tcp://192.0.2.6:22000", count: 3),
                        failures: []),
                ])
        }
        table.on(Endpoints.testReach) {
            try self.note("test reach")
            return ReachTest(
                devices: [
                    .init(
                        id: "AAAAAAA-B", name: "nas", transport: "tcp", isLocal: false,
                        results: [
                            .init(address: "tcp://203.0.113.5:22000", outcome: "timed-out", message: "timed out"),
                            .init(address: "tcp://203.0.113.5:40000", outcome: "reached", message: "connected"),
                        ]),
                    .init(
                        id: "AAAAAAA-C", name: "phone", transport: "tcp", isLocal: true,
                        problem: "it was asked too soon",
                        results: [
                            .init(
                                address: "tcp://192.168.1.2:22000", outcome: "not-tried",
                                message: "it connects through a proxy")
                        ]),
                    .init(
                        id: "DDDDDDD-E", name: "", transport: "tcp", isLocal: false,
                        results: [
                            .init(address: "tcp://203.0.113.5:22000", outcome: "reached", message: "connected")
                        ]),
                ], relay: .init(isReachable: true, message: "relay://192.0.2.9:22067 is joined"),
                advice: "Devices elsewhere can connect to this one directly.")
        }
        table.on(Endpoints.doctor) {
            try self.note("doctor")
            return DoctorReport(findings: [
                DoctorFinding(
                    .devices, "connection", .warning, subject: "AAAAAAA-B", "nas is not connected: timed out.",
                    why: "Nothing is exchanged with it.", remedy: "Switch nas on.", command: "synctrain reach",
                    details: ["tcp://192.0.2.7:22000 (discovery server): timed out"]),
                DoctorFinding(.network, "listening", .ok, "Listens on tcp://0.0.0.0:22000."),
                DoctorFinding(.devices, "connection", .ok, subject: "AAAAAAA-C", "phone is connected (tcp)."),
                DoctorFinding(.mount, "fusermount3", .warning, "of the agent's own"),
                DoctorFinding(.agent, "agent", .ok, "The agent 0.1.0 runs."),
            ])
        }
        table.on(Endpoints.directories) { query in
            try self.note("directories \(query.path ?? "")")
            return DirectoryListing(
                path: query.path ?? "/home/me", home: "/home/me",
                directories: [
                    DirectoryListing.Directory(name: "Library", folder: "library"),
                    DirectoryListing.Directory(name: "closed", isReadable: false, isLink: true),
                ], isWhole: false, unnameable: 2, isWritable: false)
        }
        table.on(Endpoints.setNetwork) { change in
            try self.note("\(change)")
            return ReloadAnswer(restart: ["relays"], changed: ["relays"])
        }
        table.on(Endpoints.ignored) {
            try self.note("ignored")
            return IgnoredList(
                devices: ["AAAAAAA-C"],
                folders: [IgnoredOffer(folder: "spam"), IgnoredOffer(folder: "music", device: "AAAAAAA-B")])
        }
        table.on(Endpoints.setIgnored) { try self.note("\($0)") }
    }
}
