import BlockExchange
import Phrases
import TOML

/// Makes a `Configuration` of a TOML text; every error names the line and says what to write instead.
struct ConfigurationReader {
    let file: String
    let userHome: String?
    let hostName: String

    func read(_ bytes: [UInt8]) throws(ConfigurationError) -> Configuration {
        let root: TOMLTable
        do throws(TOMLError) {
            root = try TOMLDocument(parsing: bytes, limits: ConfigurationLimits.toml).root
        } catch {
            throw ConfigurationError(
                .syntax, "not valid TOML: \(error.cause); \(error.remedy)", file: file, line: error.position.line)
        }
        let configuration = try configuration(root)
        if let (position, problem) = configuration.firstProblem() {
            throw problem.at(file, line: root.line(of: position))
        }
        return configuration
    }

    // MARK: - Tables

    private func configuration(_ root: TOMLTable) throws(ConfigurationError) -> Configuration {
        let settings = SettingsTable(table: root, name: "", file: file, line: 1)
        try settings.allow([
            "name", "listen", "discovery", "relays", "network", "bluetooth", "cache", "fetch", "http", "log",
            "offered-folders", "limits", "policies", "notifications", "desktop", "thumbnails", "mount", "ignored",
            "device",
            "folder",
        ])
        var configuration = Configuration(name: try settings.string("name") ?? hostName)
        if let listen = try settings.strings("listen") { configuration.listen = listen.map(AddressSyntax.completed) }
        if let place = try settings.string("offered-folders") {
            do throws(SettingProblem) {
                configuration.offeredFolders = try FolderPath.clean(place, userHome: userHome)
            } catch {
                throw error.at(file, line: settings.line("offered-folders"))
            }
        }
        if let section = try section("discovery", of: root) { configuration.discovery = try section.discovery() }
        if let section = try section("relays", of: root) { configuration.relays = try section.relays() }
        if let section = try section("network", of: root) { configuration.network = try section.network() }
        if let section = try section("ignored", of: root) { configuration.ignored = try section.ignored() }
        if let bluetooth = try section("bluetooth", of: root) {
            try bluetooth.allow(["enabled", "adapter", "scan-window", "scan-interval"])
            if let isEnabled = try bluetooth.bool("enabled") { configuration.bluetooth.isEnabled = isEnabled }
            configuration.bluetooth.adapter = try bluetooth.string("adapter")
            if let seconds = try bluetooth.int("scan-window") { configuration.bluetooth.scanWindow = seconds }
            if let seconds = try bluetooth.int("scan-interval") { configuration.bluetooth.scanInterval = seconds }
        }
        if let cache = try section("cache", of: root) {
            try cache.allow(["limit"])
            if let limit = try cache.byteCount("limit") { configuration.cache.byteLimit = limit }
        }
        if let fetch = try section("fetch", of: root) {
            try fetch.allow(["window", "window-per-device"])
            if let window = try fetch.byteCount("window") { configuration.fetch.windowByteCount = window }
            if let window = try fetch.byteCount("window-per-device") {
                configuration.fetch.deviceWindowByteCount = window
            }
        }
        if let http = try section("http", of: root) {
            configuration.http = try http.http(userHome: userHome)
        }
        if let section = try section("notifications", of: root) {
            try section.allow(["enabled"])
            if let isEnabled = try section.bool("enabled") { configuration.notifications.isEnabled = isEnabled }
        }
        if let section = try section("desktop", of: root) {
            try section.allow(["tray"])
            if let hasTray = try section.bool("tray") { configuration.desktop.hasTray = hasTray }
        }
        if let section = try section("thumbnails", of: root) {
            configuration.thumbnails = try section.thumbnails(userHome: userHome)
        }
        if let section = try section("mount", of: root) { configuration.mounting = try section.mounting() }
        if let log = try section("log", of: root) {
            try log.allow(["level", "format"])
            if let level: Configuration.Log.Level = try log.choice("level") { configuration.log.level = level }
            if let format: Configuration.Log.Format = try log.choice("format") { configuration.log.format = format }
        }
        if let limits = try section("limits", of: root) { configuration.limits = try self.limits(limits) }
        if let section = try section("policies", of: root) { configuration.policies = try section.policies() }
        for block in try blocks("device", of: root) { configuration.devices.append(try device(block)) }
        for block in try blocks("folder", of: root) { configuration.folders.append(try folder(block)) }
        return configuration
    }

