import BlockExchange
import ControlAPI

/// What a folder has, what it waits for and what ends that: put together of what its engine, its devices and the index
/// say. Pure.
struct FolderOutlook: Sendable {
    /// A part of what is needed, by the devices that hold it whole.
    struct Lack: Equatable, Sendable {
        var holders: [DeviceID]
        var files: Int64
        var bytes: Int64
    }

    /// A device that the folder is shared with.
    struct Peer: Sendable {
        enum Sharing: Sendable {
            /// It is not connected, or has not said yet.
            case unknown
            case shares
            case paused
            case notSharing
            /// It keeps the folder encrypted.
            case encrypted
        }

        var id: DeviceID
        var name: String
        var isConnected = false
        var isPaused = false
        var sharing = Sharing.unknown
        /// Whether it has ever told what it has of the folder.
        var hasIndex = true
    }

    var folder: String
    var status: FolderStatus
    /// RFC 3339.
    var pausedUntil: String?
    var peers: [Peer]
    var lacks: [Lack]

    /// How much is here.
    var copy: FolderCopy {
        guard !status.condition.isHalted, !status.isIncomplete, peers.isEmpty || peers.contains(where: \.hasIndex)
        else { return .unknown }
        guard status.need.isZero else { return .partial }
        // With nothing extraneous, all that is here is selected; if that is as much as there is, it is all there is.
        let isAll =
            status.global.files == status.local.files && status.global.directories == status.local.directories
            && status.global.bytes == status.local.bytes && (status.extraneous ?? 0) == 0
        return isAll ? .complete : .selected
    }

    /// What is in the way, the most important first. Empty only if nothing is needed that does not come by itself.
    var waits: [FolderWait] {
        let condition = status.condition
        if condition == .paused {
            let end = pausedUntil.map { " until \($0)" } ?? ""
            return [
                FolderWait(
                    reason: .paused, message: "it is paused\(end): nothing is scanned, sent or fetched",
                    remedy: "`synctrain resume \(folder)` lets it go on")
            ]
        }
        if condition == .lowSpace {
            return [
                wait(
                    .space, status.message ?? "the disk is full", total,
                    "free some space, `synctrain free \(folder) --until SIZE` lets go what other devices hold, or deselect "
                        + "files")
            ]
        }
        if condition.isFailure {
            return [
                wait(.halted, status.message ?? "it cannot go on", nil, Self.remedy(for: condition, folder: folder))
            ]
        }
        var waits: [FolderWait] = []
        if peers.isEmpty {
            waits.append(
                wait(
                    .unshared, "it is shared with no device", nil,
                    "`synctrain folder add \(folder) PATH --device DEVICE`, with the path it has, shares it"))
        }
        waits += aboutPeers + aboutNeed
        if let waiting = status.waiting {
            waits.append(
                wait(
                    .policy,
                    "\(waiting.files) of the needed files wait "
                        + (Self.conditions[waiting.reason ?? ""] ?? "for another link than there is"),
                    (waiting.files, waiting.bytes), waiting.message))
        }
        if !status.problems.isEmpty {
            waits.append(
                wait(
                    .problems, "something is wrong with \(status.errors) of its names", nil,
                    "`synctrain status` says of each what to do; it is tried again by itself"))
        }
        if waits.isEmpty, !status.need.isZero, condition.isAtRest {
            waits.append(
                wait(
                    .unavailable, "what is needed does not come from the devices that are connected", total,
                    "`synctrain fetch` tries again at once; else it is tried when a device connects"))
        }
        return waits
    }

    // MARK: -

    /// What a policy waits for, by the reason that `FolderStatus.Waiting` has.
    private static let conditions = [
        "metered": "while the connection is metered", "battery": "while the battery is low",
    ]

    private var total: (Int64, Int64) { (status.need.files, status.need.bytes) }

    private func wait(
        _ reason: FolderWait.Reason, _ message: String, _ amount: (files: Int64, bytes: Int64)?, _ remedy: String,
        _ devices: [Peer] = []
    ) -> FolderWait {
        FolderWait(
            reason: reason, message: message, remedy: remedy, devices: devices.map(\.id.description),
            files: amount?.files, bytes: amount?.bytes)
    }

