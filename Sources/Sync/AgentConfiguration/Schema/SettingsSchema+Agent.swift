import BlockExchange

extension SettingsSchema {
    /// Settings of the agent, in the order of the file.
    package static let agent: [Setting<Configuration>] =
        groups([
            ("General", general),
            ("Network", reaching),
            ("Bluetooth", nearby),
            ("Cache and downloads", storing),
            ("Page and links", page),
            ("Desktop", desktop),
            ("Thumbnails", thumbnails),
            ("Mounted folders", mounting),
            ("Speed limits", limits),
            ("Metered connections and battery", policies),
            ("Log", log),
            ("Ignored devices and folders", ignored),
        ])

    private static let general: [Setting<Configuration>] = [
        .text("name", \.name, "Name shown to other devices.").without("the host name"),
        .texts("listen", \.listen, "Addresses to listen on, for example tcp://:22000; []: only dial.")
            .then { $0.listen = $0.listen.map(AddressSyntax.completed) }.afterRestart,
        .path("offered-folders", \.offeredFolders, "Parent directory for folders that admins offer.")
            .without("~/Sync").advanced,
    ]

    private static let reaching: [Setting<Configuration>] = [
        .flag("discovery.local", \.discovery.local, "Announce and find devices on the local network.").afterRestart,
        .flag("discovery.global", \.discovery.global, "Use discovery servers.").afterRestart,
        .texts("discovery.servers", \.discovery.servers, "Discovery servers; default: those of Syncthing.")
            .afterRestart.advanced,
        .flag(
            "discovery.announce-local-addresses", \.discovery.announcesLocalAddresses,
            "Tell the servers addresses in local networks, too."
        ).afterRestart.advanced,
        .flag("relays.enabled", \.relays.isEnabled, "Connect through relays where no direct connection works.")
            .afterRestart,
        .texts("relays.servers", \.relays.servers, "Relays; default: the public relays of Syncthing.").afterRestart
            .advanced,
        .flag("network.port-mapping", \.network.mapsPorts, "Ask routers to forward the port.").afterRestart,
        .number(
            "network.connections", Configuration.Network.connectionCounts, \.network.connections,
            "Connections per device."
        ).afterRestart.advanced,
        .optionalText("network.proxy", \.network.proxy, "Proxy, for example socks5://127.0.0.1:9050.")
            .without("ALL_PROXY in the environment").empty("no proxy").secret.afterRestart,
        .flag("network.proxy-only", \.network.isProxyOnly, "Connect through the proxy only.").afterRestart.advanced,
    ]

    private static let nearby: [Setting<Configuration>] = [
        .flag("bluetooth.enabled", \.bluetooth.isEnabled, "Connect to nearby paired devices over Bluetooth.")
            .afterRestart,
        .optionalText("bluetooth.adapter", \.bluetooth.adapter, "Bluetooth adapter, for example hci0.")
            .without("the first that is switched on").afterRestart.advanced,
        .number(
            "bluetooth.scan-window", 1...60, \.bluetooth.scanWindow,
            "Seconds of each background scan for absent devices."
        ).advanced,
        .number(
            "bluetooth.scan-interval", 1...3600, also: 0, \.bluetooth.scanInterval,
            "Seconds from one background scan to the next; 0: none."
        ).advanced,
    ]

    private static let storing: [Setting<Configuration>] = [
        .size("cache.limit", \.cache.byteLimit, "Disk space for fetched data that is not selected; 0: no cache.")
            .afterRestart,
        .size("fetch.window", \.fetch.windowByteCount, "Requested data in flight, 16 MiB to 1 GiB.").afterRestart
            .advanced,
        .size(
            "fetch.window-per-device", \.fetch.deviceWindowByteCount,
            "Requested data in flight per device, 16 MiB to 1 GiB."
        ).afterRestart.advanced,
    ]

    private static let page: [Setting<Configuration>] = [
        .text("http.listen", \.http.listen, "Address of the page and of links to files.")
            .empty("do not listen").afterRestart,
        .flag(
            "http.network", \.http.isOpenToNetwork,
            "Allow an address that other machines reach, with TLS and a password."
        ).afterRestart.advanced,
        .texts("http.hosts", \.http.hosts, "Host names allowed in requests, besides IP addresses.").afterRestart
            .advanced,
        .path("http.certificate", \.http.certificate, "Certificate (PEM) for such an address.")
            .without("one that the agent creates").afterRestart.advanced,
        .path("http.certificate-key", \.http.certificateKey, "Private key (PEM) of the certificate.")
            .without("in the file of the certificate").afterRestart.advanced,
        .rate("http.rate", \.http.rate, "Rate limit for links to files, all together."),
    ]

