import BlockExchange
import Phrases
import TOML

extension SettingsTable {
    func discovery() throws(ConfigurationError) -> Configuration.Discovery {
        try allow(["local", "global", "servers", "announce-local-addresses"])
        var discovery = Configuration.Discovery()
        if let local = try bool("local") { discovery.local = local }
        if let global = try bool("global") { discovery.global = global }
        if let servers = try strings("servers") { discovery.servers = servers }
        if let announces = try bool("announce-local-addresses") { discovery.announcesLocalAddresses = announces }
        return discovery
    }

    func relays() throws(ConfigurationError) -> Configuration.Relays {
        try allow(["enabled", "servers"])
        var relays = Configuration.Relays()
        if let isEnabled = try bool("enabled") { relays.isEnabled = isEnabled }
        if let servers = try strings("servers") { relays.servers = servers }
        return relays
    }

    func network() throws(ConfigurationError) -> Configuration.Network {
        try allow(["port-mapping", "connections", "proxy", "proxy-only"])
        var network = Configuration.Network()
        if let maps = try bool("port-mapping") { network.mapsPorts = maps }
        if let connections = try int("connections") { network.connections = connections }
        network.proxy = try string("proxy")
        if let isOnly = try bool("proxy-only") { network.isProxyOnly = isOnly }
        return network
    }

    func ignored() throws(ConfigurationError) -> Configuration.Ignored {
        try allow(["devices", "folders"])
        var ignored = Configuration.Ignored()
        for text in try strings("devices") ?? [] { ignored.devices.append(try deviceID(text, "devices")) }
        for text in try strings("folders") ?? [] {
            let folder = IgnoredFolder(text: text)
            // Folders may be called "Pictures from Anna"; what looks like a device's id is meant to be one.
            if folder.device == nil, let range = text.ranges(of: " from ").last {
                let rest = text[range.upperBound...]
                if rest.utf8.count >= 40, rest.contains("-") { _ = try deviceID(String(rest), "folders") }
            }
            ignored.folders.append(folder)
        }
        return ignored
    }

    func introductions(_ key: String) throws(ConfigurationError) -> [FolderIntroduction] {
        var introductions: [FolderIntroduction] = []
        for text in try strings(key) ?? [] {
            guard let introduction = FolderIntroduction(text: text) else {
                throw error(
                    .invalidValue, key,
                    Phrase(
                        "`\(text.prefix(150))` is not an introduction; write `\"DEVICE-ID by DEVICE-ID\"`: the device that "
                            + "shares the folder, and the introducer"))
            }
            introductions.append(introduction)
        }
        return introductions
    }

    func deviceID(_ text: String, _ key: String) throws(ConfigurationError) -> DeviceID {
        do throws(DeviceIDError) {
            return try DeviceID(parsing: text)
        } catch {
            throw self.error(.invalidValue, key, Phrase("`\(text.prefix(80))` is not a device id: \(error.text)"))
        }
    }
}
