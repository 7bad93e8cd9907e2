import AgentContext
import AsyncTools
import BlockExchange
import FileAccess
import SyncDecisions
import Synchronization

/// What this device is downloading into temporary files, and what connected devices say of theirs.
package final class DownloadBoard: Sendable {
    /// A download that is under way.
    package struct Number: Hashable, Sendable {
        fileprivate var value: Int
    }

    private struct Download {
        var folder: FolderID
        var file: PartialFile
        var target: FetchTarget
    }

    private struct State {
        var downloads: [Number: Download] = [:]
        var lastNumber = 0
        var peers: [DeviceID: PeerProgress] = [:]
        var feeds: [ObjectIdentifier: Signal] = [:]
        var fetches = Listeners<Void>()
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: what this device downloads

    /// A download begins. Nil for a file too small to be worth a word to others.
    ///
    /// - Parameters:
    ///   - target: where it is to be; its temporary file is beside that.
    ///   - done: the blocks that are in the temporary file already.
    package func begin(
        _ file: FileInfo, of folder: FolderID, target: FetchTarget, done: some Sequence<Int>
    ) -> Number? {
        guard file.blocks.count > PartialFile.unreportedBlockCount else { return nil }
        let partial = PartialFile(
            name: file.name, version: file.version, blockSize: Int32(clamping: file.effectiveBlockSize),
            blocks: BlockSet(done))
        let (number, feeds) = state.withLock { state in
            state.lastNumber += 1
            let number = Number(value: state.lastNumber)
            state.downloads[number] = Download(folder: folder, file: partial, target: target)
            return (number, Array(state.feeds.values))
        }
        for feed in feeds { feed.notify() }
        return number
    }

    /// A verified block is in the temporary file.
    package func stored(_ block: Int, of download: Number) {
        state.withLock { _ = $0.downloads[download]?.file.blocks.insert(block) }
    }

    package func end(_ download: Number) { state.withLock { $0.downloads[download] = nil } }

    package var isIdle: Bool { state.withLock { $0.downloads.isEmpty } }

    package func files(of folder: FolderID) -> [PartialFile] {
        state.withLock { state in
            state.downloads.sorted { $0.key.value < $1.key.value }.map(\.value).filter { $0.folder == folder }.map(
                \.file)
        }
    }

    /// Where a file is being downloaded to.
    package func target(of name: String, in folder: FolderID) -> FetchTarget? {
        state.withLock { state in
            state.downloads.values.first { $0.folder == folder && $0.file.name == name }?.target
        }
    }

    /// A signal for every download that begins, until `unsubscribe`.
    package func subscribe() -> Signal {
        let signal = Signal()
        state.withLock { $0.feeds[ObjectIdentifier(signal)] = signal }
        return signal
    }

    package func unsubscribe(_ signal: Signal) { state.withLock { $0.feeds[ObjectIdentifier(signal)] = nil } }

    // MARK: what others download

    package func take(_ progress: DownloadProgress, from device: DeviceID) {
        change { $0[device, default: PeerProgress()].take(progress) }
    }

    /// The device has announced these names of its index.
    package func announced(_ names: some Sequence<String>, of folder: FolderID, by device: DeviceID) {
        change { $0[device]?.announced(names, in: folder) ?? false }
    }

    /// What the device said does not hold any more.
    package func forget(_ device: DeviceID) { state.withLock { $0.peers[device] = nil } }

    package func forget(_ device: DeviceID, _ folder: FolderID) { state.withLock { $0.peers[device]?.forget(folder) } }

    /// The devices that have blocks of this version of the file in their temporary files.
    package func holders(of file: FileInfo, in folder: FolderID) -> [DeviceID: BlockSet] {
        state.withLock { $0.peers.compactMapValues { $0.blocks(of: file, in: folder) } }
    }

    /// An element whenever devices have said something new since the last one, until the reading task ends.
    package func changes() -> AsyncStream<Void> {
        state.withLock { $0.fetches.add(bufferingPolicy: .bufferingNewest(1)) }
    }

    private func change(_ body: (inout [DeviceID: PeerProgress]) -> Bool) {
        state.withLock { state in
            if body(&state.peers) { state.fetches.send(()) }
        }
    }
}

/// What a fetch knows of devices that download the same file.
package struct SharedDownloads: Sendable {
    package var board: DownloadBoard
    package var localDevice: DeviceID
    /// The devices that have the folder, unencrypted, beside this one.
    package var sharers: @Sendable (FolderID) -> [DeviceID]
    /// The devices that have this version of a file whole by now; nil if that is not known.
    package var holders: @Sendable (FolderID, FileInfo) async -> [DeviceID]?

    package init(
        board: DownloadBoard, localDevice: DeviceID, sharers: @escaping @Sendable (FolderID) -> [DeviceID],
        holders: @escaping @Sendable (FolderID, FileInfo) async -> [DeviceID]?
    ) {
        self.board = board
        self.localDevice = localDevice
        self.sharers = sharers
        self.holders = holders
    }
}

extension FetchEnvironment {
    /// The connected devices that may be downloading the file at the same time.
    func sharers(of file: FileInfo, in folder: FolderID, except holders: [DeviceID]) -> Set<DeviceID> {
        guard let downloads, file.blocks.count > PartialFile.unreportedBlockCount else { return [] }
        let others = downloads.sharers(folder).filter { !holders.contains($0) }
        return Set(sessions(others).filter { !$0.value.kind.isSlow }.keys)
    }

    /// In which order blocks of a file are to be asked for.
    func order(_ blocks: [Int], of file: FileInfo, in folder: FolderID, holders: [DeviceID]) -> [Int] {
        guard let downloads else { return blocks }
        return BlockOrder.shared(
            blocks, of: file.blocks.count, local: downloads.localDevice,
            sharers: Set(downloads.sharers(folder)), others: sharers(of: file, in: folder, except: holders))
    }

    /// Links to devices that have blocks of the file in their temporary files, and which. Over a slow link nobody is asked for those.
    func partialSources(
        of file: FileInfo, in folder: FolderID, except holders: [DeviceID], for purpose: SlowLinkPolicy.Purpose
    ) -> [DeviceID: (source: any BlockSource, blocks: BlockSet)] {
        guard let downloads, file.blocks.count > PartialFile.unreportedBlockCount else { return [:] }
        let claims = downloads.board.holders(of: file, in: folder)
        guard !claims.isEmpty else { return [:] }
        let others = downloads.sharers(folder).filter { claims[$0] != nil && !holders.contains($0) }
        var partial: [DeviceID: (source: any BlockSource, blocks: BlockSet)] = [:]
        for (id, source) in sources(of: folder, others, for: purpose).permitted where !source.kind.isSlow {
            if let blocks = claims[id] { partial[id] = (source, blocks) }
        }
        return partial
    }
}
