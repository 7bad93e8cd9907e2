import BlockExchange
import SyncTestKit
import Testing

@testable import Reconciliation

@Suite struct ConflictPolicyTests {
    typealias S = Sample

    private static let mine = S.version((S.other, 1), (S.me, 5))
    private static let theirs = S.version((S.other, 2))

    private func decide(
        _ local: LocalVersion, _ global: FileInfo, _ policy: ConflictPolicy, deleted: ConflictPolicy = .newest,
        kind: FolderKind = .sendReceive
    ) -> Action {
        var rules = S.rules(kind)
        rules.conflictPolicy = policy
        rules.deletionPolicy = deleted
        return Reconciler.decide(local: local, global: global, isKept: true, rules: rules, unixSeconds: 7000)
    }

    @Test func whoLosesDecides() throws {
        let local = S.here(S.file("one", Self.mine, by: S.me))
        let global = S.file("two", Self.theirs, modified: 200)
        for policy in [ConflictPolicy.newest, .both, .command] {
            #expect(decide(local, global, policy) == .fetch(global, replacing: .conflicting(local)))
        }
        #expect(decide(local, global, .theirs) == .fetch(global, replacing: .replaced(local)))
        guard case .record(let kept) = decide(local, global, .mine) else {
            Issue.record("mine is not kept")
            return
        }
        #expect(kept.file.version == S.version((S.other, 2), (S.me, 7000)))
        #expect(kept.file.blocksHash == S.hash("one"))
        #expect(kept.isOnDisk && kept.isValid)
        #expect(kept.file.modifiedBy == S.me)
        // What others get is a successor of both: nobody has a conflict any more.
        #expect(kept.file.hasSeen(local.file) && kept.file.hasSeen(global))
    }

    @Test(arguments: [ConflictPolicy.mine, .theirs])
    func noPolicyChangesWhatIsNoConflict(_ policy: ConflictPolicy) {
        let older = S.here(S.file("one", S.version((S.other, 1))))
        let global = S.file("two", Self.theirs)
        #expect(decide(older, global, policy) == .fetch(global, replacing: .replaced(older)))
        let gone = S.tombstone(Self.theirs)
        #expect(decide(older, gone, policy, deleted: policy) == .delete(older, tombstone: gone, keepsCopy: false))
        // Equal contents are no conflict.
        let same = S.here(S.file("two", Self.mine))
        #expect(decide(same, global, policy) == .record(S.here(global)))
    }

