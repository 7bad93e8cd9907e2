import BlockExchange

/// What an introducer's ClusterConfig changes in this device's configuration, by the rules of Syncthing 1.19 to 2.1. A value.
///
/// - Of each folder that both have, the devices that it lists are added, and share the folder, marked as introduced by it.
/// - What is marked as introduced by it and listed no more is taken back: shares, and then devices without any other reason to
///   be there. A device or a share of the user's own is never changed.
///
/// Where this differs from Syncthing, for safety: of two devices that introduce for each other neither takes anything back, which
/// in Syncthing never settles; nobody is added to a folder that is not shared with the introducer; an untrusted introducer is not followed; numbers and texts are bounded; and nothing is taken back by
/// a ClusterConfig that may omit folders.
package struct IntroducerRule: Sendable, Equatable {
    /// Devices that one introducer may have added at a time.
    package static let deviceLimit = 100
    /// Shares that one introducer may have added in a folder.
    package static let shareLimit = 1000
    package static let nameByteCount = 64
    package static let addressLimit = 4

    /// A device of this one's configuration.
    package struct Device: Sendable, Equatable {
        package var id: DeviceID
        /// Nil for one of the user's own.
        package var introducedBy: DeviceID?
        package var isIntroducer: Bool
        package var skipsRemovals: Bool
        /// It gets folders only encrypted, and is not followed.
        package var isUntrusted: Bool

        package init(
            _ id: DeviceID, introducedBy: DeviceID? = nil, isIntroducer: Bool = false, skipsRemovals: Bool = false,
            isUntrusted: Bool = false
        ) {
            self.id = id
            self.introducedBy = introducedBy
            self.isIntroducer = isIntroducer
            self.skipsRemovals = skipsRemovals
            self.isUntrusted = isUntrusted
        }
    }

    /// That a folder is shared with a device.
    package struct Share: Sendable, Equatable {
        package var device: DeviceID
        package var introducedBy: DeviceID?

        package init(_ device: DeviceID, introducedBy: DeviceID? = nil) {
            self.device = device
            self.introducedBy = introducedBy
        }
    }

    package struct Folder: Sendable, Equatable {
        package var id: FolderID
        package var shares: [Share]
        /// What is here is encrypted by others.
        package var isReceiveEncrypted: Bool

        package init(_ id: FolderID, shares: [Share], isReceiveEncrypted: Bool = false) {
            self.id = id
            self.shares = shares
            self.isReceiveEncrypted = isReceiveEncrypted
        }
    }

    /// A device to be added, as the introducer describes it, with what cannot stand in a configuration taken out.
    package struct NewDevice: Sendable, Equatable {
        package var id: DeviceID
        /// May be empty.
        package var name: String
        /// `dynamic` and what the introducer has configured.
        package var addresses: [String]
        package var certificateName: String
        package var isIntroducer: Bool
        package var skipsRemovals: Bool
        package var introducedBy: DeviceID
    }

    package enum Change: Sendable, Equatable {
        case addDevice(NewDevice)
        case share(FolderID, DeviceID, introducedBy: DeviceID)
        case unshare(FolderID, DeviceID)
        case removeDevice(DeviceID)
    }

    /// What was not done, and is worth a line in the log.
    package enum Remark: Sendable, Equatable {
        /// The introducer sends that device encrypted data: here there is no password for it.
        case needsPassword(FolderID, DeviceID)
        case tooManyDevices
        case tooManyShares(FolderID)
        /// Each of the two follows the other.
        case mutualIntroducers
    }

    package struct Outcome: Sendable, Equatable {
        package var changes: [Change] = []
        package var remarks: [Remark] = []
    }

    package var local: DeviceID
    package var devices: [Device]
    package var folders: [Folder]

    package init(local: DeviceID, devices: [Device], folders: [Folder]) {
        self.local = local
        self.devices = devices
        self.folders = folders
    }

    /// - Parameters:
    ///   - config: what the introducer says on its primary connection.
    ///   - isComplete: whether it names all folders that are shared. A synctrain omits what may not go over the link, such as
    ///     over Bluetooth or a relay: then nothing is taken back.
    package func outcome(of config: ClusterConfig, from id: DeviceID, isComplete: Bool) -> Outcome {
        var outcome = Outcome()
        guard !config.isSecondary, let introducer = devices.first(where: { $0.id == id }), introducer.isIntroducer,
            !introducer.isUntrusted
        else { return outcome }
        let listed = introduce(config, introducer, &outcome)
        let isMutual = config.folders.contains { $0.devices.contains { $0.id == local && $0.isIntroducer } }
        if isMutual { outcome.remarks.append(.mutualIntroducers) }
        if isComplete, !introducer.skipsRemovals, !isMutual { takeBack(listed, introducer, &outcome) }
        return outcome
    }

    /// Adds devices and shares.
    ///
    /// - Returns: the devices that are listed, by folder that this device has.
    private func introduce(
        _ config: ClusterConfig, _ introducer: Device, _ outcome: inout Outcome
    ) -> [FolderID: Set<DeviceID>] {
        var listed: [FolderID: Set<DeviceID>] = [:]
        var known = Set(devices.map(\.id))
        var room = Self.deviceLimit - devices.count { $0.introducedBy == introducer.id }
        for offered in config.folders {
            guard let folder = folders.first(where: { $0.id == offered.id }) else { continue }
            var sharing = Set(folder.shares.map(\.device))
            let isFollowed = sharing.contains(introducer.id)
            var shareRoom = Self.shareLimit - folder.shares.count { $0.introducedBy == introducer.id }
            for device in offered.devices where device.id != local {
                listed[folder.id, default: []].insert(device.id)
                // Otherwise it could have any folder shared whose id it guesses, with itself as well.
                guard isFollowed else { continue }
                if !known.contains(device.id) {
                    guard room > 0 else {
                        if !outcome.remarks.contains(.tooManyDevices) { outcome.remarks.append(.tooManyDevices) }
                        continue
                    }
                    room -= 1
                    known.insert(device.id)
                    outcome.changes.append(.addDevice(Self.added(device, introducer)))
                }
                guard !sharing.contains(device.id) else { continue }
                guard folder.isReceiveEncrypted || device.encryptionPasswordToken.isEmpty else {
                    outcome.remarks.append(.needsPassword(folder.id, device.id))
                    continue
                }
                guard shareRoom > 0 else {
                    if !outcome.remarks.contains(.tooManyShares(folder.id)) {
                        outcome.remarks.append(.tooManyShares(folder.id))
                    }
                    continue
                }
                shareRoom -= 1
                sharing.insert(device.id)
                outcome.changes.append(.share(folder.id, device.id, introducedBy: introducer.id))
            }
        }
        return listed
    }

    /// Takes back shares that the introducer lists no more, and devices that have no other reason to be here.
    private func takeBack(_ listed: [FolderID: Set<DeviceID>], _ introducer: Device, _ outcome: inout Outcome) {
        var sharedByOthers: Set<DeviceID> = []
        for folder in folders {
            for share in folder.shares {
                if share.introducedBy != introducer.id {
                    sharedByOthers.insert(share.device)
                } else if listed[folder.id]?.contains(share.device) != true {
                    outcome.changes.append(.unshare(folder.id, share.device))
                }
            }
        }
        let stillListed = listed.values.reduce(into: Set<DeviceID>()) { $0.formUnion($1) }
        for device in devices where device.introducedBy == introducer.id {
            guard !stillListed.contains(device.id), !sharedByOthers.contains(device.id) else { continue }
            outcome.changes.append(.removeDevice(device.id))
        }
    }

    /// What is kept of the addresses that somebody else gives for a device, `dynamic` first.
    package static func addresses(_ texts: [String]) -> [String] {
        var addresses = ["dynamic"]
        for text in texts where addresses.count <= addressLimit {
            // An introducer is trusted with who is a device, not with where this one connects. Names are checked at each dial.
            guard let target = try? DialTarget(parsing: text), target.kind != .radio,
                AddressSanity.problem(target, from: .introduced) == nil, !addresses.contains(target.text)
            else { continue }
            addresses.append(target.text)
        }
        return addresses
    }

    private static func added(_ device: ClusterConfig.Device, _ introducer: Device) -> NewDevice {
        return NewDevice(
            id: device.id, name: text(device.name), addresses: addresses(device.addresses),
            certificateName: text(device.certificateName),
            isIntroducer: device.isIntroducer, skipsRemovals: device.isIntroducer && device.skipsIntroductionRemovals,
            introducedBy: introducer.id)
    }

    /// A text of somebody else, without what moves a cursor or turns a line around, and short.
    static func text(_ text: String) -> String {
        var clean = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in text.unicodeScalars where !isControl(scalar) {
            byteCount += String(scalar).utf8.count
            guard byteCount <= nameByteCount else { break }
            clean.append(scalar)
        }
        return String(clean)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: true
        default: false
        }
    }
}
