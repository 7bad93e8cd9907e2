import AgentConfiguration
import BlockExchange
import ControlAPI

extension Configuration {
    /// The edits that add a device, or give one that is known the name and addresses that were said.
    ///
    /// - Parameter localDevice: this device's own id, which cannot be added; nil if it is not known here.
    /// - Throws: `ControlError` (`invalidRequest` for what is not another device's id, and for settings and shares that
    ///   there are not; `alreadyExists` for a known device without a new name or address, or with further settings);
    ///   `ConfigurationError` (`noSuchFolder`).
    package func edits(adding settings: DeviceSettings, localDevice: DeviceID?) throws -> [ConfigurationEdit] {
        let id: DeviceID
        do throws(DeviceIDError) {
            id = try DeviceID(parsing: settings.id)
        } catch {
            throw ControlError(.invalidRequest, error.text, path: settings.id)
        }
        guard id != localDevice else {
            throw ControlError(
                .invalidRequest, "\(id) is this device; add the id of the other device", path: settings.id)
        }
        let addresses = settings.addresses?.map(AddressSyntax.completed)
        guard devices.contains(where: { $0.id == id }) else {
            var device = DeviceConfiguration(id: id, name: settings.name ?? "", addresses: addresses ?? ["dynamic"])
            do throws(ConfigurationError) {
                try device.restore(
                    (settings.settings ?? []).map { SettingText($0.key, text: $0.value, elements: $0.values) })
            } catch {
                throw ControlError(.invalidRequest, error.text, path: settings.id)
            }
            return try [.addDevice(device)] + (settings.folders ?? []).flatMap { try edits(sharing: $0, with: id) }
        }
        guard settings.settings == nil, settings.folders == nil else {
            throw ControlError(
                .alreadyExists,
                "the device \(id) is already known; change its settings with `synctrain device set`, and share folders with "
                    + "`synctrain folder share`", path: settings.id)
        }
        guard settings.name != nil || addresses != nil else {
            throw ControlError(
                .alreadyExists, "the device \(id) is already known; change it with --name or --address",
                path: settings.id)
        }
        return [settings.name.map { .renameDevice(id, name: $0) }, addresses.map { .setAddresses(id, $0) }]
            .compactMap { $0 }
    }

    private func edits(sharing share: DeviceShare, with device: DeviceID) throws -> [ConfigurationEdit] {
        let folder = try folder(FolderID(share.folder)).id
        guard let role = share.role.map(DeviceRole.init(rawValue:)) ?? .write else {
            throw ControlError(
                .invalidRequest, "unknown role \(share.role?.prefix(80) ?? ""); use read, write or admin")
        }
        var introducer: DeviceID?
        if let text = share.introducedBy {
            do throws(DeviceIDError) { introducer = try DeviceID(parsing: text) } catch {
                throw ControlError(.invalidRequest, error.text, path: text)
            }
        }
        return [.shareFolder(folder, device, introducedBy: introducer)]
            + (role == .write ? [] : [.setFolderRole(folder, device, role)])
            + (share.isEncrypted == true ? [.distrust(folder, device)] : [])
    }

    /// What `edits(adding:)` takes to bring the device back as it is now, with the folders that are shared with it.
    ///
    /// - Throws: `ConfigurationError` (`noSuchDevice`, `duplicate`).
    package func restoration(of reference: String) throws(ConfigurationError) -> DeviceSettings {
        let device = try device(reference)
        let settings = device.changedSettings.map {
            SettingInput(key: $0.key, value: $0.text, values: $0.elements)
        }
        let shares = folders.filter { $0.devices.contains(device.id) }.map { folder in
            let role = folder.role(of: device.id)
            return DeviceShare(
                folder: folder.id.rawValue, role: role == .write ? nil : role.rawValue,
                isEncrypted: folder.untrusted.contains(device.id) ? true : nil,
                introducedBy: folder.introducer(of: device.id)?.description)
        }
        return DeviceSettings(
            id: device.id.description, name: device.name, addresses: device.addresses,
            settings: settings.isEmpty ? nil : settings, folders: shares.isEmpty ? nil : shares)
    }

