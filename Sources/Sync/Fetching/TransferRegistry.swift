import Arithmetic
import BlockExchange
import ControlAPI
import SyncDecisions
import Synchronization

/// The files that move now: those that are fetched, and those that peers ask for.
package final class TransferRegistry: Sendable {
    private struct Source {
        var bytesDone: Int64 = 0
        var rate: TransferRate
    }

    private struct Incoming {
        let folder: FolderID
        let path: String
        let size: Int64
        let begun: MonotonicTime
        /// Whether what is done of it is on this disk and verified; else somebody reads it.
        let isStored: Bool
        var bytesDone: Int64 = 0
        var rate: TransferRate
        /// In the order in which they first gave something.
        var holders: [DeviceID] = []
        var sources: [DeviceID: Source] = [:]
    }

    private struct OutgoingKey: Hashable {
        let device: DeviceID
        let folder: FolderID
        let path: String
    }

    private struct Outgoing {
        var size: Int64
        var bytesDone: Int64 = 0
        var rate: TransferRate
        var last: MonotonicTime
    }

    private struct State {
        var incoming: [Int: Incoming] = [:]
        var nextID = 0
        var outgoing: [OutgoingKey: Outgoing] = [:]
        /// How fast what is stored comes in, over all files of a folder; kept while files of it come.
        var folderRates: [FolderID: TransferRate] = [:]
    }

    /// How fast files of a folder come in is still said for so long after the last of them.
    private static let folderRatePause: MonotonicTime = .seconds(30)

    /// Nobody says that it has got a file: what a peer has not asked for in this time does not move.
    private static let outgoingPause: MonotonicTime = .seconds(5)
    /// Outgoing files that are remembered, and how many may be more before the oldest are forgotten.
    private static let outgoingLimit = 256
    private static let outgoingSlack = 256

    private let state = Mutex(State())
    private let now: @Sendable () -> MonotonicTime

    package init(now: @escaping @Sendable () -> MonotonicTime) { self.now = now }

    /// What is fetched, for status.
    package var all: [TransferStatus] {
        let now = now()
        return state.withLock { state in
            state.incoming.sorted { $0.key < $1.key }.map { _, transfer in
                TransferStatus(
                    folder: transfer.folder.rawValue, path: transfer.path, bytesDone: transfer.bytesDone,
                    bytesTotal: transfer.size, holders: transfer.holders.map(\.description),
                    bytesPerSecond: transfer.rate.bytesPerSecond(at: now),
                    // bounded: both are from zero on
                    secondsLeft: transfer.rate.secondsLeft(for: transfer.size - transfer.bytesDone, at: now))
            }
        }
    }

    /// What moves, for each file and device: what comes first, in the order in which it was begun, then what goes, the newest
    /// first. A file that is fetched and of which nothing has come yet is there without a device. At most
    /// `TransferList.limit`, with how many there are; `transport` names what carries a device's link.
    package func list(transport: (DeviceID) -> String?) -> TransferList {
        let now = now()
        var list = state.withLock { state in
            forgetOutgoing(&state, at: now)
            var rows: [TransferEntry] = []
            for (_, transfer) in state.incoming.sorted(by: { $0.key < $1.key }) {
                // bounded: both are from zero on
                let left = transfer.rate.secondsLeft(for: transfer.size - transfer.bytesDone, at: now)
                let whole = TransferEntry(
                    folder: transfer.folder.rawValue, path: transfer.path, direction: .incoming, bytesDone: 0,
                    fileBytesDone: transfer.bytesDone, size: transfer.size, secondsLeft: left)
                if transfer.holders.isEmpty { rows.append(whole) }
                for holder in transfer.holders {
                    guard let source = transfer.sources[holder] else { continue }
                    var row = whole
                    row.device = holder.description
                    row.bytesDone = source.bytesDone
                    row.bytesPerSecond = source.rate.bytesPerSecond(at: now) ?? 0
                    rows.append(row)
                }
            }
            for (key, transfer) in state.outgoing.sorted(by: { $0.value.last > $1.value.last }) {
                rows.append(
                    TransferEntry(
                        folder: key.folder.rawValue, path: key.path, device: key.device.description,
                        direction: .outgoing, bytesDone: transfer.bytesDone, size: transfer.size,
                        bytesPerSecond: transfer.rate.bytesPerSecond(at: now) ?? 0,
                        // bounded: both are from zero on
                        secondsLeft: transfer.rate.secondsLeft(for: transfer.size - transfer.bytesDone, at: now)))
            }
            return TransferList(transfers: Array(rows.prefix(TransferList.limit)), total: rows.count)
        }
        // A device's link is behind another lock.
        for row in list.transfers.indices {
            list.transfers[row].transport = list.transfers[row].device.flatMap { try? DeviceID(parsing: $0) }
                .flatMap(transport)
        }
        return list
    }

    /// Folders with transfers under way.
    package func isFetching(_ folder: FolderID) -> Bool {
        state.withLock { $0.incoming.values.contains { $0.folder == folder } }
    }

    /// Whether nothing moves, in either direction.
    package var isIdle: Bool {
        let now = now()
        return state.withLock { state in
            forgetOutgoing(&state, at: now)
            return state.incoming.isEmpty && state.outgoing.isEmpty
        }
    }

    /// - Parameter isStored: whether what is done of it is on this disk, verified, as for files on their way into their places.
    package func begin(folder: FolderID, path: String, bytesTotal: Int64, isStored: Bool = false) -> Int {
        let now = now()
        return state.withLock { state in
            state.nextID += 1
            state.incoming[state.nextID] = Incoming(
                folder: folder, path: path, size: bytesTotal, begun: now, isStored: isStored,
                rate: TransferRate(begun: now))
            if isStored {
                let last = state.folderRates[folder]?.lastArrival
                if last.map({ now - $0 > Self.folderRatePause }) ?? (state.folderRates[folder] == nil) {
                    state.folderRates[folder] = TransferRate(begun: now)
                }
            }
            return state.nextID
        }
    }

    /// The files of a folder that are on their way into their places, with the bytes of each that are on this disk, verified.
    package func stored(of folder: FolderID) -> [String: Int64] {
        state.withLock { state in
            var stored: [String: Int64] = [:]
            for transfer in state.incoming.values where transfer.isStored && transfer.folder == folder {
                stored[transfer.path] = max(stored[transfer.path] ?? 0, min(transfer.bytesDone, transfer.size))
            }
            return stored
        }
    }

    /// How fast files of a folder came from other devices over the last seconds, in bytes a second; nil if none has, or nothing
    /// does any more.
    package func bytesPerSecond(of folder: FolderID) -> Int64? {
        let now = now()
        return state.withLock { state in
            guard let rate = state.folderRates[folder], let last = rate.lastArrival, now - last <= Self.folderRatePause,
                let bytes = rate.bytesPerSecond(at: now), bytes > 0
            else { return nil }
            return bytes
        }
    }

    /// So many bytes more are done, with what a device sent or, with nil, with what was here.
    package func progressed(_ id: Int, by bytes: Int64, from holder: DeviceID?) {
        let now = now()
        state.withLock { state in
            state.incoming[id]?.bytesDone.addClamped(bytes)
            state.incoming[id]?.rate.add(bytes, at: now)
            if let transfer = state.incoming[id], transfer.isStored, holder != nil {
                state.folderRates[transfer.folder]?.add(bytes, at: now)
            }
        }
        if let holder { came(id, bytes, from: holder) }
    }

    /// A device sent so many bytes, for whoever then says that they are done.
    package func came(_ id: Int, _ bytes: Int64, from holder: DeviceID) {
        let now = now()
        state.withLock { state in
            guard let begun = state.incoming[id]?.begun else { return }
            if state.incoming[id]?.sources[holder] == nil {
                state.incoming[id]?.holders.append(holder)
                state.incoming[id]?.sources[holder] = Source(rate: TransferRate(begun: begun))
            }
            state.incoming[id]?.sources[holder]?.bytesDone.addClamped(bytes)
            state.incoming[id]?.sources[holder]?.rate.add(bytes, at: now)
        }
    }

    package func end(_ id: Int) { state.withLock { _ = $0.incoming.removeValue(forKey: id) } }

    /// A device asked for these blocks of a folder, and got them where the answers say so.
    package func served(_ requests: [BlockRequest], _ answers: [BlockAnswer], of folder: FolderID, to device: DeviceID)
    {
        let now = now()
        state.withLock { state in
            for (request, answer) in zip(requests, answers) {
                guard answer.code == .ok, let size = answer.fileSize else { continue }
                let key = OutgoingKey(device: device, folder: folder, path: request.name)
                let bytes = Int64(answer.data.readableBytes)
                // After a pause it is another fetch; the first block says when it began, and not how fast it goes.
                var transfer =
                    state.outgoing[key].flatMap { now - $0.last > Self.outgoingPause ? nil : $0 }
                    ?? Outgoing(size: size, rate: TransferRate(begun: now), last: now)
                if transfer.bytesDone > 0 { transfer.rate.add(bytes, at: now) }
                transfer.size = size
                // What is asked for twice is not more of the file.
                transfer.bytesDone = min(size, transfer.bytesDone.addingClamped(bytes))
                transfer.last = now
                state.outgoing[key] = transfer
            }
            if state.outgoing.count > Self.outgoingLimit + Self.outgoingSlack { forgetOutgoing(&state, at: now) }
        }
    }

    private func forgetOutgoing(_ state: inout State, at now: MonotonicTime) {
        state.outgoing = state.outgoing.filter { now - $0.value.last <= Self.outgoingPause }
        guard state.outgoing.count > Self.outgoingLimit else { return }
        for key in state.outgoing.sorted(by: { $0.value.last > $1.value.last }).dropFirst(Self.outgoingLimit).map(\.key)
        {
            state.outgoing.removeValue(forKey: key)
        }
    }
}
