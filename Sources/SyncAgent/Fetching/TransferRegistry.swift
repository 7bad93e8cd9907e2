import BlockExchange
import ControlAPI
import Synchronization

/// The files that are being fetched now, for status.
final class TransferRegistry: Sendable {
    private struct State {
        var transfers: [Int: TransferStatus] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    var all: [TransferStatus] { state.withLock { $0.transfers.sorted { $0.key < $1.key }.map(\.value) } }

    /// Folders with transfers under way.
    func isFetching(_ folder: FolderID) -> Bool {
        state.withLock { $0.transfers.values.contains { $0.folder == folder.rawValue } }
    }

    func begin(folder: FolderID, path: String, bytesTotal: Int64) -> Int {
        state.withLock { state in
            state.nextID += 1
            state.transfers[state.nextID] = TransferStatus(
                folder: folder.rawValue, path: path, bytesDone: 0, bytesTotal: bytesTotal, holders: [])
            return state.nextID
        }
    }

    func progressed(_ id: Int, by bytes: Int64, from holder: DeviceID?) {
        state.withLock { state in
            state.transfers[id]?.bytesDone += bytes
            guard let holder = holder?.description, state.transfers[id]?.holders.contains(holder) == false else {
                return
            }
            state.transfers[id]?.holders.append(holder)
        }
    }

    func end(_ id: Int) { state.withLock { _ = $0.transfers.removeValue(forKey: id) } }
}