    /// The edit that says what of a folder goes over Bluetooth.
    ///
    /// - Throws: `ControlError` (`invalidRequest`); `ConfigurationError` (`noSuchFolder`).
    package func edits(applying change: FolderBluetoothChange) throws -> [ConfigurationEdit] {
        if let limit = change.limit, limit < 0 {
            throw ControlError(.invalidRequest, "\(limit) is not a limit; use a number of bytes, 0 for no limit")
        }
        let use = try change.use.map { try Self.bluetoothUse($0) }
        guard use != nil || change.limit != nil else {
            throw ControlError(.invalidRequest, "give a Bluetooth mode or a limit")
        }
        return [.setFolderBluetooth(try folder(FolderID(change.folder)).id, use, limit: change.limit)]
    }

    /// The edit that says what goes over Bluetooth to and from a device.
    ///
    /// - Throws: `ConfigurationError` (`noSuchDevice`, `duplicate`); `ControlError` (`invalidRequest`) for an unknown
    ///   word.
    package func edits(applying change: DeviceBluetoothChange) throws -> [ConfigurationEdit] {
        [.setDeviceBluetooth(try device(change.device).id, try Self.bluetoothUse(change.use))]
    }

    /// The edits that pause or resume folders and devices.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: `ControlError` (`invalidRequest`, `tooLarge`); `ConfigurationError` (`noSuchFolder`, `noSuchDevice`,
    ///   `duplicate`).
    package func edits(applying change: PauseChange, now: Int64) throws -> [ConfigurationEdit] {
        try change.check()
        let until = change.seconds.map { now + $0 }
        let folders =
            change.isAll
            ? folders.filter { change.isPaused || $0.isPaused }.map(\.id)
            : try change.folders.map { try folder(FolderID($0)).id }
        let devices =
            change.isAll
            ? devices.filter { change.isPaused || $0.isPaused }.map(\.id) : try change.devices.map { try device($0).id }
        return folders.map { .setFolderPaused($0, change.isPaused, until: until) }
            + devices.map { .setDevicePaused($0, change.isPaused, until: until) }
    }

    /// What all of this configuration is gone in `new`, in words: "no devices" and "2 devices"; nil if something of each is
    /// left. A file that was emptied looks like that, and nobody who removes things one by one comes to it unasked.
    func loss(in new: Configuration) -> (none: Phrase, all: Phrase)? {
        var lost: [(none: Phrase, all: Phrase)] = []
        if !devices.isEmpty, new.devices.isEmpty {
            let count = devices.count
            lost.append((Phrase("no devices"), Phrase(count, one: "\(count) device", many: "\(count) devices")))
        }
        if !folders.isEmpty, new.folders.isEmpty {
            let count = folders.count
            lost.append((Phrase("no folders"), Phrase(count, one: "\(count) folder", many: "\(count) folders")))
        }
        guard let first = lost.first else { return nil }
        return lost.dropFirst().reduce(first) { found, more in
            (Phrase("\(found.none) and \(more.none)"), Phrase("\(found.all) and \(more.all)"))
        }
    }

    /// The settings that only count when an agent is started and that are others in `new`.
    func settingsForStart(otherThan new: Configuration) -> [String] {
        var names: [String] = []
        for setting in SettingsSchema.agent
        where setting.declaration.effect == .restart && setting.read(self) != setting.read(new) {
            let name = String(setting.key.prefix { $0 != "." })
            if names.last != name { names.append(name) }
        }
        return names
    }

    /// The names of the settings that are others in `new`, and of the devices and folders as wholes.
    func settings(otherThan new: Configuration) -> [String] {
        [
            ("name", name == new.name), ("listen", listen == new.listen),
            ("offered-folders", offeredFolders == new.offeredFolders), ("discovery", discovery == new.discovery),
            ("relays", relays == new.relays), ("network", network == new.network),
            ("bluetooth", bluetooth == new.bluetooth), ("cache", cache == new.cache), ("fetch", fetch == new.fetch),
            ("http", http == new.http), ("notifications", notifications == new.notifications),
            ("desktop", desktop == new.desktop),
            ("thumbnails", thumbnails == new.thumbnails),
            ("mount", mounting == new.mounting), ("limits", limits == new.limits),
            ("policies", policies == new.policies), ("log", log == new.log), ("ignored", ignored == new.ignored),
            ("devices", devices == new.devices), ("folders", folders == new.folders),
        ].filter { !$0.1 }.map(\.0)
    }

    /// What ends the pauses that are over at `now`, and when the next one is; in seconds since 1970.
    func pausesOver(at now: Int64) -> (edits: [ConfigurationEdit], next: Int64?) {
        var edits: [ConfigurationEdit] = []
        var next: Int64?
        let folders = folders.filter(\.isPaused).map {
            ($0.pausedUntil, ConfigurationEdit.setFolderPaused($0.id, false))
        }
        let devices = devices.filter(\.isPaused).map {
            ($0.pausedUntil, ConfigurationEdit.setDevicePaused($0.id, false))
        }
        for case (let until?, let edit) in folders + devices {
            if until <= now { edits.append(edit) } else { next = min(next ?? until, until) }
        }
        return (edits, next)
    }

