import BlockExchange
import Reconciliation
import SyncTestKit
import Testing

@Suite struct KeepNotesTests {
    private static let low = DeviceID(certificateDER: Array("a".utf8))
    private static let high = DeviceID(certificateDER: Array("b".utf8))
    private static let (first, second) = (min(low, high), max(low, high))
    private static let third = DeviceID(certificateDER: Array("c".utf8))

    private static let file = Sample.file("one", Sample.version((Sample.other, 1)))
    private static let newer = Sample.file("two", Sample.version((Sample.other, 2)))

    private func content(_ file: FileInfo) throws -> KeepContent { try #require(KeepContent(file)) }

    /// What another device is promised: only what is here, as it was announced.
    @Test func whatIsPromised() throws {
        let content = try content(Self.file)
        func grants(_ local: LocalVersion?, isUnchanged: Bool = true, of other: KeepContent? = nil) -> Bool {
            var notes = KeepNotes()
            let granted = notes.grant(
                other ?? content, to: Self.first, by: Self.second, local: local, isUnchanged: isUnchanged)
            #expect(notes.given.isEmpty != granted)
            return granted
        }
        #expect(grants(Sample.here(Self.file)))
        #expect(!grants(nil))
        #expect(!grants(Sample.here(Self.file), isUnchanged: false))
        #expect(!grants(Sample.here(Self.newer)))
        #expect(!grants(LocalVersion(file: Self.file, isOnDisk: false)))
        #expect(!grants(Sample.here(Sample.tombstone(Self.file.version))))
        for flag in [LocalVersion.Flags.ignored, .unsupported, .mustRescan, .receiveOnlyChanged] {
            #expect(!grants(Sample.here(Self.file, flag)))
        }
        var other = content
        other.digest = Sample.hash("other")
        #expect(!grants(Sample.here(Self.file), of: other), "other content under the same version")
        other = content
        other.size += 1
        #expect(!grants(Sample.here(Self.file), of: other))
        for item in [Sample.symlink("x", Self.file.version), Sample.directory(Self.file.version)] {
            #expect(!grants(Sample.here(item)))
            #expect(grants(Sample.here(item), of: try self.content(item)))
        }
        #expect(
            !grants(
                Sample.here(Sample.symlink("y", Self.file.version)),
                of: try self.content(Sample.symlink("x", Self.file.version))))
    }

    /// Two ask each other at once: the lower id gets the promise, and the other one's answer comes too late.
    @Test func ofTwoThatAskOneGetsIt() throws {
        let content = try content(Self.file)
        let local = Sample.here(Self.file)
        var (one, other) = (KeepNotes(), KeepNotes())
        let areAsking = (one.ask(Self.second, for: content), other.ask(Self.first, for: content))
        #expect(areAsking == (true, true))
        let grantedToOther = one.grant(content, to: Self.second, by: Self.first, local: local, isUnchanged: true)
        let grantedToOne = other.grant(content, to: Self.first, by: Self.second, local: local, isUnchanged: true)
        #expect(!grantedToOther && grantedToOne)
        other.answered(Self.first, content, isGranted: true)
        #expect(other.words(about: content) == [:], "its request was withdrawn")
        one.answered(Self.second, content, isGranted: grantedToOne)
        #expect(one.words(about: content) == [Self.second: .promised])
        #expect(other.promised(content.version) == [Self.first])
        let asksAgain = other.ask(Self.first, for: content)
        #expect(!asksAgain, "others count on its copy")
    }

    /// Who promises something holds no promise for it any more.
    @Test func whoPromisesLetsOthersGo() throws {
        let content = try content(Self.file)
        var notes = KeepNotes()
        _ = notes.ask(Self.third, for: content)
        notes.answered(Self.third, content, isGranted: true)
        let isGranted = notes.grant(
            content, to: Self.first, by: Self.second, local: Sample.here(Self.file), isUnchanged: true)
        #expect(isGranted)
        #expect(notes.words(about: content) == [:])
        #expect(notes.held[Self.third]?.standing == .released)
        notes.wasReleased(Self.third)
        #expect(notes == KeepNotes(given: [Self.first: content]))
        notes.release(try self.content(Self.newer), by: Self.first)
        #expect(notes.promised(content.version) == [Self.first], "another version was meant")
        notes.release(content, by: Self.first)
        #expect(notes.isEmpty)
    }

