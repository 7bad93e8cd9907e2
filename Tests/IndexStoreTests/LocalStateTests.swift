import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

/// How names stand by the index, over random histories of a tree and a selection, against what a look at the whole tree says.
@Suite struct LocalStateTests {
    /// A file or symbolic link of the tree, as the newest version and this device have it.
    private struct Node {
        var isLink: Bool
        var size: Int64
        var version: UInt64 = 1
        /// The version that is here; nil for nothing.
        var here: UInt64?
        var isDeleted = false

        var sum: Aggregate { isLink ? Aggregate(symlinks: 1) : Aggregate(files: 1, bytes: size) }
    }

    private static let directories = ["", "a", "a/b", "a/b/c", "d", "d/e"]
    private static let names = directories.flatMap { directory in
        ["x", "y"].map { directory.isEmpty ? $0 : directory + "/" + $0 }
    }

    /// What a look at the whole tree finds below a directory.
    private static func bruteForce(_ directory: String, _ tree: [String: Node], _ ignored: Set<String>) -> AggregateSums
    {
        var sums = AggregateSums.zero
        for (name, node) in tree where !node.isDeleted && (directory.isEmpty || name.hasPrefix(directory + "/")) {
            sums.below += node.sum
            guard !ignored.contains(name) else { continue }
            sums.selected += node.sum
            if node.here == node.version { sums.present += node.sum }
        }
        return sums
    }

    private static func state(of sums: AggregateSums) -> LocalState {
        let (selected, present) = (sums.selected.count, sums.present.count)
        if selected == 0 { return .absent }
        return present == selected ? .present : present == 0 ? .queued : .partial
    }

