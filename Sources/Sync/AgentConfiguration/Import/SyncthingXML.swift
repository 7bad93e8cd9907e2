import Foundation
import FoundationXML

/// What `config.xml` of Syncthing says, as it says it.
struct SyncthingXML: Equatable {
    struct Device: Equatable {
        var id = ""
        var name = ""
        var addresses: [String] = []
        var isPaused = false
        var introducedBy = ""
        var isIntroducer = false
        var skipsIntroductionRemovals = false
        var allowedNetworks: [String] = []
        /// KiB per second; 0 for no limit.
        var maxSendKbps = 0
        var maxRecvKbps = 0
        /// 0 for the default, less for one.
        var numConnections = 0
        var ignoredFolders: [String] = []
    }

    /// With whom a folder is shared.
    struct Share: Equatable {
        var device = ""
        var introducedBy = ""
    }

    struct Folder: Equatable {
        var id = ""
        var label = ""
        var path = ""
        var type = ""
        var shares: [Share] = []
        var hasEncryptedDevice = false
        var isPaused = false
        /// What it says of `namedAttributes` and `namedElements`.
        var settings: [String: String] = [:]
        /// `type`, `fsPath`, `cleanupIntervalS` and what the parameters are called, as far as they are there.
        var versioning: [String: String] = [:]
        /// `syncXattrs`, `sendXattrs`, `syncOwnership` and `sendOwnership`, those that are true.
        var attributes: Set<String> = []
        /// In their order.
        var xattrEntries: [XattrEntry] = []
        /// `maxSingleEntrySize`, `maxTotalSize`.
        var xattrLimits: [String: Int] = [:]

        static let namedAttributes = ["rescanIntervalS", "fsWatcherEnabled", "ignorePerms"]
        static let namedElements = ["ignoreDelete", "maxConflicts", "markerName", "copyOwnershipFromParent"]
    }

    struct XattrEntry: Equatable {
        var match = ""
        var permits = false
    }

    var devices: [Device] = []
    var folders: [Folder] = []
    var listenAddresses: [String] = []
    var isLocalAnnounceEnabled = true
    var isGlobalAnnounceEnabled = true
    /// Empty where the file has none, which is `default`.
    var globalAnnounceServers: [String] = []
    var announcesLANAddresses = true
    var areRelaysEnabled = true
    var isNATEnabled = true
    /// Devices that are ignored for good.
    var ignoredDevices: [String] = []

    /// Reads the text; nil if it is no XML, has entities or a document type of its own (Syncthing writes none, and they
    /// are how XML reaches for other files or for all memory), or is no configuration of Syncthing.
    init?(_ bytes: [UInt8]) {
        guard String(validating: bytes, as: UTF8.self) != nil, bytes.firstRange(of: Array("<!DOCTYPE".utf8)) == nil,
            bytes.firstRange(of: Array("<!ENTITY".utf8)) == nil
        else { return nil }
        var body = bytes[...]
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { body = body.dropFirst(3) }
        // Without its declaration no document can claim another encoding, in which the words above would be hidden.
        if body.starts(with: "<?xml".utf8), let end = body.firstRange(of: Array("?>".utf8)) {
            body = body[end.upperBound...]
        }
        let reader = SyncthingXMLReader()
        let parser = XMLParser(data: Data(body))
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        guard parser.parse(), reader.hasRoot else { return nil }
        self = reader.result
    }

    init() {}
}