    private static let desktop: [Setting<Configuration>] = [
        .flag(
            "notifications.enabled", \.notifications.isEnabled,
            "Show conflicts, stopped folders, devices that want to connect and readiness on the desktop."),
        .flag("desktop.tray", \.desktop.hasTray, "Show a tray icon where the desktop has a tray."),
    ]

    private static let thumbnails: [Setting<Configuration>] = [
        .flag("thumbnails.enabled", \.thumbnails.isEnabled, "Create thumbnails of photos and films.").afterRestart,
        .path("thumbnails.cache", \.thumbnails.cache, "Directory of thumbnails.")
            .without("this user's cache directory").afterRestart.advanced,
        .size("thumbnails.limit", \.thumbnails.byteLimit, "Disk space for thumbnails.").afterRestart,
        .size("thumbnails.fetch-limit", \.thumbnails.fetchLimit, "Maximum download for one thumbnail.").afterRestart
            .advanced,
        .size(
            "thumbnails.fetch-limit-slow", \.thumbnails.slowFetchLimit,
            "The same over a metered connection or Bluetooth."
        ).afterRestart.advanced,
        Setting(
            .agent, "thumbnails.folder", .text, "Folder in which thumbnails are shared with other devices.",
            read: { $0.thumbnails.folder.map { .text($0.rawValue) } ?? .unset },
            write: { configuration, value in
                switch value {
                case .text(let id): configuration.thumbnails.folder = id.isEmpty ? nil : FolderID(id)
                case .unset: configuration.thumbnails.folder = nil
                default: return false
                }
                return true
            }
        ).without("not shared").afterRestart,
        .text("thumbnails.directory", \.thumbnails.directory, "Directory for them in that folder.").afterRestart
            .advanced,
    ]

    private static let mounting: [Setting<Configuration>] = [
        .number(
            "mount.patience", MountingSettings.patiences, \.mounting.patience,
            "Seconds that programs wait for data that does not arrive."),
        .size(
            "mount.read-budget", \.mounting.readBudget,
            "What one program may download by reading within 10 minutes; 0: no limit."),
        .texts(
            "mount.scanners", \.mounting.scanners,
            "More programs that may not download by reading; !name: one that may."
        ).advanced,
        .size(
            "mount.thumbnail-limit", \.mounting.thumbnailLimit,
            "Maximum download for one thumbnail in a file manager of a file that is not here; 0: none."),
    ]

    private static let limits: [Setting<Configuration>] = [
        .rate("limits.up", \.limits.usual.up, "Upload limit for all links except Bluetooth."),
        .rate("limits.down", \.limits.usual.down, "Download limit for all links except Bluetooth."),
        .flag("limits.local-network", \.limits.includesLocalNetwork, "Apply the limits to local networks, too."),
        Setting(
            .agent, "limits.schedule", .schedule, "Other limits at times of day; the first that matches applies.",
            read: { .list($0.limits.windows.map(\.text)) },
            write: { configuration, value in
                guard case .list(let texts) = value else { return false }
                let windows = texts.compactMap { TransferLimits.Window(text: $0) }
                guard windows.count == texts.count else { return false }
                configuration.limits.windows = windows
                return true
            }),
    ]

    private static let policies: [Setting<Configuration>] = [
        .choice("policies.on-metered", \.policies.onMetered, "What is transferred over metered connections."),
        Setting(
            .agent, "policies.metered-limit", .rate, \.policies.meteredRate, .rate,
            "Limit each way where on-metered is limit."),
        .flag(
            "policies.local-network", \.policies.includesLocalNetwork,
            "Apply on-metered to local networks, too."
        ).advanced,
        .choice(
            "policies.on-battery", \.policies.onBattery, except: [.limit],
            "What is transferred on battery power."),
        .number(
            "policies.battery-below", 1...100, \.policies.batteryBelow,
            "Charge in percent below which on-battery applies; 100: always."),
    ]

    private static let log: [Setting<Configuration>] = [
        .choice("log.level", \.log.level, "Least important messages to log.").afterRestart,
        .choice("log.format", \.log.format, "Format of the log; auto: human on a terminal, else json.").afterRestart
            .advanced,
    ]

    private static let ignored: [Setting<Configuration>] = [
        .devices("ignored.devices", \.ignored.devices, "Devices that are not offered again."),
        Setting(
            .agent, "ignored.folders", .texts, "Folders that are not offered again: ID, or ID from DEVICE-ID.",
            read: { .list($0.ignored.folders.map(\.text)) },
            write: { configuration, value in
                guard case .list(let texts) = value else { return false }
                configuration.ignored.folders = texts.map { IgnoredFolder(text: $0) }
                return true
            }),
    ]
}
