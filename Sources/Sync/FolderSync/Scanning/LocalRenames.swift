import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import FolderScanner
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// What came of a search for names that a look found gone.
struct RelocationOutcome: Sendable {
    /// Lines that were written, or marked as left behind: what is gone is to be looked at again.
    var moves: [Relocation.Move] = []
    /// Names of which nothing is told yet, and where what was there is: its user is asked.
    var held: [NameKey: String] = [:]
}

/// The selection follows what is renamed on this disk. docs/decisions/renames.md gives the reasons.
struct LocalRenames: Sendable {
    let folder: FolderContext

    /// Files of which the contents are compared, in one look, to find one that was moved without its number.
    private static let comparedFileLimit = 100
    private static let comparedByteLimit: Int64 = 1 << 30
    private static let sightingLimit = 100_000

    /// Finds out where kept names that are gone are now. Lines follow what they name; what lies where nothing selects it
    /// is held.
    ///
    /// - parameters:
    ///   - arrived: what the scan found new at selected names.
    ///   - reported: renames that the watcher saw.
    ///   - work: told of a selection that was written.
    func follow(
        _ gone: [KnownEntry], arrived: [PlacedItem], reported: [Relocation.Move], _ work: inout FolderWork
    ) async throws -> RelocationOutcome {
        var outcome = RelocationOutcome()
        guard !gone.isEmpty, folder.rules.kind != .receiveOnly, folder.selection.leavesOutTheRest else {
            return outcome
        }
        let editor = try folder.selectionEditor()
        let (lost, contents) = try await namesLost(gone)
        guard !lost.isEmpty else { return outcome }
        let lines = Set(names: editor.list()).subtracting(Set(names: editor.file.paths(marked: .moved)))
        let sightings = try await sightings(of: lost, contents, lines: lines, arrived: arrived)
        var relocation = Relocation(lost: lost, lines: lines, sightings: sightings, reported: reported)
        if !relocation.unfound.isEmpty {
            let copies = try await copies(of: relocation.unfound, contents, among: sightings)
            if !copies.isEmpty {
                relocation = Relocation(
                    lost: lost, lines: lines, sightings: sightings, reported: reported, copies: copies)
            }
        }
        var refused: [Relocation.Held] = []
        outcome.moves = try await write(relocation, editor, refused: &refused, &work)
        for held in relocation.held + refused { outcome.held[held.from] = held.to }
        // What was below a directory that no line can follow is there with it.
        for held in refused {
            for item in lost where item.path.isBelow(held.from) && outcome.held[item.path] == nil {
                outcome.held[item.path] = held.to + item.path.behind(held.from)
            }
        }
        Self.noteHeld(relocation.held + refused, in: folder.id, &work)
        return outcome
    }

    /// Of what is gone, what no other device has changed since: a newer version comes whatever was done here.
    private func namesLost(
        _ gone: [KnownEntry]
    ) async throws -> (lost: [PlacedItem], contents: [NameKey: FileInfo]) {
        var lost: [PlacedItem] = []
        var contents: [NameKey: FileInfo] = [:]
        for start in stride(from: 0, to: gone.count, by: FolderIndex.pageLimit) {
            let part = gone[start..<min(start + FolderIndex.pageLimit, gone.count)]
            for (known, facts) in zip(part, try await folder.index.facts(part.map(\.name))) {
                guard let local = facts.local, local.flags.isEmpty, !local.file.isDeleted,
                    facts.global?.version == local.file.version
                else { continue }
                lost.append(PlacedItem(known.name, known.status))
                contents[known.name] = local.file
            }
        }
        return (lost, contents)
    }

