import BlockExchange

/// The configuration file as text and as what it says; edits touch the lines that they mean and no others.
struct ConfigurationText {
    let bytes: [UInt8]
    let configuration: Configuration
    private let reader: ConfigurationReader

    init(_ bytes: [UInt8], reader: ConfigurationReader) throws(ConfigurationError) {
        self.bytes = bytes
        self.reader = reader
        configuration = try reader.read(bytes)
    }

    /// The text after `edit`.
    ///
    /// Comments stay, save those between the first and the last line of a block that is removed, or on the line of a list
    /// entry that is. The result is read again and must say what the edit means; else `notEditable` is thrown.
    func applying(_ edit: ConfigurationEdit) throws(ConfigurationError) -> ConfigurationText {
        let expected = try expected(after: edit)
        let edited = try? ConfigurationText(draft(of: edit, to: expected).bytes, reader: reader)
        guard let edited, edited.configuration == expected else {
            throw ConfigurationError(
                .notEditable,
                "synctrain cannot edit a file with this layout safely; make this change in an editor",
                file: reader.file)
        }
        return edited
    }

    /// What the file is to say after `edit`.
    private func expected(after edit: ConfigurationEdit) throws(ConfigurationError) -> Configuration {
        var expected: Configuration
        do throws(ConfigurationError) {
            expected = try edit.applied(to: configuration)
        } catch {
            throw ConfigurationError(error.code, error.text, file: reader.file)
        }
        // What the file does not name is called as the host is.
        if case .set(.agent, let assignments) = edit, assignments.contains(SettingAssignment("name", nil)) {
            expected.name = reader.hostName
        }
        return expected
    }

