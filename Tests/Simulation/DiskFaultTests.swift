import FileAccess
import Foundation
import Glibc
import SyncTestKit
import Testing

@testable import FolderSync

/// Disks that refuse: the folder stays as it is and says why, tries again later and later, and goes on when it can.
@Suite struct DiskFaultTests {
    private static let faults: [(number: CInt, words: String)] = [
        (ENOSPC, "the disk is full"), (EDQUOT, "quota is exceeded"), (EIO, "disk error"),
        (EROFS, "mounted read-only"), (EMFILE, "too many open files"),
    ]

    /// What the second agent's status says.
    private func words(_ agent: SimulatedAgent) throws -> [String] {
        let snapshot = try #require(agent.process).folder.boards.status.snapshot
        return snapshot.problems.values.map(\.english) + [snapshot.halt?.message].compactMap { $0 }
    }

    @Test(arguments: faults) func theFolderStaysWholeAndSaysWhy(fault: (number: CInt, words: String)) async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for name in ["replaced", "removed", "moved"] { #expect(first.files.write(Array(name.utf8), to: name)) }
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])

            #expect(first.files.makeDirectory("d"))
            #expect(first.files.write(Array("small".utf8), to: "d/small"))
            #expect(first.files.write([UInt8](repeating: 7, count: 300_000), to: "large"))
            #expect(first.files.write(Array("new".utf8), to: "replaced"))
            #expect(first.files.makeSymlink("link", target: "d"))
            #expect(first.files.remove("removed") && first.files.rename("moved", to: "d/moved"))
            let before = second.files.tree()
            try await simulation.tell(first, second)
            second.disk.condition = .refusing(fault.number)

            // Each try comes later than the one before it.
            var pauses: [Duration] = []
            var last = simulation.time.now
            for _ in 0..<400 {
                await simulation.pass(.seconds(1))
                let changes = simulation.trace.changeCount
                await simulation.inProcess(of: second) { while await $0.folder.runner.performDue() {} }
                guard simulation.trace.changeCount != changes else { continue }
                pauses.append(simulation.time.now - last)
                last = simulation.time.now
            }
            #expect(pauses.count < 10 && pauses.count > 2, "\(pauses)")
            let words = try words(second)
            #expect(words.contains { $0.contains(fault.words) }, "\(words)")
            // Only where nothing new fits may what goes have gone.
            for (name, item) in second.files.tree() where before[name] != nil { #expect(item == before[name]) }
            #expect(second.files.read("replaced") == Array("replaced".utf8))
            #expect(try await simulation.indexProblems(of: second) == [])

            second.disk.condition = .healthy
            await simulation.pass(.seconds(700))
            await simulation.inProcess(of: second) { while await $0.folder.runner.performDue() {} }
            #expect(try await simulation.settle() == [])
            #expect(second.files.tree() == first.files.tree())
            #expect(second.files.allNames(all: true).allSatisfy { RelativePath($0)?.isTemporary == false })
            #expect(try self.words(second) == [])
        }
    }

    /// From some moment on all calls fail, then the power is lost: what the disk still showed of a file that came, and has lost
    /// now, was not deleted by its user.
    @Test func whatADiskLosesAfterItFailedIsNotDeleted() async throws {
        var failures = 0
        for moment in 1..<60 {
            let failed = Flag()
            try await Simulation.run(seed: UInt64(moment), weather: .init(agentCount: 2)) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(first.files.makeDirectory("d"))
                for name in ["f", "d/g"] { #expect(first.files.write(Array(name.utf8), to: name)) }
                #expect(try await simulation.settle() == [])
                for name in ["e", "d/f"] { #expect(first.files.write(Array(name.utf8), to: name)) }
                #expect(first.files.write(Array("new".utf8), to: "f"))
                simulation.hideRealTimes(first)
                let wanted = first.files.tree()
                try await simulation.tell(first, second)
                second.disk.planFailure(EIO, after: moment, isLasting: true)
                for _ in 0..<3 {
                    await simulation.inProcess(of: second) { while await $0.folder.runner.performDue() {} }
                    await simulation.pass(.seconds(10))
                }
                let noted = try await second.process?.index.placing(in: SimulatedAgent.folder) ?? [:]
                if second.disk.endFailure() != nil {
                    failed.set()
                    let words = try words(second)
                    #expect(noted.isEmpty || words.contains { $0.contains("disk error") }, "after \(moment): \(words)")
                }
                second.disk.kill(.powerLost)
                await second.drop()
                #expect(try await simulation.settle() == [])
                #expect(first.files.tree() == wanted && second.files.tree() == wanted, "after \(moment)")
                #expect(simulation.trace.violations == [])
            }
            if failed.isSet { failures += 1 } else { break }
        }
        #expect(failures > 10, "it failed \(failures) times only")
    }

    /// What its user has just saved, and another device has heard of, is still there after a loss of power: were it not, the
    /// other would take its loss for a deletion, or for an edit. What was removed stays removed. What nobody has heard of may be
    /// lost, and nothing else.
    @Test(arguments: 1...12) func whatIsAnnouncedSurvivesALossOfPower(seed: UInt64) async throws {
        try await Simulation.run(seed: seed, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for name in ["a", "b", "removed"] { #expect(first.files.write(Array(name.utf8), to: name)) }
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])

            #expect(first.disk.removeAsUser("\(first.files.root)/removed"))
            func save(_ text: String, at name: String) {
                let isNew = first.files.status(name) == nil
                #expect(first.files.write(Array(text.utf8), to: name))
                first.disk.writtenByUser("\(first.files.root)/\(name)", isNew: isNew)
            }
            #expect(first.files.makeDirectory("d"))
            first.disk.writtenByUser("\(first.files.root)/d", isNew: true)
            save("a longer text", at: "a")
            for number in 0..<(seed % 2 == 0 ? 1 : 20) { save("text \(number)", at: "d/\(number)") }
            save("new", at: "n")
            simulation.hideRealTimes(first)
            var saved = first.files.tree()
            try await simulation.tell(first, second)
            save("a longer text that nobody has heard of", at: "b")
            first.disk.kill(.powerLost)
            await first.drop()
            #expect(try await simulation.settle() == [])
            var tree = first.files.tree()
            #expect(second.files.tree() == tree)
            (tree["b"], saved["b"]) = (nil, nil)
            #expect(tree == saved)
        }
    }

    /// A disk that cannot be written out: nothing is announced, and the folder says why, until it can be.
    @Test func whatADiskCannotWriteOutIsNotAnnounced() async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            #expect(first.files.write(Array("a".utf8), to: "a"))
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])

            #expect(first.files.write(Array("new".utf8), to: "n"))
            first.disk.condition = .refusing(EIO)
            try await simulation.looks(first)
            #expect(try await first.process?.index.local(SimulatedAgent.folder, "n") == nil)
            #expect(try words(first).contains { $0.contains("disk error") })
            await simulation.inProcess(of: first) { process in
                let scanned = try? await process.folder.runner.perform(ScanStep())
                #expect(scanned?.changed == 0 && scanned?.problems == 1 && scanned?.problemList.map(\.path) == ["n"])
            }
            first.disk.condition = .healthy
            await simulation.pass(.seconds(10))
            // It is looked at again without anybody asking.
            await simulation.inProcess(of: first) { _ = await $0.folder.runner.performDue() }
            #expect(try await first.process?.index.local(SimulatedAgent.folder, "n") != nil)
            #expect(try await simulation.settle() == [])
            #expect(second.files.read("n") == Array("new".utf8))
            #expect(try words(first) == [])
        }
    }

    /// The disk with the folder is unmounted: what is there then is an empty directory, or nothing.
    @Test(arguments: [true, false]) func nothingIsTakenForDeletedWhenTheDiskIsGone(hasMountPoint: Bool) async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            for name in ["a", "b"] { #expect(first.files.write(Array(name.utf8), to: name)) }
            try await simulation.looks(first)
            #expect(try await simulation.settle() == [])
            let before = first.files.tree()

            let (root, away) = (second.files.root, second.files.root + "-away")
            #expect(rename(root, away) == 0)
            if hasMountPoint { #expect(mkdir(root, 0o755) == 0) }
            #expect(first.files.write(Array("new".utf8), to: "c"))
            try await simulation.tell(first, second)
            for _ in 0..<3 {
                second.process?.folder.boards.inbox.scanEverything()
                simulation.time.advance(by: .seconds(100))
                await simulation.inProcess(of: second) { while await $0.folder.runner.performDue() {} }
            }
            let process = try #require(second.process)
            #expect(
                process.folder.boards.status.snapshot.halt?.reason == (hasMountPoint ? .markerMissing : .rootMissing))
            #expect(second.files.allNames() == [])
            let announced = try await process.folder.exchange.updates(after: 0, limit: 1000)
            #expect(announced.allSatisfy { !$0.isDeleted })

            if hasMountPoint { #expect(rmdir(root) == 0) }
            #expect(rename(away, root) == 0)
            simulation.time.advance(by: .seconds(100))
            #expect(try await simulation.settle() == [])
            #expect(first.files.tree() == second.files.tree())
            #expect(Set(first.files.tree().keys) == Set(before.keys).union(["c"]))
            #expect(process.folder.boards.status.snapshot.halt == nil)
        }
    }
}
