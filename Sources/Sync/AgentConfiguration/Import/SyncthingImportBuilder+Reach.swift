import BlockExchange
import LinkRules
import Phrases

extension SyncthingImportBuilder {
    /// Whether a listen address is a relay to join.
    static func isRelay(_ address: String) -> Bool {
        ["relay://", "dynamic+http://", "dynamic+https://"].contains(where: address.hasPrefix)
    }

    /// Takes over how this device finds others and is found.
    mutating func addReach(_ xml: SyncthingXML) {
        discovery.local = xml.isLocalAnnounceEnabled
        discovery.global = xml.isGlobalAnnounceEnabled
        discovery.announcesLocalAddresses = xml.announcesLANAddresses
        relays.isEnabled = xml.areRelaysEnabled
        let usual = ["default": "default", "default-v4": "default", "default-v6": "default"]
        let announced = xml.globalAnnounceServers.filter { !$0.isEmpty }
        if !announced.isEmpty {
            discovery.servers = taken(
                announced.map { usual[$0] ?? $0 }, isRelay: false, ServerSyntax.problem(discoveryServer:))
        }
        let listened = xml.listenAddresses.filter { !$0.isEmpty }
        if !listened.isEmpty {
            relays.servers = taken(
                listened.filter { $0 == "default" || Self.isRelay($0) }, isRelay: true,
                ServerSyntax.problem(relayServer:))
        }
    }

    /// Each once, without those that `problem` objects to.
    private mutating func taken(
        _ servers: [String], isRelay: Bool, _ problem: (String) -> Phrase?
    ) -> [String] {
        var taken: [String] = []
        for server in servers where !taken.contains(server) {
            if problem(server) != nil {
                // Of what is shown of it, which is short and has no control characters.
                let message = problem(shown(server)) ?? Phrase("it is not valid")
                let server = shown(server)
                notes.append(
                    isRelay
                        ? Phrase("Skipped the relay `\(server)`: \(message).")
                        : Phrase("Skipped the discovery server `\(server)`: \(message)."))
            } else {
                taken.append(server)
            }
        }
        return taken
    }

    /// Takes over what a device may do and how much of it.
    mutating func addLimits(of device: SyncthingXML.Device, to added: inout DeviceConfiguration, title: String) {
        added.introducedBy = try? DeviceID(parsing: device.introducedBy)
        added.isIntroducer = device.isIntroducer
        added.skipsIntroductionRemovals = device.skipsIntroductionRemovals
        let networks = device.allowedNetworks.filter { !$0.isEmpty }
        do {
            _ = try AllowedNetworks(parsing: networks)
            added.allowedNetworks = networks
        } catch {
            // Less would be allowed than was meant, or more.
            added.isPaused = true
            notes.append(Phrase("Paused the device `\(shown(title))`: of its allowed networks, \(error.text)."))
        }
        // Kbps are KiB/s there; none is slower than one.
        func rate(_ number: Int) -> Int64? { number > 0 ? Int64(min(number, 1 << 40)) * 1024 : nil }
        added.rates = TransferLimits.Rates(up: rate(device.maxSendKbps), down: rate(device.maxRecvKbps))
        if device.numConnections != 0 {
            let counts = Configuration.Network.connectionCounts
            added.connections = min(max(device.numConnections, counts.lowerBound), counts.upperBound)
        }
    }

    /// Takes over who and what is ignored for good.
    mutating func addIgnored(_ xml: SyncthingXML) {
        for text in xml.ignoredDevices {
            guard let id = try? DeviceID(parsing: text), id != own, !ignored.contains(id),
                !devices.contains(where: { $0.id == id })
            else { continue }
            ignored.devices.append(id)
        }
        for device in xml.devices {
            guard let id = try? DeviceID(parsing: device.id), devices.contains(where: { $0.id == id }) else { continue }
            for folder in device.ignoredFolders.map({ IgnoredFolder(FolderID($0), from: id) })
            where !ignored.folders.contains(folder) && FolderConfiguration.problem(id: folder.folder) == nil {
                ignored.folders.append(folder)
            }
        }
    }
}
