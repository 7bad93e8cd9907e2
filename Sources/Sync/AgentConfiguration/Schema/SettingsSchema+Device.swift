import BlockExchange

extension SettingsSchema {
    /// Settings of a device, in the order of the file.
    package static let device: [Setting<DeviceConfiguration>] =
        groups([
            ("Device", itself),
            ("Introducer", introducing),
            ("Limits and networks", limits),
        ])

    private static let itself: [Setting<DeviceConfiguration>] = [
        Setting(
            .device, "id", .text, "Device id.", read: { .text($0.id.description) }, write: { _, _ in false }
        ).changedBy("synctrain device add"),
        .text("name", \.name, "Name of the device here."),
        .texts("addresses", \.addresses, "Where to dial it: dynamic for discovery, or tcp://HOST:PORT.")
            // An address that the user sets is the user's: no introducer takes the device away.
            .then {
                $0.introducedBy = nil
                $0.addresses = $0.addresses.map(AddressSyntax.completed)
            },
        .choice("bluetooth", \.bluetooth, "What may be transferred over Bluetooth; the stricter of folder and device."),
        .flag("paused", \.isPaused, "Whether the device is paused.").then {
            $0.pausedUntil = nil
            if !$0.isPaused { $0.exceededQuota = nil }
        },
        .pausedUntil(\.pausedUntil),
        Setting(
            .device, "paused-reason", .text, "Quota that the device went over, for which it is paused.",
            read: { $0.exceededQuota.map { .text($0.rawValue) } ?? .unset },
            write: { device, value in
                guard value != .unset else {
                    device.exceededQuota = nil
                    return true
                }
                guard case .text(let text) = value, let quota = DeviceQuota(rawValue: text) else { return false }
                device.exceededQuota = quota
                return true
            }
        ).changedBy("the agent").advanced,
    ]

    private static let introducing: [Setting<DeviceConfiguration>] = [
        .flag("introducer", \.isIntroducer, "Add the devices that it shares folders with."),
        .flag(
            "skip-introduction-removals", \.skipsIntroductionRemovals,
            "Keep what it introduced when it no longer lists it."
        ).advanced,
        Setting(
            .device, "introduced-by", .text, "Device that introduced this one and may remove it again.",
            read: { $0.introducedBy.map { .text($0.description) } ?? .unset },
            write: { device, value in
                guard value != .unset else {
                    device.introducedBy = nil
                    return true
                }
                guard case .text(let text) = value, let id = try? DeviceID(parsing: text) else { return false }
                device.introducedBy = id
                return true
            }
        ).changedBy("the introducer").advanced,
    ]

    private static let limits: [Setting<DeviceConfiguration>] = [
        .texts("allowed-networks", \.allowedNetworks, "Networks where it may connect; ! excludes; empty: everywhere."),
        .rate("up", \.rates.up, "Upload limit for this device."),
        .rate("down", \.rates.down, "Download limit for this device."),
        .optionalNumber(
            "connections", Configuration.Network.connectionCounts, \.connections, "Connections to this device."
        ).without("network.connections").advanced,
    ]
}
