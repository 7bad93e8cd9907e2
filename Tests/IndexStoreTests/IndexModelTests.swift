import BlockExchange
import GRDB
import SyncTestKit
import Testing

@testable import IndexStore

/// The index against `IndexModel` over random histories.
@Suite struct IndexModelTests {
    static let devices = [alice, bob, carol]
    static let names = [
        "a", "a/b", "a/b/c", "a/b/d", "a/e", "f", "f/g", "f/g/h/i", "f g", "f-g/x", "Ä/ö", "z/1", "z/2", "z/3",
    ]

    @Test(arguments: 0..<12) func randomHistory(seed: UInt64) async throws {
        let index = try await TestIndex()
        var random = SeededGenerator(seed: seed &+ 1000)
        var model = IndexModel()
        /// What a peer that keeps asking for what is new knows of this device.
        var peerView: [String: FileInfo] = [:]
        var peerSequence: Int64 = 0
        /// The same of one that asks now and then.
        var rareView: [String: FileInfo] = [:]
        var rareSequence: Int64 = 0
        var sequence: Int64 = 0
        for step in 0..<40 {
            let device = Self.devices.randomElement(using: &random) ?? alice
            let ignored = model.ignored
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let files = Self.files(using: &random, sequence: &sequence)
                let replacesAll = Int.random(in: 0..<6, using: &random) == 0
                try await index.announce(files, by: device, replacesAll: replacesAll, ignoring: ignored)
                if replacesAll { model.drop(device) }
                for file in files { model.announce(file, by: device) }
            case 5..<8:
                var changes: [LocalChange] = []
                for file in Self.files(using: &random, sequence: &sequence).prefix(3) {
                    if Int.random(in: 0..<3, using: &random) == 0 {
                        changes.append(.forget(file.name))
                        model.forget(file.name)
                    } else {
                        var entry = LocalEntry(file: file)
                        entry.flags = LocalFlags(rawValue: [0, 0, 1, 2, 4, 8].randomElement(using: &random) ?? 0)
                        if Bool.random(using: &random) {
                            entry.status = FileStatus(
                                inode: .max, changedSeconds: Int64(step), changedNanoseconds: 5)
                        }
                        changes.append(.set(entry))
                        entry.file.isInvalid = file.isInvalid || !entry.flags.isEmpty
                        model.local[file.name] = entry
                    }
                }
                try await index.store.applyLocal(in: music, changes) { ignored.contains($0) }
            case 8:
                let ignored = Set(Self.names.filter { _ in Bool.random(using: &random) })
                model.reselect(ignored)
                try await index.store.reselect(music) { ignored.contains($0) }
            default:
                if Bool.random(using: &random) {
                    try await index.store.dropDevice(device)
                } else {
                    let id = IndexID(rawValue: random.next())
                    try await index.store.setRemoteIndex(of: music, device: device, to: id)
                }
                model.drop(device)
            }

            model.had.formIntersection(model.names)
            try await Self.check(index.store, against: model)
            // Paging through everything takes longest: each half of it after every other step.
            if step.isMultiple(of: 2) {
                let kept = Set(Self.names.filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
                try await Self.checkNeed(index.store, against: model, kept: kept, limit: 1 + step % 3)
            } else {
                try await Self.checkDisk(index.store, against: model, limit: 1 + step % 4)
            }
            let updates = try await index.store.localUpdates(of: music, after: peerSequence, limit: 1000)
            for update in updates {
                #expect(update.sequence > peerSequence)
                peerSequence = update.sequence
                peerView[update.name] = update.withoutSequence
            }
            for (name, file) in model.own {
                #expect(peerView[name]?.version == file.version && peerView[name]?.isInvalid == file.isInvalid)
            }
            // Nobody is left with the belief that this device has what it has not.
            for (name, file) in peerView where model.own[name] == nil {
                #expect(file.isInvalid || file.isDeleted, "\(name)")
            }
            guard Int.random(in: 0..<5, using: &random) == 0 else { continue }
            for update in try await index.store.localUpdates(of: music, after: rareSequence, limit: 1000) {
                rareSequence = update.sequence
                rareView[update.name] = update.withoutSequence
            }
            for (name, file) in rareView where model.own[name] == nil {
                #expect(file.isInvalid || file.isDeleted, "\(name), for one that asks rarely")
            }
        }
        // An index from before it was kept what is selected and present gets the same.
        try index.store.close()
        let queue = try DatabaseQueue(path: index.directory.index)
        try await queue.write { database in
            for sum in ["selected", "present"] {
                for column in ["Files", "Symlinks", "Directories", "Bytes"] {
                    try database.execute(sql: "ALTER TABLE aggregate DROP COLUMN \(sum)\(column)")
                }
            }
            // Nor were links on this disk counted.
            try database.execute(sql: "ALTER TABLE folder DROP COLUMN localSymlinks")
            try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier IN ('v5-present', 'v12-links')")
        }
        try queue.close()
        let again = try IndexStore.open(path: index.directory.index)
        try await Self.check(again, against: model)
        #expect(try await again.global(music, "")?.present == model.sum(below: "", of: model.isPresent))
    }

