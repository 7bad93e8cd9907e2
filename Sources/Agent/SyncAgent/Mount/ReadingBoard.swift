import Arithmetic
import AsyncTools
import BlockExchange
import ControlAPI
import SyncDecisions
import Synchronization

/// Which programs read, in one mount, what is not on this disk.
final class ReadingBoard: Sendable {
    private struct Program {
        var name: String
        var path: String
        var files = 0
        var open = 0
        var bytes: Int64 = 0
        var rate: TransferRate
        var last: MonotonicTime
    }

    /// A program that reads one small file after the other has none open for moments.
    private static let pause: MonotonicTime = .seconds(2)
    /// Programs that are remembered; of more the one that read longest ago is forgotten.
    private static let limit = 200

    private let now: @Sendable () -> MonotonicTime
    private let programs = Mutex<[Int32: Program]>([:])

    init(now: @escaping @Sendable () -> MonotonicTime) { self.now = now }

    func opened(_ path: String, by program: RunningProgram) {
        let now = now()
        programs.withLock { programs in
            var entry =
                programs[program.process].flatMap { $0.name == program.name ? $0 : nil }
                ?? Program(name: program.name, path: path, rate: TransferRate(begun: now), last: now)
            (entry.path, entry.last) = (path, now)
            entry.files.addClamped(1)
            entry.open.addClamped(1)
            if programs[program.process] == nil, programs.count >= Self.limit,
                let oldest = programs.min(by: { $0.value.last < $1.value.last })
            {
                programs[oldest.key] = nil
            }
            programs[program.process] = entry
        }
    }

    func read(_ path: String, _ byteCount: Int, by process: Int32) {
        let now = now()
        programs.withLock { programs in
            programs[process]?.path = path
            programs[process]?.last = now
            programs[process]?.bytes.addClamped(Int64(byteCount))
            programs[process]?.rate.add(Int64(byteCount), at: now)
        }
    }

    func closed(by process: Int32) {
        programs.withLock { programs in
            guard let open = programs[process]?.open else { return }
            programs[process]?.open = max(0, open - 1)
        }
    }

    /// Those that read now, the one that read last first, at most `MountStatus.readerLimit`; and how many there are beyond.
    var all: (readers: [MountReading], more: Int) {
        let now = now()
        let found = programs.withLock { programs in
            programs = programs.filter { $0.value.open > 0 || now - $0.value.last < Self.pause }
            return programs.sorted { $0.value.last > $1.value.last }
        }
        let shown = found.prefix(MountStatus.readerLimit).map { process, program in
            MountReading(
                program: program.name, process: Int(process), path: program.path, files: program.files,
                bytes: program.bytes,
                bytesPerSecond: program.rate.bytesPerSecond(at: now) ?? 0)
        }
        return (shown, found.count - shown.count)
    }
}