    private static func names(_ peers: [Peer]) -> String {
        peers.map { $0.name.isEmpty ? $0.id.shortID.description : $0.name }.joined(separator: ", ")
    }

    private static func reference(_ peers: [Peer]) -> String {
        peers.map { $0.name.isEmpty ? $0.id.description : $0.name }.map { "--device \($0)" }.joined(separator: " ")
    }

    private var aboutPeers: [FolderWait] {
        var waits: [FolderWait] = []
        let paused = peers.filter { $0.isPaused && (!$0.hasIndex || isNeeded(from: $0)) }
        if !paused.isEmpty {
            waits.append(
                wait(
                    .devicePaused, "\(Self.names(paused)) is paused here", nil,
                    "`synctrain resume \(Self.reference(paused))`", paused))
        }
        let silent = peers.filter { !$0.hasIndex && !$0.isConnected && !$0.isPaused }
        if !silent.isEmpty {
            waits.append(
                wait(
                    .index, "\(Self.names(silent)) has not told yet what is in it", nil,
                    "switch that device on, with the folder shared with this one; `synctrain device list` says why it is "
                        + "not connected", silent))
        }
        let resting = peers.filter { $0.isConnected && $0.sharing == .paused }
        if !resting.isEmpty {
            waits.append(
                wait(.pausedThere, "\(Self.names(resting)) has paused it", nil, "resume the folder there", resting))
        }
        let sealed = peers.filter { $0.sharing == .encrypted }
        if !sealed.isEmpty {
            waits.append(
                wait(
                    .encryptedThere,
                    "\(Self.names(sealed)) keeps it encrypted, which synctrain does not support yet: nothing is exchanged",
                    nil,
                    "share it unencrypted there, then remove the device's id from `untrusted` of the folder in config.toml "
                        + "and run `synctrain reload`; or stop sharing the folder with it", sealed))
        }
        let foreign = peers.filter { $0.isConnected && $0.sharing == .notSharing }
        if !foreign.isEmpty {
            waits.append(
                wait(
                    .unsharedThere, "\(Self.names(foreign)) does not share it with this device", nil,
                    "accept or share the folder `\(folder)` there", foreign))
        }
        return waits
    }

    private func isNeeded(from peer: Peer) -> Bool { lacks.contains { $0.holders.contains(peer.id) } }

    /// What is whole only where it cannot be got now.
    private var aboutNeed: [FolderWait] {
        guard !status.need.isZero else { return [] }
        var waits: [FolderWait] = []
        for lack in lacks {
            let holders = peers.filter { lack.holders.contains($0.id) }
            let amount = (lack.files, lack.bytes)
            if holders.isEmpty {
                waits.append(
                    wait(
                        .unavailable,
                        "no device has said that it has \(lack.files) of the needed files whole", amount,
                        "switch on the device that made them, `synctrain stat` says which; it may still be sending them "
                            + "to another"))
            } else if !holders.contains(where: { $0.isConnected || $0.isPaused }) {
                waits.append(
                    wait(
                        .holder,
                        "\(lack.files) of the needed files are on \(Self.names(holders)), not connected", amount,
                        "switch one of them on; `synctrain device list` says why it is not connected", holders))
            }
        }
        return waits
    }

    /// What lets a folder go on that has stopped itself.
    static func remedy(for state: FolderState, folder: String) -> String {
        let repair = "`synctrain folder repair \(folder)`"
        switch state {
        case .haltedRootEmptied, .haltedMassDelete:
            return "if it was meant, `synctrain folder confirm \(folder)` deletes it on the other devices too; else "
                + "\(repair) brings back what is gone"
        case .haltedRootMissing, .haltedMarkerMissing:
            return "if the disk is only not mounted, mount it; else \(repair) begins anew"
        case .selectionError:
            return
                "mend the line of .stignore that the message names, or say what is meant with `synctrain folder mode "
                + "\(folder) full` or `selective`"
        default:
            return
                "remove the cause that the message names; it is tried again by itself, and at once by `synctrain scan "
                + "\(folder)`"
        }
    }
}