    private func limits(_ section: SettingsTable) throws(ConfigurationError) -> TransferLimits {
        try section.allow(["up", "down", "local-network", "schedule"])
        var limits = TransferLimits(
            usual: TransferLimits.Rates(up: try section.rate("up"), down: try section.rate("down")))
        if let includes = try section.bool("local-network") { limits.includesLocalNetwork = includes }
        guard let schedule = section.value("schedule") else { return limits }
        let noBlock = section.error(
            .wrongType, "schedule", Phrase("write each schedule as a block `[[limits.schedule]]`"))
        guard case .array(let windows) = schedule else { throw noBlock }
        for node in windows {
            guard let block = block(node, "[[limits.schedule]]") else { throw noBlock }
            limits.windows.append(try window(block))
        }
        return limits
    }

    private func window(_ block: SettingsTable) throws(ConfigurationError) -> TransferLimits.Window {
        try block.allow(["days", "from", "to", "up", "down"])
        var days: Set<TransferLimits.Day> = []
        for word in try block.strings("days") ?? [] {
            guard let day = TransferLimits.Day(rawValue: word) else {
                let words = TransferLimits.Day.allCases.map { "`\"\($0.rawValue)\"`" }.joined(separator: ", ")
                throw block.error(
                    .invalidValue, "days",
                    Phrase("`\(word.prefix(80))` is not a day; use \(words), or omit `days` for every day"))
            }
            days.insert(day)
        }
        return TransferLimits.Window(
            days: days, from: try block.minuteOfDay("from"), to: try block.minuteOfDay("to"),
            rates: TransferLimits.Rates(up: try block.rate("up"), down: try block.rate("down")))
    }

    private func device(_ block: SettingsTable) throws(ConfigurationError) -> DeviceConfiguration {
        try block.allow([
            "id", "name", "addresses", "bluetooth", "introduced-by", "paused", "paused-until",
            "paused-reason", "introducer", "skip-introduction-removals", "allowed-networks", "up", "down",
            "connections",
        ])
        let text = try block.required("id", Phrase("write `id = \"…\"`, as `synctrain id` prints it on that device"))
        var device = DeviceConfiguration(id: try block.deviceID(text, "id"))
        if let name = try block.string("name") { device.name = name }
        if let addresses = try block.strings("addresses") { device.addresses = addresses.map(AddressSyntax.completed) }
        if let use: BluetoothUse = try block.choice("bluetooth") { device.bluetooth = use }
        if let isPaused = try block.bool("paused") { device.isPaused = isPaused }
        device.pausedUntil = try pausedUntil(block, isPaused: device.isPaused)
        let quota: DeviceQuota? = try block.choice("paused-reason")
        device.exceededQuota = device.isPaused ? quota : nil
        if let admin = try block.string("introduced-by") {
            device.introducedBy = try block.deviceID(admin, "introduced-by")
        }
        if let isIntroducer = try block.bool("introducer") { device.isIntroducer = isIntroducer }
        if let skips = try block.bool("skip-introduction-removals") { device.skipsIntroductionRemovals = skips }
        if let networks = try block.strings("allowed-networks") { device.allowedNetworks = networks }
        device.rates = TransferLimits.Rates(up: try block.rate("up"), down: try block.rate("down"))
        device.connections = try block.int("connections")
        return device
    }

