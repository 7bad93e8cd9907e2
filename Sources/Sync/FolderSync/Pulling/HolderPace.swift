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

    /// One request.
    struct Asked: Sendable {
        fileprivate let number: Int
        let holder: DeviceID
    }

    private struct State {
        var paces: [DeviceID: Pace] = [:]
        /// The requests that are not answered.
        var underWay: Set<Int> = []
        var lastNumber = 0
    }

    private let state = Mutex(State())
    private let minimumPatience: MonotonicTime

    init(minimumPatience: MonotonicTime) { self.minimumPatience = minimumPatience }

    func isLate(_ holder: DeviceID) -> Bool { state.withLock { $0.paces[holder]?.isLate ?? false } }

    /// How long an answer of the holder is waited for before another is asked as well.
    func patience(with holder: DeviceID) -> MonotonicTime {
        max(minimumPatience, state.withLock { $0.paces[holder]?.usual ?? .zero } * 4)
    }

    func asked(_ holder: DeviceID) -> Asked {
        state.withLock { state in
            state.lastNumber += 1
            state.underWay.insert(state.lastNumber)
            return Asked(number: state.lastNumber, holder: holder)
        }
    }

    /// Does nothing when the answer has just come: nothing would say then that the holder is not late.
    func setLate(_ asked: Asked) {
        state.withLock { state in
            guard state.underWay.contains(asked.number) else { return }
            state.paces[asked.holder, default: Pace()].isLate = true
        }
    }

    func answered(_ asked: Asked, after time: MonotonicTime) {
        state.withLock { state in
            state.underWay.remove(asked.number)
            var pace = state.paces[asked.holder] ?? Pace()
            pace.isLate = false
            pace.usual = pace.usual.map { ($0 * 7 + time) / 8 } ?? time
            state.paces[asked.holder] = pace
        }
    }
}
