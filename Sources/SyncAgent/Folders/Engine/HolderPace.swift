import BlockExchange
import Synchronization

/// How fast devices answer in one fetch of many files, and which of them are late with an answer: those are asked for
/// nothing more until it comes. The same rules as `BlockScheduler` has for the blocks of one file.
final class HolderPace: Sendable {
    private struct Pace {
        /// Smoothed time from request to answer.
        var usual: MonotonicTime?
        var isLate = false
    }

    private let paces = Mutex<[DeviceID: Pace]>([:])
    private let minimumPatience: MonotonicTime

    init(minimumPatience: MonotonicTime) { self.minimumPatience = minimumPatience }

    func isLate(_ holder: DeviceID) -> Bool { paces.withLock { $0[holder]?.isLate ?? false } }

    /// How long an answer of the holder is waited for before another is asked as well.
    func patience(with holder: DeviceID) -> MonotonicTime {
        max(minimumPatience, paces.withLock { $0[holder]?.usual ?? .zero } * 4)
    }

    func setLate(_ holder: DeviceID) { paces.withLock { $0[holder, default: Pace()].isLate = true } }

    func answered(_ holder: DeviceID, after time: MonotonicTime) {
        paces.withLock { paces in
            var pace = paces[holder] ?? Pace()
            pace.isLate = false
            pace.usual = pace.usual.map { ($0 * 7 + time) / 8 } ?? time
            paces[holder] = pace
        }
    }
}