    private func folder(_ block: SettingsTable) throws(ConfigurationError) -> FolderConfiguration {
        try block.allow([
            "id", "label", "path", "mode", "type", "devices", "readers", "admins", "untrusted", "paused",
            "paused-until",
            "rescan-interval", "watch",
            "ignore-permissions",
            "order", "priority", "groups", "minimum-free", "max-conflicts", "min-copies",
            "copies-max-age-days", "keep-free", "scrub-every", "bluetooth",
            "bluetooth-limit", "relays", "guard-incoming-deletions", "case-clash", "introduced",
            "versions", "versions-path", "versions-keep", "versions-cleanout-days", "versions-max-age-days",
            "versions-clean-interval", "conflicts", "conflicts-deleted", "conflicts-command",
            "conflicts-command-seconds", "sync-xattrs", "send-xattrs", "sync-ownership", "send-ownership",
            "xattr-filter", "xattr-max-entry-size", "xattr-max-total-size", "mount",
            "mount-read-only",
        ])
        let id = try block.required("id", Phrase("write `id = \"…\"`, the same on every device that shares the folder"))
        let path = try block.required("path", Phrase("write `path = \"…\"`, the directory on this device"))
        var folder: FolderConfiguration
        do throws(SettingProblem) {
            folder = FolderConfiguration(id: FolderID(id), path: try FolderPath.clean(path, userHome: userHome))
        } catch {
            throw error.at(file, line: block.line("path"))
        }
        if let label = try block.string("label") { folder.label = label }
        if let mode: FolderConfiguration.Mode = try block.choice("mode") { folder.mode = mode }
        if let kind: FolderConfiguration.Kind = try block.choice("type") { folder.kind = kind }
        for text in try block.strings("devices") ?? [] { folder.devices.append(try block.deviceID(text, "devices")) }
        for text in try block.strings("readers") ?? [] { folder.readers.append(try block.deviceID(text, "readers")) }
        for text in try block.strings("admins") ?? [] { folder.admins.append(try block.deviceID(text, "admins")) }
        for text in try block.strings("untrusted") ?? [] {
            folder.untrusted.append(try block.deviceID(text, "untrusted"))
        }
        if let isPaused = try block.bool("paused") { folder.isPaused = isPaused }
        folder.pausedUntil = try pausedUntil(block, isPaused: folder.isPaused)
        if let seconds = try block.int("rescan-interval") { folder.rescanInterval = seconds }
        if let isWatched = try block.bool("watch") { folder.isWatched = isWatched }
        if let ignores = try block.bool("ignore-permissions") { folder.ignoresPermissions = ignores }
        if let order: FolderConfiguration.Order = try block.choice("order") { folder.order = order }
        if let priority = try block.strings("priority") { folder.priority = priority }
        if let groups = try block.strings("groups") { folder.groups = groups }
        if let minimumFree = try block.minimumFree("minimum-free") { folder.minimumFree = minimumFree }
        if let count = try block.int("max-conflicts") { folder.maxConflicts = count == -1 ? nil : count }
        if let count = try block.int("min-copies") { folder.minimumCopies = count }
        if let days = try block.int("copies-max-age-days") { folder.copiesMaximumAgeDays = days }
        folder.keepFree = try block.minimumFree("keep-free")
        folder.scrubInterval = try block.interval("scrub-every")
        if let use: BluetoothUse = try block.choice("bluetooth") { folder.bluetooth = use }
        if let limit = try block.byteCount("bluetooth-limit") { folder.bluetoothLimit = limit }
        if let uses = try block.bool("relays") { folder.usesRelays = uses }
        if let guards = try block.bool("guard-incoming-deletions") { folder.guardsIncomingDeletions = guards }
        if let clash: FolderConfiguration.CaseClash = try block.choice("case-clash") { folder.caseClash = clash }
        folder.introductions = try block.introductions("introduced")
        folder.versions = try versions(block)
        if let policy: FolderConflicts.Policy = try block.choice("conflicts") { folder.conflicts.policy = policy }
        if let policy: FolderConflicts.Policy = try block.choice("conflicts-deleted") {
            folder.conflicts.deletedPolicy = policy
        }
        if let command = try block.strings("conflicts-command") { folder.conflicts.command = command }
        if let seconds = try block.int("conflicts-command-seconds") { folder.conflicts.commandSeconds = seconds }
        folder.attributes = try attributes(block)
        folder.mount = try block.folderMount(userHome: userHome)
        return folder
    }

    /// When a pause ends by itself; of no account where there is none.
    private func pausedUntil(_ block: SettingsTable, isPaused: Bool) throws(ConfigurationError) -> Int64? {
        guard let text = try block.string("paused-until") else { return nil }
        guard let moment = MomentText.parse(text) else {
            throw block.error(
                .invalidValue, "paused-until",
                Phrase("`paused-until` is not a time; write it in UTC, as `\"2026-11-21T23:00:00Z\"`, or omit it"))
        }
        return isPaused ? moment : nil
    }