    /// The lines that `edit` means, changed.
    private func draft(of edit: ConfigurationEdit, to expected: Configuration) -> TOMLDraft {
        var draft = TOMLDraft(bytes)
        switch edit {
        case .addDevice(let device):
            draft.append(block: "device", Self.settings(of: device))
        case .renameDevice(let id, let name):
            draft.set("name", of: "device", at: index(id), to: TOMLText.quoted(name))
        case .setAddresses(let id, let addresses):
            let old = configuration.devices.first { $0.id == id }?.addresses ?? []
            draft.setList("addresses", of: "device", at: index(id), from: old, to: addresses, quoting: { $0 })
            draft.set("introduced-by", of: "device", at: index(id), toOrRemove: nil)
        case .removeDevice(let id):
            for (index, folder) in configuration.folders.enumerated() where folder.devices.contains(id) {
                Self.setSharing(of: folder, to: expected.folders[index], at: index, &draft)
            }
            draft.remove(block: "device", at: index(id))
        case .addFolder(let folder):
            draft.append(block: "folder", Self.settings(of: folder))
        case .setFolderPaused(let id, let isPaused, let until):
            draft.setPaused(isPaused, until: until, of: "folder", at: index(id))
        case .setDevicePaused(let id, _, _), .pauseDevice(let id, _):
            let (index, device) = (index(id), expected.devices[index(id)])
            draft.setPaused(device.isPaused, until: device.pausedUntil, of: "device", at: index)
            let reason = device.exceededQuota.map { TOMLText.quoted($0.rawValue) }
            draft.set("paused-reason", of: "device", at: index, toOrRemove: reason)
        case .setFolderMode(let id, let mode):
            draft.set("mode", of: "folder", at: index(id), to: TOMLText.quoted(mode.rawValue))
        case .setFolderBluetooth(let id, let use, let limit):
            if let use { draft.set("bluetooth", of: "folder", at: index(id), to: TOMLText.quoted(use.rawValue)) }
            if let limit {
                let text = limit == 0 ? "0" : TOMLText.quoted(ByteCountText.format(limit))
                draft.set("bluetooth-limit", of: "folder", at: index(id), to: text)
            }
        case .setDeviceBluetooth(let id, let use):
            draft.set("bluetooth", of: "device", at: index(id), to: TOMLText.quoted(use.rawValue))
        case .setFolderDevices(let id, _), .setFolderRole(let id, _, _), .distrust(let id, _), .trust(let id, _),
            .shareFolder(let id, _, _), .unshareFolder(let id, _):
            guard let old = configuration.folders.first(where: { $0.id == id }),
                let new = expected.folders.first(where: { $0.id == id })
            else { break }
            Self.setSharing(of: old, to: new, at: index(id), &draft)
        case .setFolderRelays(let id, let uses):
            draft.set("relays", of: "folder", at: index(id), to: String(uses))
        case .setIntroducer(let id, let isIntroducer):
            draft.set("introducer", of: "device", at: index(id), to: String(isIntroducer))
        case .setSkipsIntroductionRemovals(let id, let skips):
            draft.set("skip-introduction-removals", of: "device", at: index(id), to: String(skips))
        case .setAllowedNetworks(let id, let networks):
            let old = configuration.devices.first { $0.id == id }?.allowedNetworks ?? []
            draft.setList("allowed-networks", of: "device", at: index(id), from: old, to: networks, quoting: { $0 })
        case .setDeviceRates(let id, let rates):
            for (key, rate) in [("up", rates.up), ("down", rates.down)] {
                draft.set(key, of: "device", at: index(id), toOrRemove: rate.map(Self.text(ofRate:)))
            }
        case .setDeviceConnections(let id, let count):
            draft.set("connections", of: "device", at: index(id), toOrRemove: count.map { String($0) })
        // Below, for whatever changes them.
        case .setDeviceIgnored, .setFolderIgnored: break
        case .setNetwork(let setting, let isOn):
            draft.set(setting.place.key, ofTable: setting.place.section, to: String(isOn))
        case .set(let target, let assignments): draft.set(assignments, of: target, from: configuration, to: expected)
        case .removeFolder(let id):
            draft.remove(block: "folder", at: index(id))
        }
        if expected.ignored.devices != configuration.ignored.devices {
            let devices = expected.ignored.devices.map(\.description)
            draft.set("devices", ofTable: "ignored", to: TOMLText.list(devices))
        }
        if expected.ignored.folders != configuration.ignored.folders {
            draft.set("folders", ofTable: "ignored", to: TOMLText.list(expected.ignored.folders.map(\.text)))
        }
        return draft
    }

    private static func setSharing(
        of old: FolderConfiguration, to new: FolderConfiguration, at index: Int, _ draft: inout TOMLDraft
    ) {
        for (key, before, after) in [
            ("devices", old.devices, new.devices), ("readers", old.readers, new.readers),
            ("admins", old.admins, new.admins), ("untrusted", old.untrusted, new.untrusted),
        ] where before != after {
            draft.setList(key, of: "folder", at: index, from: before, to: after, quoting: \.description)
        }
        guard old.introductions != new.introductions else { return }
        draft.setList(
            "introduced", of: "folder", at: index, from: old.introductions, to: new.introductions, quoting: \.text)
    }

    /// What a block of a new device says.
    private static func settings(of device: DeviceConfiguration) -> [(String, String)] {
        var lines = [
            ("id", TOMLText.quoted(device.id.description)), ("name", TOMLText.quoted(device.name)),
            ("addresses", TOMLText.list(device.addresses)),
        ]
        if device.bluetooth != .all { lines.append(("bluetooth", TOMLText.quoted(device.bluetooth.rawValue))) }
        if device.isPaused { lines.append(("paused", "true")) }
        if device.isPaused, let until = device.pausedUntil {
            lines.append(("paused-until", TOMLText.quoted(MomentText.format(until))))
        }
        if device.isPaused, let quota = device.exceededQuota {
            lines.append(("paused-reason", TOMLText.quoted(quota.rawValue)))
        }
        if let admin = device.introducedBy {
            lines.append(("introduced-by", TOMLText.quoted(admin.description)))
        }
        if device.isIntroducer { lines.append(("introducer", "true")) }
        if device.skipsIntroductionRemovals { lines.append(("skip-introduction-removals", "true")) }
        if !device.allowedNetworks.isEmpty {
            lines.append(("allowed-networks", TOMLText.list(device.allowedNetworks)))
        }
        for (key, rate) in [("up", device.rates.up), ("down", device.rates.down)] {
            if let rate { lines.append((key, text(ofRate: rate))) }
        }
        if let connections = device.connections { lines.append(("connections", String(connections))) }
        return lines
    }