/// Collects elements by their path; what stands elsewhere, such as the templates in `defaults`, is passed over.
private final class SyncthingXMLReader: NSObject, XMLParserDelegate {
    var result = SyncthingXML()
    var hasRoot = false
    private var path: [String] = []
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard path.count < 32 else {
            parser.abortParsing()
            return
        }
        path.append(name)
        text = ""
        switch path {
        case ["configuration", "device"]:
            result.devices.append(
                SyncthingXML.Device(
                    id: attributes["id"] ?? "", name: attributes["name"] ?? "",
                    introducedBy: attributes["introducedBy"] ?? "", isIntroducer: attributes["introducer"] == "true",
                    skipsIntroductionRemovals: attributes["skipIntroductionRemovals"] == "true"))
        case ["configuration", "device", "ignoredFolder"]:
            change(&result.devices) { $0.ignoredFolders.append(attributes["id"] ?? "") }
        case ["configuration", "remoteIgnoredDevice"]: result.ignoredDevices.append(attributes["id"] ?? "")
        case ["configuration", "folder"]:
            result.folders.append(
                SyncthingXML.Folder(
                    id: attributes["id"] ?? "", label: attributes["label"] ?? "", path: attributes["path"] ?? "",
                    type: attributes["type"] ?? "",
                    settings: attributes.filter { SyncthingXML.Folder.namedAttributes.contains($0.key) }))
        case ["configuration", "folder", "device"]:
            change(&result.folders) {
                $0.shares.append(
                    SyncthingXML.Share(
                        device: attributes["id"] ?? "", introducedBy: attributes["introducedBy"] ?? ""))
            }
        case ["configuration", "folder", "versioning"]:
            change(&result.folders) { $0.versioning["type"] = attributes["type"] ?? "" }
        case ["configuration", "folder", "versioning", "param"]:
            guard let key = attributes["key"], ["keep", "cleanoutDays", "maxAge", "versionsPath"].contains(key) else {
                break
            }
            change(&result.folders) { $0.versioning[key] = attributes["val"] ?? "" }
        case ["configuration", "folder", "xattrFilter", "entry"]:
            change(&result.folders) {
                $0.xattrEntries.append(
                    SyncthingXML.XattrEntry(
                        match: attributes["match"] ?? "", permits: attributes["permit"] == "true"))
            }
        default: break
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard text.utf8.count < 4096 else { return }
        text += string
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        // Noted at its end, because the parser takes a text that was cut off for a whole one.
        if path == ["configuration"] { hasRoot = true }
        let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch path {
        case ["configuration", "device", "address"]: change(&result.devices) { $0.addresses.append(value) }
        case ["configuration", "device", "paused"]: change(&result.devices) { $0.isPaused = value == "true" }
        case ["configuration", "device", "allowedNetwork"]:
            change(&result.devices) { $0.allowedNetworks.append(value) }
        case ["configuration", "device", "maxSendKbps"]:
            change(&result.devices) { $0.maxSendKbps = Int(value) ?? 0 }
        case ["configuration", "device", "maxRecvKbps"]:
            change(&result.devices) { $0.maxRecvKbps = Int(value) ?? 0 }
        case ["configuration", "device", "numConnections"]:
            change(&result.devices) { $0.numConnections = Int(value) ?? 0 }
        case ["configuration", "folder", "paused"]: change(&result.folders) { $0.isPaused = value == "true" }
        case ["configuration", "folder", "syncXattrs"], ["configuration", "folder", "sendXattrs"],
            ["configuration", "folder", "syncOwnership"], ["configuration", "folder", "sendOwnership"]:
            if value == "true" { change(&result.folders) { $0.attributes.insert(name) } }
        case ["configuration", "folder", "xattrFilter", "maxSingleEntrySize"],
            ["configuration", "folder", "xattrFilter", "maxTotalSize"]:
            if let limit = Int(value) { change(&result.folders) { $0.xattrLimits[name] = limit } }
        case ["configuration", "folder", "versioning", "fsPath"],
            ["configuration", "folder", "versioning", "cleanupIntervalS"]:
            if !value.isEmpty { change(&result.folders) { $0.versioning[name] = value } }
        case ["configuration", "folder", "device", "encryptionPassword"]:
            if !value.isEmpty { change(&result.folders) { $0.hasEncryptedDevice = true } }
        case ["configuration", "options", "listenAddress"]: result.listenAddresses.append(value)
        case ["configuration", "options", "localAnnounceEnabled"]: result.isLocalAnnounceEnabled = value != "false"
        case ["configuration", "options", "globalAnnounceEnabled"]: result.isGlobalAnnounceEnabled = value != "false"
        case ["configuration", "options", "globalAnnounceServer"]: result.globalAnnounceServers.append(value)
        case ["configuration", "options", "announceLANAddresses"]: result.announcesLANAddresses = value != "false"
        case ["configuration", "options", "relaysEnabled"]: result.areRelaysEnabled = value != "false"
        case ["configuration", "options", "natEnabled"]: result.isNATEnabled = value != "false"
        case ["configuration", "folder", name] where SyncthingXML.Folder.namedElements.contains(name):
            change(&result.folders) { $0.settings[name] = value }
        default: break
        }
        _ = path.popLast()
        text = ""
    }

    private func change<Item>(_ items: inout [Item], _ body: (inout Item) -> Void) {
        guard !items.isEmpty else { return }
        body(&items[items.count - 1])
    }
}