    /// The edit that shares a folder with a device, or stops; none where it is so already.
    ///
    /// - Throws: `ConfigurationError` (`noSuchFolder`, `noSuchDevice`, `duplicate`); `ControlError` (`confirmationNeeded`) for a device
    ///   that kept the folder encrypted.
    package func edits(applying change: FolderSharingChange) throws -> [ConfigurationEdit] {
        let (folder, named) = (try folder(FolderID(change.folder)), try device(change.device))
        let device = named.id
        guard change.isShared else {
            return folder.devices.contains(device) ? [.unshareFolder(folder.id, device)] : []
        }
        // Shared again by the user, it is no longer the introducer's to take back.
        let edits: [ConfigurationEdit] = [.shareFolder(folder.id, device)]
        guard folder.untrusted.contains(device) else { return edits }
        if change.isUnencrypted == true { return edits + [.trust(folder.id, device)] }
        guard folder.devices.contains(device) else {
            throw ControlError(
                .confirmationNeeded,
                "\(named.name.isEmpty ? device.description : named.name) keeps \(folder.id) encrypted, so it is not shared; to share "
                    + "it unencrypted: `synctrain folder share \(ShellWord.quoted(folder.id.rawValue)) \(device) --unencrypted`",
                path: change.folder)
        }
        return edits
    }

    /// The edit that says what a device may do in a folder that is shared with it.
    ///
    /// - Throws: `ControlError` (`invalidRequest` for an unknown role, or a folder not shared with the device);
    ///   `ConfigurationError` (`noSuchFolder`, `noSuchDevice`, `duplicate`).
    package func edits(applying change: FolderRoleChange) throws -> [ConfigurationEdit] {
        guard let role = DeviceRole(rawValue: change.role) else {
            throw ControlError(.invalidRequest, "unknown role \(change.role.prefix(80)); use read, write or admin")
        }
        let (folder, device) = (try folder(FolderID(change.folder)), try device(change.device))
        guard folder.devices.contains(device.id) else {
            throw ControlError(
                .invalidRequest,
                "\(folder.id) is not shared with \(device.name.isEmpty ? device.id.description : device.name); share it "
                    + "first: synctrain folder share \(ShellWord.quoted(folder.id.rawValue)) \(device.id)",
                path: change.folder)
        }
        return [.setFolderRole(folder.id, device.id, role)]
    }

    private static func bluetoothUse(_ word: String) throws -> BluetoothUse {
        guard let use = BluetoothUse(rawValue: word) else {
            let words = BluetoothUse.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(
                .invalidRequest, "\(word.prefix(80)) is not a Bluetooth mode; use one of \(words)")
        }
        return use
    }

    /// The edits that add a folder, or share one that is here at the same path with the devices that were said.
    ///
    /// - Throws: `ControlError` (`invalidRequest` for an unknown word; `alreadyExists` if the folder is at another
    ///   path); `ConfigurationError` (`noSuchDevice`, `duplicate`).
    package func edits(adding settings: FolderSettings) throws -> [ConfigurationEdit] {
        guard let mode = FolderConfiguration.Mode(rawValue: settings.mode) else {
            throw ControlError(.invalidRequest, "unknown folder mode \(settings.mode); use selective or full")
        }
        guard let kind = FolderConfiguration.Kind(rawValue: settings.type) else {
            throw ControlError(
                .invalidRequest, "unknown folder type \(settings.type); use sendreceive, sendonly or receiveonly")
        }
        let id = FolderID(settings.id)
        let references = try settings.devices.map { try device($0).id }
        if let existing = folders.first(where: { $0.id == id }) {
            guard existing.path == settings.path else {
                throw ControlError(
                    .alreadyExists,
                    "the folder \(id) is at \(existing.path); remove it first to have it at \(settings.path)",
                    path: settings.id)
            }
            return [.setFolderDevices(id, existing.devices + references.filter { !existing.devices.contains($0) })]
        }
        return [
            .addFolder(
                FolderConfiguration(
                    id: id, label: settings.label ?? "", path: settings.path, mode: mode, kind: kind,
                    devices: references, isPaused: settings.isPaused))
        ]
    }
}
