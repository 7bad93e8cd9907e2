import FileAccess
import Foundation
import SyncTestKit
import Synchronization
import Testing

/// The faults themselves: a simulation on a disk that never fails proves nothing.
@Suite final class FaultyDiskTests {
    private let home: String
    private let lines = Lines()

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    init() throws {
        let manager = FileManager.default
        home = manager.temporaryDirectory.resolvingSymlinksInPath().path + "/faulty-disk-\(UUID().uuidString)"
        for name in ["root", "trash"] {
            try manager.createDirectory(atPath: "\(home)/\(name)", withIntermediateDirectories: true)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: home) }

    private func disk(seed: UInt64 = 1) throws -> (disk: FaultyDisk, root: RootDirectory) {
        let disk = FaultyDisk(
            root: "\(home)/root", trash: "\(home)/trash", seed: seed, note: lines.add, check: { _, _ in }, died: {})
        return (disk, try RootDirectory(path: "\(home)/root", interposer: disk))
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

    private func commit(_ text: String, to name: String, in root: RootDirectory, _ durability: Durability) throws {
        let staged = try root.stage(try path(name), resuming: false)
        try staged.write(Array(text.utf8), at: 0)
        _ = try staged.commit(replacing: .anything, permissions: nil, modified: nil, durability: durability)
    }

    private func text(_ name: String) -> String? {
        try? String(contentsOfFile: "\(home)/root/\(name)", encoding: .utf8)
    }

    private func code(_ body: () throws -> Void) -> FileAccessError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FileAccessError)?.code
        }
    }

    @Test func aFullDiskTakesNothingNewAndLetsGo() throws {
        let (disk, root) = try disk()
        try commit("old", to: "f", in: root, .immediate)
        disk.condition = .full
        #expect(code { try commit("new", to: "g", in: root, .immediate) } == .noSpace)
        #expect(code { _ = try root.createDirectories(try path("d")) } == .noSpace)
        #expect(try root.remove(try path("f"), expecting: nil))
        disk.condition = .healthy
        try commit("new", to: "g", in: root, .immediate)
        #expect(text("f") == nil && text("g") == "new")
    }

    @Test func afterItsDeathAProcessChangesNothing() throws {
        let (disk, root) = try disk()
        disk.plan(.killed, after: 3)
        #expect(code { for name in ["a", "b", "c", "d"] { try commit(name, to: name, in: root, .immediate) } } == .io)
        #expect(disk.isDead)
        let there = try FileManager.default.contentsOfDirectory(atPath: "\(home)/root")
        #expect(code { try commit("e", to: "e", in: root, .immediate) } == .io)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(home)/root") == there)
        #expect(disk.restart().isEmpty)
        try commit("e", to: "e", in: root, .immediate)
        #expect(text("e") == "e")
    }

    /// Over some seeds each kind of loss is seen; what was made durable is there in all of them.
    @Test func powerTakesWhatIsNotDurableAndNothingElse() throws {
        var losses: Set<String> = []
        for seed in UInt64(1)...20 {
            let (disk, root) = try disk(seed: seed)
            try commit("durable", to: "kept", in: root, .immediate)
            try commit("before", to: "replaced", in: root, .immediate)
            try commit("gone", to: "removed", in: root, .immediate)
            try root.synchronizeFileSystem()
            try commit("after", to: "replaced", in: root, .deferred)
            try root.remove(try path("removed"), expecting: nil, durability: .deferred)
            let durable = ["kept", "replaced", "removed"].filter { disk.isDurable("\(home)/root/\($0)") }
            #expect(durable == ["kept"])
            disk.kill(.powerLost)
            _ = disk.restart()
            #expect(text("kept") == "durable")
            losses.insert("replaced: \(text("replaced") ?? "nothing")")
            losses.insert("removed: \(text("removed") ?? "nothing")")
            for place in ["root", "trash"] {
                for name in try FileManager.default.contentsOfDirectory(atPath: "\(home)/\(place)") {
                    try FileManager.default.removeItem(atPath: "\(home)/\(place)/\(name)")
                }
            }
        }
        #expect(losses.isSuperset(of: ["replaced: after", "replaced: before", "removed: gone", "removed: nothing"]))
        #expect(losses.contains { $0.hasPrefix("replaced: ") && !$0.hasSuffix("after") && !$0.hasSuffix("before") })
    }

    @Test func whatIsSynchronizedIsDurable() throws {
        for seed in UInt64(1)...20 {
            let (disk, root) = try disk(seed: seed)
            try commit("one", to: "f\(seed)", in: root, .deferred)
            try root.synchronizeFileSystem()
            try commit("two", to: "g\(seed)", in: root, .immediate)
            disk.kill(.powerLost)
            #expect(disk.restart().isEmpty)
            #expect(text("f\(seed)") == "one" && text("g\(seed)") == "two")
        }
    }
}
