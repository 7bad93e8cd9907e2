import BlockExchange
import ControlAPI

/// What a folder has, what it waits for and what ends that: put together of what its engine, its devices and the index
/// say. Pure.
package struct FolderOutlook: Sendable {
    /// A part of what is needed, by the devices that hold it whole.
    package struct Lack: Equatable, Sendable {
        package var holders: [DeviceID]
        package var files: Int64
        package var bytes: Int64

        package init(holders: [DeviceID], files: Int64, bytes: Int64) {
            self.holders = holders
            self.files = files
            self.bytes = bytes
        }
    }

    /// A device that the folder is shared with.
    package struct Peer: Sendable {
        package enum Sharing: Sendable {
            /// It is not connected, or has not said yet.
            case unknown
            case shares
            case paused
            case notSharing
            /// It keeps the folder encrypted.
            case encrypted
        }

        package var id: DeviceID
        package var name: String
        package var isConnected = false
        package var isPaused = false
        package var sharing = Sharing.unknown
        /// Whether it has ever told what it has of the folder.
        package var hasIndex = true
        /// Whether it has said, since this device started, that it refuses changes of this one.
        package var refuses = false

        package init(
            id: DeviceID, name: String, isConnected: Bool = false, isPaused: Bool = false,
            sharing: Sharing = Sharing.unknown, hasIndex: Bool = true
        ) {
            self.id = id
            self.name = name
            self.isConnected = isConnected
            self.isPaused = isPaused
            self.sharing = sharing
            self.hasIndex = hasIndex
        }
    }

    package var folder: String
    package var status: FolderStatus
    /// RFC 3339.
    package var pausedUntil: String?
    package var peers: [Peer]
    package var lacks: [Lack]
    /// Whether `.stignore` is missing or has no lines, and not one of its lines wrong.
    package var isSelectionMissing: Bool
    /// Names that others changed and that the folder does not take, because it only sends.
    package var untaken: Int64 = 0
    /// Names that were changed here and that the folder does not send, because it only receives.
    package var unsent: Int64 = 0

    package init(
        folder: String, status: FolderStatus, pausedUntil: String? = nil, peers: [Peer], lacks: [Lack],
        isSelectionMissing: Bool = false
    ) {
        self.folder = folder
        self.status = status
        self.pausedUntil = pausedUntil
        self.peers = peers
        self.lacks = lacks
        self.isSelectionMissing = isSelectionMissing
    }

    /// How much is here.
    package var copy: FolderCopy {
        // Without a readable selection, or after an error, nobody knows; of a full disk what is needed is known.
        guard !status.condition.isFailure || status.condition == .lowSpace, !status.isIncomplete,
            peers.isEmpty || peers.contains(where: \.hasIndex)
        else { return .unknown }
        guard status.need.isZero, (status.scrub?.damaged ?? 0) == 0 else { return .partial }
        // With nothing extraneous, all that is here is selected; if that is as much as there is, it is all there is.
        let isAll =
            untaken == 0 && unsent == 0 && status.global.files == status.local.files
            && status.global.directories == status.local.directories
            && status.global.bytes == status.local.bytes && (status.extraneous ?? 0) == 0
        return isAll ? .complete : .selected
    }

    /// What is in the way, the most important first. Empty only if nothing is needed that does not come by itself.
    package var waits: [FolderWait] {
        let condition = status.condition
        if condition == .paused {
            return [
                FolderWait(
                    reason: .paused, text: Phrase("the folder is paused"),
                    remedyText: Phrase("`synctrain resume \(ShellWord.quoted(folder))` resumes it"),
                    command: ShellWord.command(["resume", folder]), until: pausedUntil)
            ]
        }
        if condition == .lowSpace {
            return [
                wait(
                    .space, status.text ?? Phrase("the disk is full"), total,
                    Phrase(
                        "free some space, `synctrain free \(ShellWord.quoted(folder)) --until SIZE` frees files that other devices have, or deselect "
                            + "files"))
            ]
        }
        if condition.isFailure {
            return [
                wait(
                    .halted, status.text ?? Phrase("the folder cannot sync"),
                    nil, remedy.text, remedy.command)
            ]
        }
        var waits: [FolderWait] = []
        if peers.isEmpty {
            waits.append(
                wait(
                    .unshared, Phrase("the folder is not shared with any device"), nil,
                    Phrase("`synctrain folder share \(ShellWord.quoted(folder)) DEVICE` shares it with a device")))
        }
        waits += aboutPeers + aboutNeed
        if let waiting = status.waiting {
            waits.append(
                wait(
                    .policy,
                    Self.held(waiting.files, waiting.reason), (waiting.files, waiting.bytes), waiting.phrase,
                    waiting.command))
        }
        if !status.problems.isEmpty {
            waits.append(
                wait(
                    .problems, Phrase("\(status.errors) of its names have errors"), nil,
                    Phrase("`synctrain status` shows what to do; the agent retries automatically"), "synctrain status"))
        }
        // For deletions, directories and empty files nobody has to send anything.
        if waits.isEmpty, status.need.bytes > 0, condition.isAtRest {
            waits.append(
                wait(
                    .unavailable, Phrase("the connected devices do not send the needed files"), total,
                    Phrase("`synctrain fetch` retries at once; otherwise the agent retries when a device connects"),
                    "synctrain fetch"))
        }
        return waits + aboutDirection
    }

    // MARK: -

    /// What a policy waits for, by the reason that `FolderStatus.Waiting` has.
    private static func held(_ files: Int64, _ reason: String?) -> Phrase {
        switch reason {
        case "metered":
            Phrase(
                files, one: "\(files) of the needed files is waiting while the connection is metered",
                many: "\(files) of the needed files are waiting while the connection is metered")
        case "battery":
            Phrase(
                files, one: "\(files) of the needed files is waiting while the battery is low",
                many: "\(files) of the needed files are waiting while the battery is low")
        default:
            Phrase(
                files, one: "\(files) of the needed files is waiting for another link",
                many: "\(files) of the needed files are waiting for another link")
        }
    }

    private var total: (Int64, Int64) { (status.need.files, status.need.bytes) }

    private func wait(
        _ reason: FolderWait.Reason, _ text: Phrase, _ amount: (files: Int64, bytes: Int64)?, _ remedy: Phrase,
        _ command: String? = nil, _ devices: [Peer] = []
    ) -> FolderWait {
        FolderWait(
            reason: reason, text: text, remedyText: remedy, command: command, devices: devices.map(\.id.description),
            files: amount?.files, bytes: amount?.bytes)
    }

    private static func names(_ peers: [Peer]) -> String {
        peers.map { $0.name.isEmpty ? $0.id.shortID.description : $0.name }.joined(separator: ", ")
    }

    private static func reference(_ peers: [Peer]) -> String {
        peers.map { $0.name.isEmpty ? $0.id.description : $0.name }.map { "--device \(ShellWord.quoted($0))" }.joined(
            separator: " ")
    }

    private var aboutPeers: [FolderWait] {
        var waits: [FolderWait] = []
        let paused = peers.filter { $0.isPaused && (!$0.hasIndex || isNeeded(from: $0)) }
        if !paused.isEmpty {
            waits.append(
                wait(
                    .devicePaused, Phrase("\(Self.names(paused)) is paused here"), nil,
                    "`synctrain resume \(Self.reference(paused))`", "synctrain resume \(Self.reference(paused))", paused
                ))
        }
        let silent = peers.filter { !$0.hasIndex && !$0.isConnected && !$0.isPaused }
        if !silent.isEmpty {
            waits.append(
                wait(
                    .index, Phrase("\(Self.names(silent)) has not sent its index yet"), nil,
                    Phrase(
                        "switch that device on, with the folder shared with this one; `synctrain device list` shows why it is "
                            + "not connected"), "synctrain device list", silent))
        }
        let resting = peers.filter { $0.isConnected && $0.sharing == .paused }
        if !resting.isEmpty {
            waits.append(
                wait(
                    .pausedThere, Phrase("\(Self.names(resting)) has paused it"), nil,
                    Phrase("resume the folder there"), nil, resting))
        }
        let sealed = peers.filter { $0.sharing == .encrypted }
        if !sealed.isEmpty {
            waits.append(
                wait(
                    .encryptedThere,
                    Phrase("\(Self.names(sealed)) keeps the folder encrypted, which is not supported yet"),
                    nil,
                    Phrase(
                        "share it unencrypted there, then run `synctrain folder share \(ShellWord.quoted(folder)) DEVICE --unencrypted`; "
                            + "or stop sharing the folder with it"), nil, sealed))
        }
        let foreign = peers.filter { $0.isConnected && $0.sharing == .notSharing }
        if !foreign.isEmpty {
            waits.append(
                wait(
                    .unsharedThere, Phrase("\(Self.names(foreign)) does not share it with this device"), nil,
                    Phrase("accept or share the folder `\(folder)` there"), nil, foreign))
        }
        return waits
    }

    /// Changes that stay on one side, and by what that ends.
    private var aboutDirection: [FolderWait] {
        var waits: [FolderWait] = []
        if untaken > 0 {
            waits.append(
                wait(
                    .notTaken,
                    Phrase(
                        untaken, one: "\(untaken) change by others is not taken, because the folder is send-only",
                        many: "\(untaken) changes by others are not taken, because the folder is send-only"), nil,
                    Phrase("`synctrain folder override \(ShellWord.quoted(folder))` undoes them there"),
                    ShellWord.command(["folder", "override", folder])))
        }
        if unsent > 0 {
            waits.append(
                wait(
                    .notSent,
                    Phrase(
                        unsent, one: "\(unsent) change here is not sent, because the folder is receive-only",
                        many: "\(unsent) changes here are not sent, because the folder is receive-only"), nil,
                    Phrase("`synctrain folder revert \(ShellWord.quoted(folder))` undoes them here"),
                    ShellWord.command(["folder", "revert", folder])))
        }
        let refusing = peers.filter(\.refuses)
        if !refusing.isEmpty {
            waits.append(
                wait(
                    .refusedThere,
                    Phrase("changes made here are refused by \(Self.names(refusing)): this device may only read there"),
                    nil,
                    Phrase(
                        "`synctrain folder role \(ShellWord.quoted(folder)) DEVICE write` on that device lets it write"),
                    nil, refusing))
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
                        Phrase("no device has reported a complete copy of \(lack.files) of the needed files"), amount,
                        Phrase(
                            "switch on the device that made them, as shown by `synctrain stat`; it may still be sending them "
                                + "to another")))
            } else if !holders.contains(where: { $0.isConnected || $0.isPaused }) {
                waits.append(
                    wait(
                        .holder,
                        Phrase(
                            lack.files,
                            one: "\(lack.files) of the needed files is on \(Self.names(holders)), not connected",
                            many: "\(lack.files) of the needed files are on \(Self.names(holders)), not connected"),
                        amount,
                        Phrase("switch one of them on; `synctrain device list` shows why it is not connected"),
                        "synctrain device list", holders)
                )
            }
        }
        return waits
    }

    /// What lets a folder go on that has stopped itself.
    private var remedy: (text: Phrase, command: String?) {
        let (id, folder) = (folder, ShellWord.quoted(folder))
        switch status.condition {
        case .haltedRootEmptied, .haltedMassDelete:
            return (
                Phrase(
                    "if it was intended, `synctrain folder confirm \(folder)` deletes them on the other devices too; otherwise "
                        + "`synctrain folder repair \(folder)` restores the files"),
                ShellWord.command(["folder", "confirm", id])
            )
        case .haltedRootMissing, .haltedMarkerMissing:
            return (
                Phrase("if the disk is not mounted, mount it; otherwise run `synctrain folder repair \(folder)`"),
                ShellWord.command(["folder", "repair", id])
            )
        case .selectionError:
            guard isSelectionMissing else {
                return (
                    Phrase(
                        "correct the file and the line that the message names; the agent reads it again by itself"), nil
                )
            }
            return (
                Phrase(
                    "restore the lines of .stignore; or go on with nothing selected: `synctrain folder mode \(folder) "
                        + "selective`"), ShellWord.command(["folder", "mode", id, "selective"])
            )
        default:
            return (
                Phrase(
                    "remove the cause in the message; the agent retries automatically, or at once with `synctrain scan "
                        + "\(folder)`"), ShellWord.command(["scan", id])
            )
        }
    }
}