    /// What lies in the folder and may be one of `lost`.
    private func sightings(
        of lost: [PlacedItem], _ contents: [NameKey: FileInfo], lines: Set<NameKey>, arrived: [PlacedItem]
    ) async throws -> [Sighting] {
        let inodes = Set(lost.map(\.inode)).subtracting([0])
        let roots = PathSet(lines.map(\.text))
        let sizes = Set(lost.filter { $0.kind == .file && $0.size > 0 && roots.contains($0.path) }.map(\.size))
        let wantsDirectories = lost.contains { $0.kind == .directory && lines.contains($0.path) }
        let candidates = Candidates(limit: Self.sightingLimit) { entry in
            switch entry.status.type {
            case .directory: wantsDirectories || inodes.contains(entry.status.inode)
            case .regular: inodes.contains(entry.status.inode) || sizes.contains(entry.status.size)
            case .symlink, .other: inodes.contains(entry.status.inode)
            }
        }
        let (root, selection, leftAlone) = (folder.root, folder.selection, folder.place.leftAlone)
        let partly = selection.directoriesWithExceptions
        let scanner = FolderScanner(
            root: root, selection: selection, known: NothingKnown(), options: folder.scanOptions)
        try await scanner.extraneous(opening: { selection.isIgnored($0) || partly.contains($0) }) { batch in
            await candidates.add(batch.entries.filter { !leftAlone.contains($0.name) })
        }
        let found = await candidates.entries
        let born = try await folder.onDisk {
            try (found.map { ($0.name, false) } + arrived.filter { inodes.contains($0.inode) }.map { ($0.path, true) })
                .compactMap { name, isKept -> (item: PlacedItem, isKept: Bool)? in
                    guard let path = RelativePath(name), let (status, time) = try root.birth(of: path),
                        status.type != .other
                    else { return nil }
                    var item = PlacedItem(name, status)
                    item.created = time.map(DiskTime.init)
                    return (item, isKept)
                }
        }
        var sightings: [Sighting] = []
        let known = Set(contents.values.compactMap(\.blocksHash))
        for (item, isKept) in born {
            guard !isKept else {
                sightings.append(Sighting(item, isKept: true))
                continue
            }
            let explanation = selection.explain(item.path)
            guard let line = explanation.pattern else { continue }
            // What a line with wildcards ignores, nobody selects or deselects by name: to move it there is to take it away.
            guard line.matchesEverything || line.literalPath != nil else { continue }
            var obstacle = line.matchesEverything ? nil : "the line “\(line.text)” excludes that"
            if obstacle == nil, try await isTaken(item, by: known) {
                obstacle = "other devices have another file there"
            }
            sightings.append(Sighting(item, obstacle: obstacle))
        }
        return sightings
    }

    /// Whether others have something at the name that a line for it would bring.
    private func isTaken(_ item: PlacedItem, by known: Set<SHA256Digest>) async throws -> Bool {
        guard item.kind == .file else {
            guard let global = try await folder.index.global(item.path) else { return false }
            return global.isPresent || global.below != .zero
        }
        guard let facts = try await folder.index.facts(item.path), let global = facts.global, !global.isDeleted,
            !global.isInvalid
        else { return false }
        return global.blocksHash.map { !known.contains($0) } ?? true
    }

    /// For each of `lost` the files with the same contents that came to their places after it was seen last.
    private func copies(
        of lost: [PlacedItem], _ contents: [NameKey: FileInfo], among sightings: [Sighting]
    ) async throws -> [NameKey: [String]] {
        var (files, bytes) = (0, Int64(0))
        var hashes: [NameKey: SHA256Digest] = [:]
        var copies: [NameKey: [String]] = [:]
        for item in lost {
            guard let content = contents[item.path], let hash = content.blocksHash, let seen = item.changed else {
                continue
            }
            for other in sightings.map(\.item) where other.kind == .file && other.size == item.size {
                guard let changed = other.changed, changed > seen, let path = RelativePath(other.path) else { continue }
                let key = "\(content.effectiveBlockSize) \(other.path)"
                if hashes[key] == nil {
                    guard files < Self.comparedFileLimit, bytes &+ other.size <= Self.comparedByteLimit else { break }
                    files += 1
                    bytes &+= other.size
                    let root = folder.root
                    hashes[key] = try await folder.onDisk {
                        try Self.blocksHash(of: path, size: item.size, content.effectiveBlockSize, in: root)
                    }
                }
                if hashes[key] == hash { copies[item.path, default: []].append(other.path) }
            }
        }
        return copies
    }

