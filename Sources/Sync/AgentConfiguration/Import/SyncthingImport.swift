import BlockExchange
import Foundation
import Phrases

/// What can be taken over from the home directory of a Syncthing 1.x or 2.x.
package struct SyncthingImport: Equatable, Sendable {
    package var certificatePEM: String
    package var privateKeyPEM: String
    /// The id of the device that the certificate makes.
    package var id: DeviceID
    /// What this device is called there; nil if it has no name.
    package var name: String?
    /// For the configuration's `listen`.
    package var listen: [String]
    package var discovery: Configuration.Discovery
    package var relays: Configuration.Relays
    package var mapsPorts: Bool
    package var ignored: Configuration.Ignored
    /// All but the device itself.
    package var devices: [DeviceConfiguration]
    package var folders: [FolderConfiguration]
    /// Sentences for the user about what was left out or changed.
    package var notes: [Phrase]

    static let byteLimit = 16 << 20

    /// Reads `cert.pem`, `key.pem` and `config.xml` in the directory `home`; writes nothing. `~` in the paths of folders
    /// stands for `userHome`.
    ///
    /// Throws `missing` if one of the files is not there, `syntax` if it cannot be read, `tooLarge` above 16 MiB.
    package static func read(home: String, userHome: String?) throws(ConfigurationError) -> SyncthingImport {
        let certificate = try text(home + "/cert.pem")
        let key = try text(home + "/key.pem")
        guard let der = der(ofPEM: certificate) else {
            throw ConfigurationError(
                .syntax, "not a PEM certificate; give the directory of a Syncthing that has run at least once",
                file: home + "/cert.pem")
        }
        guard key.contains("PRIVATE KEY-----") else {
            throw ConfigurationError(
                .syntax, "not a PEM private key; give the directory of a Syncthing that has run at least once",
                file: home + "/key.pem")
        }
        guard let xml = SyncthingXML(Array(try text(home + "/config.xml").utf8)) else {
            throw ConfigurationError(
                .syntax, "not a Syncthing configuration; restore it, or start Syncthing once to recreate it",
                file: home + "/config.xml")
        }
        var builder = SyncthingImportBuilder(
            own: DeviceID(certificateDER: der), userHome: userHome, folderIgnores: ignores)
        builder.add(xml)
        return SyncthingImport(
            certificatePEM: certificate, privateKeyPEM: key, id: builder.own, name: builder.name,
            listen: builder.listen, discovery: builder.discovery, relays: builder.relays, mapsPorts: xml.isNATEnabled,
            ignored: builder.ignored, devices: builder.devices, folders: builder.folders, notes: builder.notes)
    }

    /// What makes the new configuration have them.
    package var edits: [ConfigurationEdit] {
        devices.map { .addDevice($0) } + folders.map { .addFolder($0) }
            + ignored.devices.map { .setDeviceIgnored($0, true) } + ignored.folders.map { .setFolderIgnored($0, true) }
    }

    private static func text(_ path: String) throws(ConfigurationError) -> String {
        guard let bytes = try StoredFile.read(path, byteLimit: byteLimit) else {
            throw ConfigurationError(
                .missing,
                "no such file; give Syncthing's own directory, ~/.local/state/syncthing or ~/.config/syncthing",
                file: path)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(.syntax, "the file is not written in UTF-8; restore it", file: path)
        }
        return text
    }

    /// The text of a folder's `.stignore`; nil if it has none that can be read.
    private static func ignores(_ path: String) -> String? {
        guard let bytes = (try? StoredFile.read(path + "/" + FolderPreparation.ignoreFile, byteLimit: byteLimit)) ?? nil
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The bytes of the first certificate in a PEM text.
    static func der(ofPEM text: String) -> [UInt8]? {
        guard let begin = text.range(of: "-----BEGIN CERTIFICATE-----"),
            let end = text.range(of: "-----END CERTIFICATE-----", range: begin.upperBound..<text.endIndex),
            let data = Data(base64Encoded: String(text[begin.upperBound..<end.lowerBound].filter { !$0.isWhitespace })),
            !data.isEmpty
        else { return nil }
        return Array(data)
    }
}

/// Turns what Syncthing's configuration says into ours, with a note for all that does not fit.
struct SyncthingImportBuilder {
    let own: DeviceID
    let userHome: String?
    /// The text of the `.stignore` of the folder at a path.
    let folderIgnores: (String) -> String?

    var name: String?
    var listen: [String] = []
    var discovery = Configuration.Discovery()
    var relays = Configuration.Relays()
    var ignored = Configuration.Ignored()
    var devices: [DeviceConfiguration] = []
    var folders: [FolderConfiguration] = []
    var notes = [Phrase("Stop Syncthing before you start the agent: both would be the same device.")]

    init(own: DeviceID, userHome: String?, folderIgnores: @escaping (String) -> String?) {
        self.own = own
        self.userHome = userHome
        self.folderIgnores = folderIgnores
    }

    mutating func add(_ xml: SyncthingXML) {
        for device in xml.devices { add(device) }
        for folder in xml.folders { add(folder) }
        addListen(xml.listenAddresses)
        addReach(xml)
        addIgnored(xml)
    }

    private mutating func add(_ device: SyncthingXML.Device) {
        guard let id = try? DeviceID(parsing: device.id) else {
            notes.append(Phrase("Skipped device `\(shown(device.name))`: `\(shown(device.id))` is not a device id."))
            return
        }
        let title = device.name.isEmpty ? id.description : device.name
        guard id != own else {
            if !device.name.isEmpty, Configuration.problem(name: device.name) == nil { name = device.name }
            return
        }
        var kept: [String] = []
        for address in device.addresses where !address.isEmpty {
            let known = address == "dynamic" || address.hasPrefix("relay://") ? address : Self.tcp(address)
            if let known, AddressSyntax.problem(deviceAddress: known) == nil {
                if !kept.contains(known) { kept.append(known) }
            } else {
                notes.append(
                    Phrase(
                        "Skipped the address `\(shown(address))` of `\(shown(title))`: only tcp:// and relay:// are supported."
                    ))
            }
        }
        if kept.isEmpty { kept = ["dynamic"] }
        var added = DeviceConfiguration(id: id, name: device.name, addresses: kept, isPaused: device.isPaused)
        if added.problem() != nil {
            added.name = ""
            notes.append(Phrase("Skipped the name of \(id): it is too long or has control characters."))
        }
        addLimits(of: device, to: &added, title: title)
        if devices.contains(where: { $0.id == id }) {
            notes.append(Phrase("Skipped the second entry of device \(id)."))
        } else {
            devices.append(added)
        }
    }

    private mutating func add(_ folder: SyncthingXML.Folder) {
        let title = shown(folder.label.isEmpty ? folder.id : folder.label)
        guard folder.type != "receiveencrypted", !folder.hasEncryptedDevice else {
            notes.append(Phrase("Skipped the folder `\(title)`: encrypted folders are not supported."))
            return
        }
        // The names of Syncthing before 0.14.
        let types = ["": "sendreceive", "readwrite": "sendreceive", "readonly": "sendonly"]
        guard let kind = FolderConfiguration.Kind(rawValue: types[folder.type] ?? folder.type) else {
            notes.append(Phrase("Skipped the folder `\(title)`: its type `\(shown(folder.type))` is not supported."))
            return
        }
        var added = FolderConfiguration(
            id: FolderID(folder.id), label: folder.label, path: folder.path, kind: kind, isPaused: folder.isPaused)
        addScanning(folder.settings, to: &added)
        do throws(SettingProblem) {
            added.path = try FolderPath.clean(folder.path, userHome: userHome)
            if let (_, problem) = added.problem() { throw problem }
            for other in folders {
                if let (_, problem) = Configuration.clash(of: added, with: other) { throw problem }
            }
        } catch {
            notes.append(Phrase("Skipped the folder `\(title)`: \(error.text)."))
            return
        }
        addVersions(folder.versioning, to: &added, title: title)
        addAttributes(of: folder, to: &added, title: title)
        addChanges(folder.settings, to: &added, title: title)
        added.mode = Self.isSelective(folderIgnores(added.path) ?? "") ? .selective : .full
        for share in folder.shares {
            guard let id = try? DeviceID(parsing: share.device), id != own, !added.devices.contains(id) else {
                continue
            }
            if devices.contains(where: { $0.id == id }) {
                added.share(with: id, introducedBy: try? DeviceID(parsing: share.introducedBy))
            } else {
                notes.append(Phrase("Did not share the folder `\(title)` with \(id), which is an unknown device."))
            }
        }
        folders.append(added)
    }

    /// Takes over how the folder is scanned, and whether it has permissions.
    private func addScanning(_ settings: [String: String], to folder: inout FolderConfiguration) {
        // More than a year is a year in Syncthing, too, and what is below zero none.
        if let seconds = settings["rescanIntervalS"].flatMap({ Int($0) }) {
            folder.rescanInterval = min(max(0, seconds), 31_536_000)
        }
        folder.isWatched = settings["fsWatcherEnabled"] != "false"
        folder.ignoresPermissions = settings["ignorePerms"] == "true"
    }

    /// Takes over what becomes of conflicts and deletions; a folder that protects what other devices delete is paused.
    private mutating func addChanges(
        _ settings: [String: String], to folder: inout FolderConfiguration, title: String
    ) {
        if let count = settings["maxConflicts"].flatMap({ Int($0) }) {
            if (1...1000).contains(count) { folder.maxConflicts = count }
            if count == 0 {
                notes.append(
                    Phrase(
                        "The folder `\(title)` keeps conflict copies here: `maxConflicts` 0 is not supported, because it loses a version."
                    ))
            }
        }
        if settings["ignoreDelete"] == "true" {
            folder.isPaused = true
            notes.append(
                Phrase(
                    "Paused the folder `\(title)`: `ignoreDelete` is not supported. Once it is resumed, what other devices have "
                        + "deleted is deleted here or comes back there."))
        }
        if settings["copyOwnershipFromParent"] == "true" {
            notes.append(
                Phrase(
                    "Skipped `copyOwnershipFromParent` of the folder `\(title)`: it is not supported. New files belong to the agent's user."
                ))
        }
        if let marker = settings["markerName"], !marker.isEmpty, marker != FolderPreparation.marker {
            notes.append(
                Phrase(
                    "The folder `\(title)` has the marker `\(shown(marker))`: create \(FolderPreparation.marker) in its directory, which is "
                        + "the marker here."))
        }
    }

    /// Takes over what the folder does with extended attributes and ownership.
    private mutating func addAttributes(
        of folder: SyncthingXML.Folder, to added: inout FolderConfiguration, title: String
    ) {
        var attributes = FolderAttributes()
        attributes.syncsXattrs = folder.attributes.contains("syncXattrs")
        attributes.sendsXattrs = folder.attributes.contains("sendXattrs")
        attributes.syncsOwnership = folder.attributes.contains("syncOwnership")
        attributes.sendsOwnership = folder.attributes.contains("sendOwnership")
        if !folder.xattrEntries.isEmpty {
            attributes.patterns = folder.xattrEntries.map { ($0.permits ? "" : "!") + $0.match }
        }
        if let limit = folder.xattrLimits["maxSingleEntrySize"] { attributes.entryByteLimit = limit }
        if let limit = folder.xattrLimits["maxTotalSize"] { attributes.totalByteLimit = limit }
        let hasClasses = folder.xattrEntries.contains { $0.match.contains("[") }
        if hasClasses || attributes.problem() != nil {
            let usual = FolderAttributes()
            attributes.patterns = usual.patterns
            (attributes.entryByteLimit, attributes.totalByteLimit) = (usual.entryByteLimit, usual.totalByteLimit)
            notes.append(
                Phrase(
                    "Skipped the xattr filter of the folder `\(title)`: it is not supported; set `xattr-filter` by hand."
                ))
        }
        added.attributes = attributes
    }

    /// Takes the folder's versioning over where there is the same here.
    private mutating func addVersions(
        _ settings: [String: String], to folder: inout FolderConfiguration, title: String
    ) {
        guard let type = settings["type"], !type.isEmpty else { return }
        var versions = FolderVersions()
        guard let kind = FolderVersions.Kind(rawValue: type), kind != .none else {
            return notes.append(
                Phrase(
                    "Skipped the versioning `\(shown(type))` of the folder `\(title)`: only trashcan, simple and staggered are supported."
                ))
        }
        versions.kind = kind
        func number(_ key: String) -> Int? { settings[key].flatMap { Int($0) } }
        if let keep = number("keep") { versions.keep = keep }
        if let days = number("cleanoutDays") { versions.cleanoutDays = days }
        if let seconds = number("maxAge") {
            versions.maximumAgeDays = seconds / 86_400 + (seconds % 86_400 > 0 ? 1 : 0)
        }
        if let seconds = number("cleanupIntervalS") { versions.cleanInterval = seconds }
        if let path = settings["fsPath"] ?? settings["versionsPath"], !path.isEmpty, path != ".stversions" {
            let inFolder = path.utf8.first.map { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "~") } ?? true
            do throws(SettingProblem) {
                versions.path = try FolderPath.clean(inFolder ? folder.path + "/" + path : path, userHome: userHome)
            } catch {
                return notes.append(Phrase("Skipped the versioning of the folder `\(title)`: \(error.text)."))
            }
        }
        if let (_, problem) = versions.problem(inFolderAt: folder.path) {
            return notes.append(Phrase("Skipped the versioning of the folder `\(title)`: \(problem.text)."))
        }
        folder.versions = versions
        for other in folders {
            guard let (_, problem) = Configuration.clash(of: folder, with: other) else { continue }
            folder.versions = FolderVersions()
            return notes.append(Phrase("Skipped the versioning of the folder `\(title)`: \(problem.text)."))
        }
    }

    private mutating func addListen(_ addresses: [String]) {
        for address in addresses where !address.isEmpty && !Self.isRelay(address) {
            var found: [String] = []
            if address == "default" {
                found = Configuration.defaultListen
            } else if let tcp = Self.tcp(address) {
                found = [tcp]
            } else if let port = Self.portOnly(address) {
                let host = ["tcp4": "0.0.0.0", "tcp6": "[::]"][address.prefix { $0 != ":" }] ?? ""
                found = ["tcp://\(host):\(port)"]
            }
            found = found.filter { AddressSyntax.problem(listenAddress: $0) == nil }
            if found.isEmpty {
                notes.append(Phrase("Skipped the listen address `\(shown(address))`: only tcp:// is supported."))
            }
            for address in found where !listen.contains(address) { listen.append(address) }
        }
        if listen.isEmpty { listen = Configuration.defaultListen }
    }

    /// `address` as `tcp://host:port`, from tcp, tcp4 or tcp6, with Syncthing's port if it has none; nil for others.
    static func tcp(_ address: String) -> String? {
        guard let scheme = ["tcp://", "tcp4://", "tcp6://"].first(where: address.hasPrefix) else { return nil }
        var rest = String(address.dropFirst(scheme.count).prefix { $0 != "?" && $0 != "/" })
        let hasPort = rest.hasSuffix("]") ? false : rest.contains(":")
        if !hasPort { rest += ":\(AddressSyntax.defaultPort)" }
        let tcp = "tcp://" + rest
        return AddressSyntax.split(tcp) == nil ? nil : tcp
    }

    /// The port of `tcp://:port`, which stands for all addresses of the machine.
    private static func portOnly(_ address: String) -> Int? {
        guard let scheme = ["tcp://:", "tcp4://:", "tcp6://:"].first(where: address.hasPrefix) else { return nil }
        return Int(address.dropFirst(scheme.count)).flatMap { (1...65535).contains($0) ? $0 : nil }
    }

    /// Whether an ignore file ends in `*`, so that only what is named before is kept.
    static func isSelective(_ ignores: String) -> Bool {
        let lines = ignores.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        return lines.last { !$0.isEmpty && !$0.hasPrefix("//") } == "*"
    }

    /// Foreign text, fit to be printed.
    func shown(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : Character($0) }.prefix(120))
    }
}