    private func attributes(_ block: SettingsTable) throws(ConfigurationError) -> FolderAttributes {
        var attributes = FolderAttributes()
        if let syncs = try block.bool("sync-xattrs") { attributes.syncsXattrs = syncs }
        if let sends = try block.bool("send-xattrs") { attributes.sendsXattrs = sends }
        if let syncs = try block.bool("sync-ownership") { attributes.syncsOwnership = syncs }
        if let sends = try block.bool("send-ownership") { attributes.sendsOwnership = sends }
        if let patterns = try block.strings("xattr-filter") { attributes.patterns = patterns }
        if let limit = try block.int("xattr-max-entry-size") { attributes.entryByteLimit = limit }
        if let limit = try block.int("xattr-max-total-size") { attributes.totalByteLimit = limit }
        return attributes
    }

    private func versions(_ block: SettingsTable) throws(ConfigurationError) -> FolderVersions {
        var versions = FolderVersions()
        if let kind: FolderVersions.Kind = try block.choice("versions") { versions.kind = kind }
        if let path = try block.string("versions-path") {
            do throws(SettingProblem) {
                versions.path = try FolderPath.clean(path, userHome: userHome)
            } catch {
                throw error.at(file, line: block.line("versions-path"))
            }
        }
        if let keep = try block.int("versions-keep") { versions.keep = keep }
        if let days = try block.int("versions-cleanout-days") { versions.cleanoutDays = days }
        if let days = try block.int("versions-max-age-days") { versions.maximumAgeDays = days }
        if let seconds = try block.int("versions-clean-interval") { versions.cleanInterval = seconds }
        return versions
    }

    // MARK: - Finding tables

    private func block(_ node: TOMLNode, _ name: String) -> SettingsTable? {
        guard case .table(let table) = node.value else { return nil }
        return SettingsTable(table: table, name: name, file: file, line: node.position.line)
    }

    private func section(_ name: String, of root: TOMLTable) throws(ConfigurationError) -> SettingsTable? {
        guard let entry = root[name] else { return nil }
        guard let section = block(entry.node, "[\(name)]") else {
            throw ConfigurationError(
                .wrongType, "`\(name)` is a group of settings; write it as `[\(name)]`", file: file,
                line: entry.key.position.line)
        }
        return section
    }

    /// Blocks only, so that each can be found and edited in the text.
    private func blocks(_ name: String, of root: TOMLTable) throws(ConfigurationError) -> [SettingsTable] {
        guard let entry = root[name] else { return [] }
        let blocks = root.elements(name).compactMap { block($0, "[[\(name)]]") }.filter { $0.table.style == .element }
        guard case .array(let nodes) = entry.node.value, nodes.count == blocks.count else {
            throw ConfigurationError(
                .wrongType, "write each \(name) as a block of its own that begins with `[[\(name)]]`", file: file,
                line: entry.key.position.line)
        }
        return blocks
    }
}

extension TOMLTable {
    /// The elements of a list; empty for any other value.
    fileprivate func elements(_ key: String) -> [TOMLNode] {
        guard case .array(let nodes)? = self[key]?.node.value else { return [] }
        return nodes
    }

    /// The line of a setting, or of what comes nearest to it: the table that it would be in.
    fileprivate func line(of position: Configuration.Position) -> Int {
        switch position {
        case .setting(let keys): line(of: keys[...]) ?? 1
        case .device(let index, let key): line(of: key, in: elements("device"), index)
        case .folder(let index, let key): line(of: key, in: elements("folder"), index)
        }
    }

    private func line(of keys: ArraySlice<String>) -> Int? {
        guard let first = keys.first, let entry = self[first] else { return nil }
        guard case .table(let table) = entry.node.value else { return entry.key.position.line }
        return table.line(of: keys.dropFirst()) ?? entry.key.position.line
    }

    private func line(of key: String, in blocks: [TOMLNode], _ index: Int) -> Int {
        guard blocks.indices.contains(index) else { return 1 }
        guard case .table(let table) = blocks[index].value else { return blocks[index].position.line }
        return table.line(of: [key]) ?? blocks[index].position.line
    }
}