    /// What a block of a new folder says.
    private static func settings(of folder: FolderConfiguration) -> [(String, String)] {
        var lines = [("id", TOMLText.quoted(folder.id.rawValue))]
        if !folder.label.isEmpty { lines.append(("label", TOMLText.quoted(folder.label))) }
        lines += [
            ("path", TOMLText.quoted(folder.path)), ("mode", TOMLText.quoted(folder.mode.rawValue)),
            ("type", TOMLText.quoted(folder.kind.rawValue)),
            ("devices", TOMLText.list(folder.devices.map(\.description))),
            ("paused", String(folder.isPaused)),
        ]
        return lines + syncSettings(of: folder)
    }

    private static func text(ofRate rate: Int64) -> String { TOMLText.quoted(ByteCountText.format(rate) + "/s") }

    /// What of a new folder is not as everyone has it: the rest is left to the defaults.
    private static func syncSettings(of folder: FolderConfiguration) -> [(String, String)] {
        let usual = FolderConfiguration(id: folder.id, path: folder.path)
        var lines: [(String, String)] = []
        for (key, devices) in [
            ("readers", folder.readers), ("admins", folder.admins), ("untrusted", folder.untrusted),
        ] where !devices.isEmpty {
            lines.append((key, TOMLText.list(devices.map(\.description))))
        }
        if !folder.introductions.isEmpty {
            lines.append(("introduced", TOMLText.list(folder.introductions.map(\.text))))
        }
        if folder.rescanInterval != usual.rescanInterval {
            lines.append(("rescan-interval", String(folder.rescanInterval)))
        }
        if folder.isWatched != usual.isWatched { lines.append(("watch", String(folder.isWatched))) }
        if folder.ignoresPermissions != usual.ignoresPermissions {
            lines.append(("ignore-permissions", String(folder.ignoresPermissions)))
        }
        if folder.order != usual.order { lines.append(("order", TOMLText.quoted(folder.order.rawValue))) }
        if folder.priority != usual.priority { lines.append(("priority", TOMLText.list(folder.priority))) }
        if folder.groups != usual.groups { lines.append(("groups", TOMLText.list(folder.groups))) }
        if folder.minimumFree != usual.minimumFree {
            lines.append(("minimum-free", TOMLText.quoted(folder.minimumFree.text)))
        }
        if folder.maxConflicts != usual.maxConflicts {
            lines.append(("max-conflicts", String(folder.maxConflicts ?? -1)))
        }
        if folder.minimumCopies != usual.minimumCopies {
            lines.append(("min-copies", String(folder.minimumCopies)))
        }
        if folder.copiesMaximumAgeDays != usual.copiesMaximumAgeDays {
            lines.append(("copies-max-age-days", String(folder.copiesMaximumAgeDays)))
        }
        if let keepFree = folder.keepFree { lines.append(("keep-free", TOMLText.quoted(keepFree.text))) }
        if let seconds = folder.scrubInterval {
            lines.append(("scrub-every", TOMLText.quoted(IntervalText.format(seconds))))
        }
        if folder.bluetooth != usual.bluetooth {
            lines.append(("bluetooth", TOMLText.quoted(folder.bluetooth.rawValue)))
        }
        if folder.bluetoothLimit != usual.bluetoothLimit {
            lines.append(("bluetooth-limit", TOMLText.quoted(ByteCountText.format(folder.bluetoothLimit))))
        }
        if folder.usesRelays != usual.usesRelays { lines.append(("relays", String(folder.usesRelays))) }
        if folder.guardsIncomingDeletions != usual.guardsIncomingDeletions {
            lines.append(("guard-incoming-deletions", String(folder.guardsIncomingDeletions)))
        }
        if folder.caseClash != usual.caseClash {
            lines.append(("case-clash", TOMLText.quoted(folder.caseClash.rawValue)))
        }
        let (versions, usualVersions) = (folder.versions, usual.versions)
        if versions.kind != usualVersions.kind {
            lines.append(("versions", TOMLText.quoted(versions.kind.rawValue)))
        }
        if let path = versions.path { lines.append(("versions-path", TOMLText.quoted(path))) }
        for (key, number, usual) in [
            ("versions-keep", versions.keep, usualVersions.keep),
            ("versions-cleanout-days", versions.cleanoutDays, usualVersions.cleanoutDays),
            ("versions-max-age-days", versions.maximumAgeDays, usualVersions.maximumAgeDays),
            ("versions-clean-interval", versions.cleanInterval, usualVersions.cleanInterval),
        ] where number != usual {
            lines.append((key, String(number)))
        }
        let (conflicts, usualConflicts) = (folder.conflicts, usual.conflicts)
        for (key, policy, usual) in [
            ("conflicts", conflicts.policy, usualConflicts.policy),
            ("conflicts-deleted", conflicts.deletedPolicy, usualConflicts.deletedPolicy),
        ] where policy != usual {
            lines.append((key, TOMLText.quoted(policy.rawValue)))
        }
        if !conflicts.command.isEmpty { lines.append(("conflicts-command", TOMLText.list(conflicts.command))) }
        if conflicts.commandSeconds != usualConflicts.commandSeconds {
            lines.append(("conflicts-command-seconds", String(conflicts.commandSeconds)))
        }
        if let directory = folder.mount.directory { lines.append(("mount", TOMLText.quoted(directory))) }
        if folder.mount.isReadOnly { lines.append(("mount-read-only", "true")) }
        return lines + attributeSettings(of: folder.attributes)
    }

