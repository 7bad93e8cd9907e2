import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct StandingTests {
    static let one = version((alice, 1))
    static let two = version((alice, 2))

    /// What alice and bob announce of a name, and whether bob has yet to get it.
    static let table: [(String, FileInfo?, FileInfo?, Bool)] = [
        ("he has said nothing", file("f", one), nil, true),
        ("he has an older one", file("f", two), file("f", one), true),
        ("he has it", file("f", two), file("f", two), false),
        ("he knows it and does not keep it", file("f", two), file("f", two).asInvalid, false),
        ("he does not keep an older one", file("f", two), file("f", one).asInvalid, true),
        ("his is the newest", file("f", one), file("f", two), false),
        ("deleted, and he never had it", deleted("f", one), nil, false),
        ("deleted, and he has it", deleted("f", two), file("f", one), true),
        ("deleted, by him too", deleted("f", two), deleted("f", one), false),
        ("nobody vouches for it", file("f", one).asInvalid, nil, false),
        ("a version nobody counted up", file("f", VersionVector()), nil, false),
        ("a directory", directory("f", one), nil, true),
    ]

    @Test(arguments: table.indices) func anotherDevicesNeed(_ number: Int) async throws {
        let (label, announced, his, expected) = Self.table[number]
        let index = try await TestIndex()
        if let announced { try await index.announce([announced], by: alice) }
        if let his { try await index.announce([his], by: bob) }
        let page = try await index.store.needed(by: bob, in: music, limit: 10)
        #expect(page.entries.map(\.path) == (expected ? ["f"] : []), "\(label)")
        #expect(page.next == nil)
        let completion = try await index.store.completion(of: music)
        let part = completion.devices[bob] ?? DeviceCompletion()
        let isMissing = completion.missing(of: part).count + part.deletions > 0
        #expect(isMissing == expected, "\(label)")
    }

    @Test func standingsAreWhatTheOthersSaid() async throws {
        let index = try await TestIndex()
        try await index.announce([file("d/f", Self.two)], by: carol)
        try await index.announce([file("d/f", Self.one)], by: alice)
        #expect(
            try await index.store.standings(in: music, of: "d/f").map(\.file.version)
                == [(alice, Self.one), (carol, Self.two)].sorted { $0.0 < $1.0 }.map(\.1))
        #expect(try await index.store.standings(in: music, of: "d/g") == [])
    }

    /// Against a sum made by hand, over pages and ranges, with sizes as large as numbers get.
    @Test(arguments: 0..<12 as Range<UInt64>) func completionIsTheSumOfWhatWasSaid(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let index = try await TestIndex()
        var said: [String: [DeviceID: FileInfo]] = [:]
        for name in (0..<40).map({ "d\($0 % 3)/f\($0)" }) {
            for device in [alice, bob, carol] where Bool.random(using: &random) {
                var entry = file(name, version((alice, UInt64.random(in: 1...3, using: &random))))
                entry.blocks = []
                entry.size = Bool.random(using: &random) ? .max : Int64.random(in: 0...9, using: &random)
                if Int.random(in: 0..<5, using: &random) == 0 { entry = entry.asInvalid }
                said[name, default: [:]][device] = entry
                try await index.announce([entry], by: device)
            }
        }
        var expected = FolderCompletion()
        for (_, entries) in said {
            let valid = entries.values.filter { !$0.isInvalid }
            guard let winner = valid.max(by: { $0.version.compare($1.version) == .lesser }) else { continue }
            // Of equal versions the one of the lowest device counts; all have one size here only by chance.
            let top = entries.filter { !$0.value.isInvalid && $0.value.version == winner.version }
            guard let size = top.min(by: { $0.key < $1.key })?.value.size else { continue }
            let sum = Aggregate(files: 1, bytes: size)
            expected.global += sum
            for (device, entry) in entries where entry.version == winner.version {
                if entry.isInvalid {
                    expected.devices[device, default: DeviceCompletion()].notKept += sum
                } else {
                    expected.devices[device, default: DeviceCompletion()].held += sum
                }
            }
        }
        let whole = try await index.store.completion(of: music)
        #expect(whole.global == expected.global)
        for device in [alice, bob, carol] {
            let part = whole.devices[device] ?? DeviceCompletion()
            #expect(part.held == expected.devices[device]?.held ?? .zero, "seed \(seed)")
            #expect(part.notKept == expected.devices[device]?.notKept ?? .zero, "seed \(seed)")
            var named = Set<String>()
            var after: String?
            repeat {
                let page = try await index.store.needed(by: device, in: music, after: after, limit: 3)
                named.formUnion(page.entries.map(\.path))
                after = page.next
            } while after != nil
            #expect(Int64(named.count) == whole.missing(of: part).files, "seed \(seed)")
        }
        var below = FolderCompletion()
        for directory in ["d0", "d1", "d2"] {
            let part = try await index.store.completion(of: music, below: directory)
            below.global += part.global
        }
        #expect(below.global == expected.global)
    }

    @Test func aDirectoryIsTakenOutOfTheSums() async throws {
        let index = try await TestIndex()
        try await index.announce(
            [directory("d", Self.two), file("d/f", Self.two), link("d/l", Self.two), link("l", Self.two)], by: alice)
        try await index.announce(
            [file("d/f", Self.one), link("d/l", Self.two).asInvalid, link("l", Self.two)], by: bob)
        var completion = try await index.store.completion(of: music)
        #expect(completion.global == Aggregate(files: 1, symlinks: 2, directories: 1, bytes: 10))
        completion.subtract(try await index.store.completion(of: music, below: "d", includesItself: true))
        #expect(completion.global == Aggregate(symlinks: 1))
        #expect(completion.devices[alice] == DeviceCompletion(held: Aggregate(symlinks: 1)))
        #expect(completion.devices[bob] == DeviceCompletion(held: Aggregate(symlinks: 1)))
        completion.subtract(try await index.store.completion(of: music, below: "none", includesItself: true))
        #expect(completion.global == Aggregate(symlinks: 1))
    }

    /// What this device has of a file that it does not select, and whether its newest version is here.
    static let unselected: [(String, FileInfo, LocalFlags, Bool, Bool)] = [
        ("fetched", file("d/f", two), .ignored, true, true),
        ("gone since", file("d/f", two), .ignored, false, false),
        ("an older version", file("d/f", one), .ignored, true, false),
        // As a plan leaves it when another device changes the file: see `Reconciler`.
        ("older bytes under the newest version", file("d/f", two, content: 7), .ignored, true, false),
        ("bytes that nobody knows", file("d/f", two).asInvalid, .ignored, true, false),
        ("to be scanned", file("d/f", two), [.ignored, .mustRescan], true, false),
    ]

    @Test(arguments: unselected.indices) func whatIsHereCountsThoughNotSelected(_ number: Int) async throws {
        let (label, mine, flags, isOnDisk, isHere) = Self.unselected[number]
        let index = try await TestIndex()
        try await index.announce(
            [directory("d", Self.two), file("d/f", Self.two)], by: alice, ignoring: ["d", "d/f"])
        let status = FileStatus(inode: 1, changedSeconds: 1, changedNanoseconds: 0)
        let local = LocalEntry(file: mine, flags: flags, status: isOnDisk ? status : nil)
        try await index.store.applyLocal(in: music, [.set(local)]) { _ in true }
        let held = isHere ? Aggregate(files: 1, bytes: 10) : .zero
        for completion in [
            try await index.store.completion(of: music), try await index.store.completion(of: music, below: "d"),
        ] {
            #expect(completion.here.held == held, "\(label)")
            if isHere { #expect(completion.here.notKept == .zero, "\(label)") }
        }
        let found = try await index.store.search("", filter: NameFilter(place: .here)).entries.map(\.path)
        #expect(found == (isHere ? ["d/f"] : []), "\(label)")
        let missing = try await index.store.search("", filter: NameFilter(place: .offline([]))).entries.map(\.path)
        #expect(missing == (isHere ? [] : ["d/f"]), "\(label)")
    }

    @Test func whoHasToldIsKnown() async throws {
        let index = try await TestIndex()
        try await index.store.setRemoteIndex(of: music, device: bob, to: IndexID(rawValue: 7))
        try await index.announce([file("f", Self.one)], by: bob)
        #expect(try await index.store.announcers(of: music) == [bob])
        #expect(try await index.store.completion(of: music).devices[alice] == nil)
    }
}