    private static func check(_ store: IndexStore, against model: IndexModel) async throws {
        let listed = model.listed
        let all = try await store.descendants(music, limit: 1000).map(\.withoutSequences)
        #expect(all == listed)
        for directory in ["", "a", "a/b", "f", "f/g", "z"] {
            let expected = listed.filter { entry in
                entry.path.split(separator: "/").dropLast().joined(separator: "/") == directory
            }
            #expect(try await store.children(music, of: directory).map(\.withoutSequences) == expected)
        }
        for name in names {
            let entry = try await store.global(music, name)
            if model.names.contains(name) {
                #expect(entry?.withoutSequences == model.entry(name))
                #expect(try await store.blocks(music, name) == model.winner(of: name)?.blocks)
            } else {
                #expect(entry?.file == nil && entry?.holders.isEmpty != false && entry?.local == nil)
            }
        }
        let totals = try await store.totals(of: music)
        #expect(totals == FolderTotals(global: model.below(""), local: model.localTotal))
        let updates = try await store.localUpdates(of: music, after: 0, limit: 1000)
        #expect(updates.count == model.own.count)
        #expect(updates.map(\.sequence) == updates.map(\.sequence).sorted())
        #expect(
            Dictionary(updates.map { ($0.name, $0.withoutSequence) }, uniquingKeysWith: { _, last in last })
                == model.own)
        for block in UInt64(0)..<3 {
            let expected = model.local.values.filter { entry in
                entry.status != nil && !entry.file.isDeleted && entry.file.blocks.contains { $0.hash == hash(block) }
            }
            let found = try await store.localBlocks(hash(block), in: music, limit: 1000)
            #expect(found.map(\.path).sorted() == expected.map(\.file.name).sorted())
        }
    }

    private static func checkNeed(
        _ store: IndexStore, against model: IndexModel, kept: Set<String>, limit: Int
    ) async throws {
        let mayContain: @Sendable (String) -> Bool = { directory in
            kept.contains { directory.isEmpty || $0.hasPrefix(directory + "/") }
        }
        for directory in ["", "a", "f", "nowhere"] {
            let names = model.names.filter { name in
                kept.contains(name) && (directory.isEmpty || name.hasPrefix(directory + "/"))
            }
            var found: [NeededEntry] = []
            var after: String?
            repeat {
                let page = try await store.needed(
                    in: music, below: directory, after: after, limit: limit, isKept: { kept.contains($0) },
                    mayContain: mayContain)
                #expect(page.entries.count <= limit)
                found += page.entries
                after = page.next
            } while after != nil
            #expect(found.map(\.withoutSequences) == names.compactMap(model.needed))
            let totals = try await store.neededTotals(
                in: music, below: directory, isKept: { kept.contains($0) }, mayContain: mayContain)
            #expect(totals == model.neededTotals(names))
        }
        let asked = Array(names.reversed()) + ["a", "never"]
        let named = try await store.needed(in: music, names: asked) { kept.contains($0) }
        #expect(
            named.map(\.withoutSequences) == names.reversed().filter { kept.contains($0) }.compactMap(model.needed))
    }

    private static func checkDisk(_ store: IndexStore, against model: IndexModel, limit: Int) async throws {
        for directory in ["", "a", "a/b", "f", "f/g", "z", "nowhere"] {
            let below = model.onDisk(below: directory)
            let children = below.filter { entry in
                entry.file.name.split(separator: "/").dropLast().joined(separator: "/") == directory
            }
            var listed: [LocalEntry] = []
            while true {
                let after = listed.last?.file.name.split(separator: "/").last.map(String.init)
                let page = try await store.localChildren(of: music, directory: directory, after: after, limit: limit)
                if page.isEmpty { break }
                listed += page
            }
            #expect(listed.map(\.withoutSequence) == children.map { model.listed($0) })

            let expected = below.map { LocalName(path: $0.file.name, kind: $0.file.kind, flags: $0.flags) }
            for deepestFirst in [false, true] {
                var names: [LocalName] = []
                var after: String?
                repeat {
                    let page = try await store.localDescendants(
                        of: music, below: directory, after: after, limit: limit, deepestFirst: deepestFirst)
                    names += page.entries
                    after = page.next
                } while after != nil
                #expect(names == (deepestFirst ? expected.reversed() : expected))
            }
        }
        for flags: LocalFlags in [.unsupported, [.ignored, .mustRescan], .receiveOnlyChanged] {
            var flagged: [LocalEntry] = []
            var after: Int64?
            repeat {
                let page = try await store.localEntries(in: music, flags: flags, after: after, limit: limit)
                flagged += page.entries
                after = page.next
            } while after != nil
            let expected = model.local.values.filter { !$0.flags.isDisjoint(with: flags) }
            #expect(
                flagged.map(\.withoutSequence).sorted { precedes($0.file.name, $1.file.name) }
                    == expected.map { model.listed($0) }.sorted { precedes($0.file.name, $1.file.name) })
        }
        for content in UInt64(0)..<3 {
            let blocks = [BlockInfo(offset: 0, size: 1, hash: hash(content))]
            let expected = model.onDisk(below: "").filter { entry in
                entry.file.kind == .file && entry.file.blocks.map(\.hash) == [hash(content)]
            }
            let found = try await store.localFiles(in: music, withBlocks: blocks, limit: 100)
            #expect(
                found.map(\.withoutSequence)
                    == expected.map { model.listed($0, hasHash: true) }
                    .sorted { $0.file.name.utf8.lexicographicallyPrecedes($1.file.name.utf8) })
        }
        let copies = try await store.localCopies(of: music, names: names, limit: 100)
        for (name, copies) in zip(names, copies) {
            let winner = model.winner(of: name)
            let isFile = winner?.kind == .file && winner?.isDeleted == false
            let expected = model.onDisk(below: "").filter { entry in
                isFile && entry.file.kind == .file && entry.file.blocks.first?.hash == winner?.blocks.first?.hash
            }
            #expect(Set(copies.map(\.file.name)) == Set(expected.map(\.file.name)))
        }
    }

    /// Some files of any state, versions close together, so that all relations between them occur.
    private static func files(using random: inout SeededGenerator, sequence: inout Int64) -> [FileInfo] {
        (0..<Int.random(in: 1...8, using: &random)).map { _ in
            sequence += 1
            let name = names.randomElement(using: &random) ?? "a"
            let version = VersionVector(
                devices.compactMap { device in
                    let value = UInt64.random(in: 0...2, using: &random)
                    return value == 0 ? nil : .init(id: device.shortID, value: value)
                })
            let modified = Int64.random(in: 0...3, using: &random)
            var info =
                switch Int.random(in: 0..<7, using: &random) {
                case 0: deleted(name, version, modified: modified, sequence: sequence)
                case 1: IndexStoreTests.directory(name, version, sequence: sequence)
                case 2: link(name, version, modified: modified, sequence: sequence)
                default:
                    file(
                        name, version, size: Int64.random(in: 1...100, using: &random), modified: modified,
                        sequence: sequence, content: UInt64.random(in: 0..<3, using: &random))
                }
            info.isInvalid = Int.random(in: 0..<5, using: &random) == 0
            return info
        }
    }

    /// The state does not hang on the order in which devices are heard, nor on how their entries are batched.
    @Test(arguments: 0..<8) func orderIsIrrelevant(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed &+ 5000)
        var sequence: Int64 = 0
        var said: [(DeviceID, FileInfo)] = []
        for device in Self.devices {
            for _ in 0..<4 {
                for file in Self.files(using: &random, sequence: &sequence)
                where !said.contains(where: { $0.0 == device && $0.1.name == file.name }) {
                    said.append((device, file))
                }
            }
        }
        let ignored = Set(Self.names.filter { _ in Bool.random(using: &random) })
        var results: [([GlobalEntry], [FileInfo])] = []
        for round in 0..<3 {
            let index = try await TestIndex()
            if round > 0 { said.shuffle(using: &random) }
            if round == 2 {
                for device in Self.devices {
                    try await index.announce(said.filter { $0.0 == device }.map(\.1), by: device, ignoring: ignored)
                }
            } else {
                for (device, file) in said { try await index.announce([file], by: device, ignoring: ignored) }
            }
            let updates = try await index.store.localUpdates(of: music, after: 0, limit: 1000)
            results.append(
                (
                    try await index.store.descendants(music, limit: 1000),
                    updates.map(\.withoutSequence).sorted { precedes($0.name, $1.name) }
                ))
        }
        #expect(results[0].0 == results[1].0 && results[0].0 == results[2].0)
        #expect(results[0].1 == results[1].1 && results[0].1 == results[2].1)
    }
}