    private static func attributeSettings(of attributes: FolderAttributes) -> [(String, String)] {
        let usual = FolderAttributes()
        var lines: [(String, String)] = []
        for (key, isSet) in [
            ("sync-xattrs", attributes.syncsXattrs), ("send-xattrs", attributes.sendsXattrs),
            ("sync-ownership", attributes.syncsOwnership), ("send-ownership", attributes.sendsOwnership),
        ] where isSet {
            lines.append((key, "true"))
        }
        if attributes.patterns != usual.patterns {
            lines.append(("xattr-filter", TOMLText.list(attributes.patterns)))
        }
        for (key, limit, usual) in [
            ("xattr-max-entry-size", attributes.entryByteLimit, usual.entryByteLimit),
            ("xattr-max-total-size", attributes.totalByteLimit, usual.totalByteLimit),
        ] where limit != usual {
            lines.append((key, String(limit)))
        }
        return lines
    }

    private func index(_ id: DeviceID) -> Int { configuration.devices.firstIndex { $0.id == id } ?? 0 }
    private func index(_ id: FolderID) -> Int { configuration.folders.firstIndex { $0.id == id } ?? 0 }
}

extension TOMLDraft {
    /// Sets a setting, or takes it out where there is no value.
    fileprivate mutating func set(_ key: String, of name: String, at index: Int, toOrRemove value: String?) {
        if let value { set(key, of: name, at: index, to: value) } else { remove(key, of: name, at: index) }
    }

    fileprivate mutating func setPaused(_ isPaused: Bool, until: Int64?, of name: String, at index: Int) {
        set("paused", of: name, at: index, to: String(isPaused))
        if isPaused, let until {
            set("paused-until", of: name, at: index, to: TOMLText.quoted(MomentText.format(until)))
        } else {
            remove("paused-until", of: name, at: index)
        }
    }
}