    @Test func foldersThatGoOneWayHaveNoPolicy() {
        let local = S.here(S.file("one", Self.mine), .receiveOnlyChanged)
        let global = S.file("two", Self.theirs)
        for policy in ConflictPolicy.allCases {
            #expect(
                decide(local, global, policy, kind: .receiveOnly) == .fetch(global, replacing: .conflicting(local)))
        }
    }

    @Test func aDeletionIsInsistedOnByWhoDeleted() throws {
        var tombstone = S.tombstone(Self.mine, modified: 500)
        tombstone.modifiedBy = S.me
        let local = S.here(tombstone)
        let global = S.file("two", Self.theirs, modified: 300)
        for policy in [ConflictPolicy.newest, .theirs, .both, .command] {
            #expect(decide(local, global, .mine, deleted: policy) == .fetch(global, replacing: .nothing))
        }
        guard case .record(let gone) = decide(local, global, .newest, deleted: .mine) else {
            Issue.record("the deletion is not insisted on")
            return
        }
        #expect(gone.file.isDeleted && !gone.isOnDisk)
        #expect(gone.file.hasSeen(global) && gone.file.hasSeen(local.file))
        // Older than the file: whoever has it, under whatever version, does not announce it again.
        #expect(gone.file.modifiedSeconds < global.modifiedSeconds)
        // Who only heard of the deletion has no say.
        tombstone.modifiedBy = S.third
        #expect(
            decide(S.here(tombstone), global, .newest, deleted: .mine) == .fetch(global, replacing: .nothing))
    }

    /// Another device says that this one deleted. It is followed, as any deletion, and nobody here insists on it later.
    @Test func aDeletionThatOthersSayIsMineIsNotInsistedOn() throws {
        var forged = S.tombstone(S.version((S.other, 1), (S.me, 9)), modified: 500)
        forged.modifiedBy = S.me
        let edited = S.file("two", Self.theirs, modified: 300)
        let local = S.here(S.file("one", S.version((S.other, 1), (S.me, 5)), by: S.me))
        guard case .delete(_, .some(let taken), keepsCopy: false) = decide(local, forged, .newest, deleted: .mine)
        else {
            Issue.record("the deletion is not followed")
            return
        }
        #expect(taken.version == forged.version && taken.isDeleted)
        #expect(decide(S.here(taken), edited, .newest, deleted: .mine) == .fetch(edited, replacing: .nothing))
        // The same where another deletion was here.
        guard
            case .record(let recorded) = decide(
                S.here(S.tombstone(S.version((S.other, 1)))), forged, .newest, deleted: .mine)
        else {
            Issue.record("the deletion is not taken over")
            return
        }
        #expect(decide(recorded, edited, .newest, deleted: .mine) == .fetch(edited, replacing: .nothing))
        // One that names somebody else is taken over as it is.
        forged.modifiedBy = S.third
        #expect(
            decide(local, forged, .newest, deleted: .mine) == .delete(local, tombstone: forged, keepsCopy: false))
    }

    /// Devices with any policies end with one answer, and whatever anybody wrote is somewhere, or was put into an archive.
    @Test func devicesWithDifferentPoliciesConverge() {
        for seed in UInt64(0)..<300 {
            var random = SeededGenerator(seed: seed ^ 0x5eed)
            var cluster = Cluster(Int(seed % 3) + 2, seed: seed)
            for index in cluster.replicas.indices {
                cluster.replicas[index].rules.conflictPolicy = random.pick(ConflictPolicy.allCases)
                cluster.replicas[index].rules.deletionPolicy = random.pick(ConflictPolicy.allCases)
            }
            if seed % 5 == 0 { cluster.replicas[0].isSyncthing2 = true }
            let policies = cluster.replicas.map { "\($0.rules.conflictPolicy)/\($0.rules.deletionPolicy)" }
            do {
                for _ in 0..<18 {
                    try cluster.act()
                    for _ in 0..<cluster.random.int(0...3) { try cluster.step() }
                }
                try cluster.settle()
            } catch {
                Issue.record("seed \(seed), \(policies): \(error)\n\(cluster.log.joined(separator: "\n"))")
                return
            }
            let archived = cluster.replicas.reduce(into: Set<String>()) { $0.formUnion($1.archive) }
            let lost = Set(cluster.lost).subtracting(archived)
            let differences = cluster.differences(Array(cluster.replicas.indices))
            guard lost.isEmpty, differences.isEmpty else {
                Issue.record(
                    "seed \(seed), \(policies): lost \(lost), differ \(differences)\n\(cluster.log.joined(separator: "\n"))"
                )
                return
            }
        }
    }

    @Test(
        arguments: [
            ("AAAAAAA", 5, 3, ConflictSide.original), ("AAAAAAA", 3, 3, .copy), ("AAAAAAA", nil, 3, .original),
        ] as [(String, UInt64?, UInt64, ConflictSide)])
    func mineIsWhatThisDeviceHad(winner: String, author: UInt64?, device: UInt64, side: ConflictSide) {
        let device = ShortID(rawValue: device << 59)
        #expect(
            ConflictSide.mine(winner: winner, author: author.map { ShortID(rawValue: $0 << 59) }, device: device)
                == side)
        #expect(ConflictSide.mine(winner: device.description, author: device, device: device) == .original)
    }

    @Test(arguments: [
        ("d/a.sync-conflict-20261121-140305-AAAAAAA.txt", "laptop", "d/a (laptop).txt"),
        ("a.sync-conflict-20261121-140305-AAAAAAA", "a/b\n", "a (a-b-)"), ("a.txt", "x", "a (x).txt"),
    ])
    func ordinaryNames(copy: String, label: String, name: String) {
        #expect(ConflictName.ordinary(for: copy, label: label) == name)
        #expect(!ConflictName.isCopy(name))
        let second = ConflictName.ordinary(for: copy, label: label) { $0 == name }
        #expect(second == name.replacing(")", with: " 2)"))
    }

    @Test func theWinnerIsInTheName() {
        #expect(ConflictName.winner(of: "d/a.sync-conflict-20261121-140305-ABC2345.txt") == "ABC2345")
        #expect(ConflictName.winner(of: "a.sync-conflict-20261121-140305-ABC2345") == "ABC2345")
        #expect(ConflictName.winner(of: "a.sync-conflict-2026-140305-ABC2345.txt") == nil)
    }
}