    /// What was noted before a start binds others, and counts only when it is heard again.
    @Test func aStartMakesNotesDoubtful() throws {
        let content = try content(Self.file)
        var notes = KeepNotes(given: [Self.third: content])
        for standing in KeepNotes.Standing.allCases {
            notes.held = [Self.first: .init(content, standing)]
            notes.restart()
            #expect(notes.words(about: content) == [:], "\(standing)")
            let expected: KeepNotes.Standing? =
                switch standing {
                case .asked, .released: .released
                case .promised, .earlier: .earlier
                case .verified, .refused, .failed: nil
                }
            #expect(notes.held[Self.first]?.standing == expected)
            #expect(notes.given == [Self.third: content])
        }
    }

    @Test func whatIsOfNoUseGoes() throws {
        let content = try content(Self.file)
        func settled(_ standing: KeepNotes.Standing, _ local: LocalVersion?, _ global: FileInfo) -> KeepNotes {
            var notes = KeepNotes(held: [Self.first: .init(content, standing)], given: [Self.third: content])
            notes.settle(local: local, global: global.version)
            return notes
        }
        // Freed: both stay as they are, but for what was promised of it.
        #expect(settled(.promised, nil, Self.file) == KeepNotes(held: [Self.first: .init(content, .promised)]))
        #expect(settled(.earlier, nil, Self.file).held[Self.first]?.standing == .earlier)
        // Nobody announces it just now, or somebody an older version: it was promised all the same.
        var unknown = KeepNotes(held: [Self.first: .init(content, .promised)])
        for global in [nil, Sample.version((Sample.third, 1))] {
            unknown.settle(local: nil, global: global)
            #expect(unknown == KeepNotes(held: [Self.first: .init(content, .promised)]))
        }
        // Here again.
        #expect(settled(.promised, Sample.here(Self.file), Self.file).held[Self.first]?.standing == .released)
        #expect(settled(.verified, Sample.here(Self.file), Self.file).held.isEmpty)
        #expect(settled(.promised, Sample.here(Self.file), Self.file).given == [Self.third: content])
        // On this disk, and not selected: it was not freed after all, and what was promised binds.
        let extraneous = settled(.promised, Sample.here(Self.file, .ignored), Self.file)
        #expect(extraneous == KeepNotes(held: [Self.first: .init(content, .released)], given: [Self.third: content]))
        // Replaced.
        #expect(
            settled(.earlier, Sample.here(Self.newer), Self.newer)
                == KeepNotes(held: [Self.first: .init(content, .released)]))
        #expect(settled(.asked, nil, Self.newer).held[Self.first]?.standing == .asked)
    }

    /// Any history of requests, lost messages, restarts, restored backups, changes of modes, fetches and edits leaves a copy of the
    /// newest version.
    @Test(arguments: 0..<40 as Range<UInt64>) func aCopyIsAlwaysLeft(block: UInt64) {
        var freed = 0
        for seed in block * 100..<block * 100 + 100 {
            var cluster = KeepCluster(seed: seed)
            for step in 0..<400 {
                cluster.act()
                guard cluster.holders.isEmpty else { continue }
                Issue.record("seed \(seed), step \(step):\n\(cluster.trace.suffix(60).joined(separator: "\n"))")
                return
            }
            freed += cluster.freedCount
        }
        #expect(freed > 150, "where nothing is freed, nothing is tested")
    }

    /// The same finds the loss where bare announcements count.
    @Test func aPlantedFaultIsFound() {
        let lost = (0..<200 as Range<UInt64>).contains { seed in
            var cluster = KeepCluster(seed: seed, countsAnnouncements: true)
            return (0..<400).contains { _ in
                cluster.act()
                return cluster.holders.isEmpty
            }
        }
        #expect(lost)
    }
}