    /// Nil if the file is other than it was seen, or cannot be read.
    private static func blocksHash(
        of path: RelativePath, size: Int64, _ blockSize: Int, in root: RootDirectory
    ) throws -> SHA256Digest? {
        guard let file = try? root.open(reading: path) else { return nil }
        var blocks: [BlockInfo] = []
        var offset: Int64 = 0
        while offset < size {
            // bounded: the offset is before the file's end
            guard let bytes = try? file.read(count: Int(min(Int64(blockSize), size - offset)), at: offset),
                !bytes.isEmpty
            else { return nil }
            blocks.append(
                BlockInfo(offset: offset, size: Int32(clamping: bytes.count), hash: SHA256.digest(bytes)))
            offset += Int64(bytes.count)
        }
        return FileInfo.blocksHash(of: blocks)
    }

    /// Writes the lines that follow. What no line can name goes to `refused`.
    private func write(
        _ relocation: Relocation, _ editor: SelectionEditor, refused: inout [Relocation.Held], _ work: inout FolderWork
    ) async throws -> [Relocation.Move] {
        var moves = relocation.joined
        var edits = relocation.joined.map { SelectionMove(from: $0.from, to: nil) }
        for move in relocation.follows {
            // What stands there again, as after an editor's way of saving, was not renamed; nor is what is gone again.
            guard let from = RelativePath(move.from), let to = RelativePath(move.to),
                try folder.root.status(of: from) == nil, try folder.root.status(of: to) != nil
            else { continue }
            do throws(IgnoreError) {
                _ = try editor.following([SelectionMove(from: move.from, to: move.to)])
                edits.append(SelectionMove(from: move.from, to: move.to))
                moves.append(move)
            } catch {
                refused.append(Relocation.Held(from: move.from, to: move.to, obstacle: error.message))
            }
        }
        guard !edits.isEmpty else { return [] }
        let edit = try editor.following(edits)
        guard edit.file != editor.file else { return [] }
        _ = try await folder.writing(edit.file, over: editor.file, &work)
        folder.noteFollowed(edits, &work)
        return moves
    }

    /// Says what waits for its user, and for what.
    private static func noteHeld(_ held: [Relocation.Held], in folder: FolderID, _ work: inout FolderWork) {
        let topmost = Set(PathSet.topmost(held.map(\.from)))
        for held in held where topmost.contains(held.from) {
            let (old, new) = (ShellWord.quoted("\(folder):\(held.from)"), ShellWord.quoted("\(folder):\(held.to)"))
            let choices = Phrase(
                "Other devices keep it until you choose: synctrain extraneous resolve \(new) with --select has them move "
                    + "it, too; with --delete, --ignore or --move-to they delete it; with synctrain deselect \(old) they "
                    + "keep it")
            work.effects.problems.noteFound(
                held.obstacle.map { Phrase("it was moved to \(held.to), which is not selected: \($0). \(choices)") }
                    ?? Phrase("it was moved to \(held.to), which is not selected. \(choices)"),
                at: held.from)
        }
    }

    // MARK: what was left behind

    /// Takes out the lines of names that were left behind once the others know, and the marks of those at which
    /// something is again.
    func endMoves(_ work: inout FolderWork) async throws {
        let place = folder.place
        guard !place.moved.isEmpty else { return }
        let shared = folder.settings.devices.filter { $0 != folder.tools.localDevice }
        var (dropped, kept): ([String], [String]) = ([], [])
        for facts in try await folder.index.facts(place.moved) {
            guard let path = RelativePath(facts.name) else { continue }
            let isOnDisk = try place.root.status(of: path) != nil
            let othersKnow = shared.isEmpty || facts.holders.contains { shared.contains($0) }
            // A directory may be deleted by what is announced next.
            let isEmptied = try await isEmptied(facts.name)
            switch MovedLine.decide(
                global: facts.global, local: facts.localVersion, isOnDisk: isOnDisk, othersKnow: othersKnow,
                isEmptied: isEmptied)
            {
            case .waits: break
            // Else that directory, which was here for the line, would stay when the others delete it.
            case .ends where try await awaitsDirectory(above: path, facts): break
            case .ends: dropped.append(facts.name)
            case .stays: kept.append(facts.name)
            }
        }
        guard !dropped.isEmpty || !kept.isEmpty else { return }
        let editor = try folder.selectionEditor()
        let edit = try editor.ending(dropped: dropped, kept: kept)
        guard edit.isChange else { return }
        do {
            _ = try await folder.writing(edit.file, over: editor.file, &work)
        } catch FolderError.selectionChanged {
            // The scan that it brings about ends with this, too.
            work.effects.scansEverything = true
        }
    }