    @Test(arguments: 0..<8) func randomHistory(seed: UInt64) async throws {
        let index = try await TestIndex()
        var random = SeededGenerator(seed: seed &+ 77)
        var tree: [String: Node] = [:]
        /// What is on this disk, selected or not, by name.
        var disk: [String: Aggregate] = [:]
        var ignored: Set<String> = []
        var seen: Set<LocalState> = []
        var sequence: Int64 = 0
        func file(_ name: String, _ node: Node) -> FileInfo {
            sequence += 1
            return FileInfo(
                name: name, kind: node.isLink ? .symlink : .file, size: node.isDeleted || node.isLink ? 0 : node.size,
                modifiedSeconds: Int64(node.version), isDeleted: node.isDeleted,
                version: version((alice, node.version)),
                sequence: sequence, modifiedBy: alice.shortID, symlinkTarget: node.isLink ? Array("x".utf8) : [])
        }
        for step in 0..<150 {
            let name = Self.names.randomElement(using: &random) ?? "x"
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<2:
                let isLink = Int.random(in: 0..<3, using: &random) == 0
                var node = tree[name] ?? Node(isLink: isLink, size: .random(in: 0...1000, using: &random))
                if tree[name] != nil { node.version += 1 }
                node.isDeleted = tree[name] != nil && Int.random(in: 0..<4, using: &random) == 0
                // A file may become a link, and a link a file.
                node.isLink = isLink
                tree[name] = node
                try await index.announce([file(name, node)], by: alice, replacesAll: false, ignoring: ignored)
            case 2..<6:
                guard var node = tree[name], !node.isDeleted, !ignored.contains(name) else { continue }
                node.here = node.version
                tree[name] = node
                disk[name] = node.sum
                let status = FileStatus(inode: 1, changedSeconds: Int64(step), changedNanoseconds: 0)
                let local = LocalEntry(file: file(name, node), status: status)
                try await index.store.applyLocal(in: music, [.set(local)]) { [ignored] in ignored.contains($0) }
            case 6:
                // It goes from this disk, and nobody is told that it was deleted.
                guard tree[name]?.here != nil else { continue }
                tree[name]?.here = nil
                disk[name] = nil
                try await index.store.applyLocal(in: music, [.forget(name)]) { [ignored] in ignored.contains($0) }
            default:
                let directory = Self.directories.randomElement(using: &random) ?? ""
                let isIgnored = Bool.random(using: &random)
                for name in Self.names where directory.isEmpty || name.hasPrefix(directory + "/") {
                    if isIgnored {
                        ignored.insert(name)
                    } else if ignored.remove(name) != nil {
                        // What is selected again was not scanned yet: nobody knows what it is.
                        tree[name]?.here = nil
                    }
                }
                let now = ignored
                try await index.store.reselect(music) { now.contains($0) }
            }
            for directory in Self.directories {
                let expected = Self.bruteForce(directory, tree, ignored)
                let entry = try await index.store.global(music, directory)
                let found = AggregateSums(
                    below: entry?.below ?? .zero, selected: entry?.selected ?? .zero, present: entry?.present ?? .zero)
                #expect(found == expected, "\(directory) after step \(step)")
                let state = entry?.localState ?? .absent
                #expect(state == Self.state(of: expected), "\(directory) after step \(step)")
                seen.insert(state)
            }
            // What `status` shows of the folder is what `ls` shows of its root.
            let totals = try await index.store.totals(of: music)
            let local = disk.values.reduce(into: Aggregate.zero) { $0 += $1 }
            #expect(totals == FolderTotals(global: Self.bruteForce("", tree, ignored).below, local: local))
            for (name, node) in tree where !node.isDeleted {
                let isSelected = !ignored.contains(name)
                let expected: LocalState = !isSelected ? .absent : node.here == node.version ? .present : .queued
                #expect(try await index.store.global(music, name)?.localState == expected, "\(name) after step \(step)")
            }
        }
        #expect(seen == [.absent, .queued, .partial, .present])
    }

    struct Case: Sendable {
        var selected = Aggregate.zero
        var present = Aggregate.zero
        var isSelected = true
        var isPresent = true
        var state: LocalState
    }

    private static func sum(_ files: Int64, _ directories: Int64 = 0, symlinks: Int64 = 0) -> Aggregate {
        Aggregate(files: files, symlinks: symlinks, directories: directories, bytes: files * 10)
    }

    @Test(arguments: [
        // Nothing of it: that the directory is there says nothing.
        Case(selected: sum(5, 2), state: .queued), Case(selected: sum(5, 2), present: sum(0, 2), state: .queued),
        Case(selected: sum(5, 2), isPresent: false, state: .queued),
        Case(selected: sum(5, 2), present: sum(4, 2), state: .partial),
        Case(selected: sum(5, 2), present: sum(5, 1), state: .partial),
        Case(selected: sum(5, 2), present: sum(5, 2), state: .present),
        Case(selected: sum(0, 0, symlinks: 2), present: sum(0, 0, symlinks: 1), state: .partial),
        Case(selected: sum(0, 3), present: sum(0, 2), state: .queued),
        Case(selected: sum(0, 3), present: sum(0, 3), state: .present),
        // On the way to what is selected: that counts, and nothing else.
        Case(selected: sum(1), present: sum(1), isSelected: false, state: .present),
        Case(selected: sum(2), present: sum(1), isSelected: false, state: .partial),
        Case(selected: sum(2), isSelected: false, state: .queued),
        // Nothing below it is selected.
        Case(state: .present), Case(isPresent: false, state: .queued), Case(isSelected: false, state: .absent),
        Case(isSelected: false, isPresent: false, state: .absent),
    ])
    func statesFollowFromTheSums(_ example: Case) {
        #expect(
            LocalState(
                selected: example.selected, present: example.present, isSelected: example.isSelected,
                isPresent: example.isPresent) == example.state)
    }
}

extension GlobalEntry {
    /// How the name stands on this device by the index alone.
    fileprivate var localState: LocalState {
        LocalState(selected: selectedShare, present: presentShare, isSelected: isSelected, isPresent: isVerified)
    }
}
