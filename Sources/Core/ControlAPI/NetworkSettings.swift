/// How devices find and reach each other, as it is configured.
package struct NetworkSettings: Codable, Equatable, Sendable {
    package var schema = 1
    package var localDiscovery: Bool
    package var globalDiscovery: Bool
    /// URLs, or `default`.
    package var discoveryServers: [String]
    package var announceLocalAddresses: Bool
    package var relays: Bool
    /// URLs, or `default`.
    package var relayServers: [String]
    package var portMapping: Bool
    /// Per device.
    package var connections: Int
    /// Without its password; nil: as the environment says; empty: none.
    package var proxy: String?
    package var proxyOnly: Bool

    package init(
        localDiscovery: Bool = true, globalDiscovery: Bool = true, discoveryServers: [String] = ["default"],
        announceLocalAddresses: Bool = true, relays: Bool = true, relayServers: [String] = ["default"],
        portMapping: Bool = true, connections: Int = 3, proxy: String? = nil, proxyOnly: Bool = false
    ) {
        self.localDiscovery = localDiscovery
        self.globalDiscovery = globalDiscovery
        self.discoveryServers = discoveryServers
        self.announceLocalAddresses = announceLocalAddresses
        self.relays = relays
        self.relayServers = relayServers
        self.portMapping = portMapping
        self.connections = connections
        self.proxy = proxy
        self.proxyOnly = proxyOnly
    }
}

/// What of it is on from now on; nil leaves a setting as it is.
package struct NetworkChange: Codable, Equatable, Sendable {
    package var localDiscovery: Bool?
    package var globalDiscovery: Bool?
    package var relays: Bool?
    package var portMapping: Bool?

    package init(
        localDiscovery: Bool? = nil, globalDiscovery: Bool? = nil, relays: Bool? = nil, portMapping: Bool? = nil
    ) {
        self.localDiscovery = localDiscovery
        self.globalDiscovery = globalDiscovery
        self.relays = relays
        self.portMapping = portMapping
    }

    package var isEmpty: Bool { self == NetworkChange() }
}

/// Settings of a device; nil leaves one as it is.
package struct DeviceChange: Codable, Equatable, Sendable {
    /// The device's id or its name.
    package var device: String
    /// Whether the devices that it shares folders with are added here and given those folders.
    package var introducer: Bool?
    /// Whether what it introduced stays when it no longer lists it.
    package var skipIntroductionRemovals: Bool?
    /// Networks such as `192.0.2.0/24`, with `!` before one to exclude; empty for all.
    package var allowedNetworks: [String]?
    /// Bytes per second; 0 for no limit.
    package var up: Int64?
    package var down: Int64?
    /// 0: as many as all devices.
    package var connections: Int64?

    package init(
        device: String, introducer: Bool? = nil, skipIntroductionRemovals: Bool? = nil,
        allowedNetworks: [String]? = nil, up: Int64? = nil, down: Int64? = nil, connections: Int64? = nil
    ) {
        self.device = device
        self.introducer = introducer
        self.skipIntroductionRemovals = skipIntroductionRemovals
        self.allowedNetworks = allowedNetworks
        self.up = up
        self.down = down
        self.connections = connections
    }

    package var isEmpty: Bool { self == DeviceChange(device: device) }
}

/// Whether a folder may go over relays.
package struct FolderRelaysChange: Codable, Equatable, Sendable {
    package var folder: String
    package var relays: Bool

    package init(folder: String, relays: Bool) {
        self.folder = folder
        self.relays = relays
    }
}

/// Who or what is not offered any more, or is again: a device, a folder, or a folder that a device offers.
package struct IgnoreChange: Codable, Equatable, Sendable, CheckedRequest {
    /// An id; of a known device its name, too.
    package var device: String?
    package var folder: String?
    package var isIgnored: Bool

    package init(device: String? = nil, folder: String? = nil, isIgnored: Bool) {
        self.device = device
        self.folder = folder
        self.isIgnored = isIgnored
    }

    /// Throws `invalidRequest` for what says nothing.
    package func check() throws(ControlError) {
        guard device != nil || folder != nil else {
            throw ControlError(.invalidRequest, "Give a device, a folder, or both.")
        }
    }

    enum CodingKeys: String, CodingKey { case device, folder, isIgnored = "ignored" }
}

/// A folder that is not offered any more.
package struct IgnoredOffer: Codable, Equatable, Sendable {
    package var folder: String
    /// Whose offers are ignored; nil: everybody's.
    package var device: String?

    package init(folder: String, device: String? = nil) {
        self.folder = folder
        self.device = device
    }
}

package struct IgnoredList: Codable, Equatable, Sendable {
    package var schema = 1
    /// Ids.
    package var devices: [String]
    package var folders: [IgnoredOffer]

    package init(devices: [String] = [], folders: [IgnoredOffer] = []) {
        self.devices = devices
        self.folders = folders
    }
}
