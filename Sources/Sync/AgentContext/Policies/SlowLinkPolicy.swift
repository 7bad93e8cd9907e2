import AgentConfiguration
import ControlAPI
import Phrases
import Transport

/// What of one folder may go over a slow link with one device: what the user has set for the folder and for the device,
/// whichever is stricter. Pure.
///
/// Each end heeds its own: what it announces, what it asks for and what it answers. Which of a peer's requests somebody
/// waits for it cannot see, so answers know no limit of size.
package struct SlowLinkPolicy: Equatable, Sendable {
    /// What a link is to be used for.
    package enum Purpose: Equatable, Sendable {
        /// To say that the folder is shared, and what is in it.
        case index
        /// To answer the peer's requests for bytes.
        case answer
        /// To get a file of so many bytes because the folder keeps it.
        case kept(byteCount: Int64)
        /// To get what a person asks for now.
        case onDemand
    }

    /// Why it may not.
    package enum Obstacle: Equatable, Sendable {
        case off
        case indexOnly
        /// Nobody has selected the file: the folder keeps everything.
        case notSelected
        case tooLarge(limit: Int64)
    }

    package var use: BluetoothUse
    /// The largest file that goes without being asked for; 0 for no limit.
    package var byteLimit: Int64
    package var mode: FolderConfiguration.Mode

    package init(use: BluetoothUse, byteLimit: Int64, mode: FolderConfiguration.Mode) {
        self.use = use
        self.byteLimit = byteLimit
        self.mode = mode
    }

    package init(_ folder: FolderConfiguration, with device: BluetoothUse) {
        self.init(use: min(folder.bluetooth, device), byteLimit: folder.bluetoothLimit, mode: folder.mode)
    }

    /// What is in the way of using a link of this kind; nil if nothing is.
    package func obstacle(to purpose: Purpose, over kind: LinkKind) -> Obstacle? {
        guard kind.isSlow else { return nil }
        switch (use, purpose) {
        case (.off, _): return .off
        case (_, .index): return nil
        case (.indexOnly, _): return .indexOnly
        case (_, .answer), (_, .onDemand): return nil
        case (.selectedAndOnDemand, .kept) where mode == .full: return .notSelected
        case (_, .kept(let byteCount)):
            return byteLimit > 0 && byteCount > byteLimit ? .tooLarge(limit: byteLimit) : nil
        }
    }
}

extension SlowLinkPolicy.Obstacle {
    /// Why something waits for a network, and what to do, to be read after the names or numbers of what waits.
    package func text(folder: String) -> Phrase {
        let setting = "synctrain folder bluetooth \(ShellWord.quoted(folder))"
        switch self {
        case .off:
            return Phrase("Bluetooth is off for the folder; enable it with `\(setting) all`")
        case .indexOnly:
            return Phrase("only the index is sent over Bluetooth; allow files with `\(setting) selected-and-on-demand`")
        case .notSelected:
            return Phrase(
                "only selected or requested files are sent over Bluetooth; allow all with `\(setting) all`, `synctrain fetch` a file"
            )
        case .tooLarge(let limit):
            return Phrase(
                "larger than bluetooth-limit (\(ByteCountText.format(limit))); `synctrain fetch` with its path downloads "
                    + "it over Bluetooth anyway")
        }
    }

    /// What lifts it, as a command for a shell; nil if only a fetch of the file does.
    package func command(folder: String) -> String? {
        let setting = "synctrain folder bluetooth \(ShellWord.quoted(folder))"
        return switch self {
        case .off, .notSelected: "\(setting) all"
        case .indexOnly: "\(setting) selected-and-on-demand"
        case .tooLarge: nil
        }
    }
}
