import ControlAPI

extension ScriptedControl {
    func addNetwork(to table: inout EndpointHandlers) {
        table.on(Endpoints.setFolderRelays) { try self.note("\($0)") }
        table.on(Endpoints.network) {
            try self.note("network")
            return NetworkSettings(
                discoveryServers: ["https://192.0.2.9/"], relays: false, proxy: "socks5://u:…@h:1", proxyOnly: true)
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