    /// Whether a directory is announced and no file at all below it. Of one that is renamed, the files are announced first.
    private func isEmptied(_ directory: String) async throws -> Bool {
        guard let global = try await folder.index.global(directory), global.isPresent else { return false }
        return global.below.files == 0 && global.below.symlinks == 0
    }

    /// Whether what another device has deleted was, here, in a directory that may be deleted by what it announces next.
    private func awaitsDirectory(above path: RelativePath, _ facts: NameFacts) async throws -> Bool {
        guard let deletion = facts.global, deletion.isDeleted, deletion.modifiedBy != folder.index.localDevice,
            let parent = path.parent, try folder.root.status(of: parent)?.type == .directory
        else { return false }
        if try await folder.index.facts(parent.text)?.isDeletion == true { return true }
        return try await isEmptied(parent.text)
    }
}

extension FolderContext {
    /// Whether other devices have something below a directory that is not selected here.
    func holdsUnselected(below directory: String) async throws -> Bool {
        var isFound = false
        try await index.eachDescendant(of: directory) { page in
            isFound = isFound || page.contains { $0.isPresent && selection.isLeftOut($0.path) }
        }
        return isFound
    }

    /// Says that lines of the selection have followed what they name.
    func noteFollowed(_ moves: [SelectionMove], _ work: inout FolderWork) {
        for case (let from, let to?) in moves.map({ ($0.from, $0.to) }) {
            let words = "the selection of \(from) follows to \(to)"
            logger.notice("\(words)")
            work.effects.events.append(("selection-followed", words))
        }
    }
}

/// What a walk found that may be of use.
private actor Candidates {
    private(set) var entries: [ExtraneousEntry] = []
    private let limit: Int
    private let isWanted: @Sendable (ExtraneousEntry) -> Bool

    init(limit: Int, isWanted: @escaping @Sendable (ExtraneousEntry) -> Bool) {
        self.limit = limit
        self.isWanted = isWanted
    }

    func add(_ found: [ExtraneousEntry]) {
        for entry in found where entries.count < limit && isWanted(entry) { entries.append(entry) }
    }
}

extension PlacedItem {
    init(_ path: String, _ status: FileAccess.FileStatus) {
        let kind: Kind =
            switch status.type {
            case .directory: .directory
            case .symlink: .symlink
            case .regular, .other: .file
            }
        self.init(
            path: path, kind: kind, inode: status.inode, size: status.size, modified: DiskTime(status.modified),
            changed: status.changed.map(DiskTime.init))
    }
}

extension DiskTime {
    init(_ time: FileTime) { self.init(seconds: time.seconds, nanoseconds: time.nanoseconds) }
}

extension Selection {
    /// Whether what no line names is left out.
    var leavesOutTheRest: Bool { patterns.first(where: \.matchesEverything)?.isIgnoring ?? false }

    /// Directories above what a line leaves out by its name.
    fileprivate var directoriesWithExceptions: Set<String> {
        var directories: Set<String> = []
        for pattern in patterns where pattern.isIgnoring {
            var parent = pattern.literalPath.flatMap { RelativePath($0)?.parent }
            while let directory = parent, directories.insert(directory.text).inserted { parent = directory.parent }
        }
        return directories
    }
}
