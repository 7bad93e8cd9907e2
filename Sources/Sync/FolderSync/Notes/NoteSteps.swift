import AgentContext
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection
import SyncDecisions

/// Writes this device's own file of notes. Where the folder's notes are not selected yet, they are from then on.
package struct ChangeNotesStep: FolderStep {
    package let path: String
    package let set: [String: String]
    package let remove: [String]

    package init(path: String, set: [String: String], remove: [String]) {
        self.path = path
        self.set = set
        self.remove = remove
    }

    /// - Throws: `FolderError` for a key, a value or an amount that notes cannot have, for a folder that only receives, and
    ///   while this device's earlier notes are still to come; `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Notes {
        if let key = (Array(set.keys) + remove).first(where: { !NoteFile.isKey($0) }) {
            throw FolderError.badNoteKey(key)
        }
        guard set.values.allSatisfy(NoteFile.isValue) else { throw FolderError.badNoteValue }
        guard folder.rules.kind != .receiveOnly else { throw FolderError.receivesOnly(.note) }
        try folder.requireNoDeletionHalt()
        let own = try RelativePath(
            parsing: "\(NoteFile.fileDirectory)/\(folder.tools.localDevice.shortID).json")
        var folder = folder
        if folder.selection.isLeftOut(own.text) {
            let change = SelectionChangeStep(paths: [NoteFile.directory], isSelecting: true, isDryRun: false) {
                try $0.selecting([NoteFile.directory], whileSpace: false)
            }
            folder = try await change.run(folder, &work).folder
        }
        try await scan(folder, &work)
        // Without what this device noted earlier, it would be forgotten everywhere.
        if let facts = try await folder.index.facts(own.text), let global = facts.global, !global.isDeleted,
            facts.local?.file.version != global.version || facts.local?.status == nil
        {
            work.effects.pull = .everything
            throw FolderError.notesIncomplete(own.text)
        }
        let reading = NoteReading(folder: folder)
        let (file, merged) = try await reading.own()
        try await write(changed(file, merged, folder), to: own, folder, &work)
        return try await reading.notes(of: path)
    }

    private func scan(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let directory = try RelativePath(parsing: NoteFile.directory)
        _ = try await ScanStep(paths: [directory], isRequested: true).run(folder, &work)
    }

    private func changed(
        _ file: NoteFile, _ merged: MergedNotes, _ folder: FolderContext
    ) throws -> NoteFile {
        var file = file
        let now = NoteReading.milliseconds(folder.now)
        let known = merged.notes(of: path)
        let changes = remove.filter { known[$0] != nil }.map { ($0, String?.none) } + set.map { ($0.key, $0.value) }
        guard Set(known.keys).subtracting(remove).union(set.keys).count <= NoteFile.keyLimit else {
            throw FolderError.tooManyNotes(path)
        }
        for (key, value) in changes {
            let time = merged.time(ofChange: path, key, now: now)
            guard file.set(NoteFile.Line(path: path, key: key, value: value, time: time)) else {
                throw FolderError.tooManyNoteLines
            }
        }
        return file
    }

    private func write(
        _ file: NoteFile, to path: RelativePath, _ folder: FolderContext, _ work: inout FolderWork
    ) async throws {
        let bytes = try file.bytes()
        guard bytes.count <= NoteFile.byteLimit else {
            throw FolderError.notesTooLarge
        }
        let root = folder.root
        let now = folder.tools.time.wall()
        let modified = FileTime(seconds: now.seconds, nanoseconds: now.nanoseconds)
        try await folder.onDisk {
            if let parent = path.parent { try root.createDirectories(parent) }
            let staged = try root.stage(path, resuming: false)
            try staged.truncate(to: 0)
            try staged.write(bytes, at: 0)
            _ = try staged.commit(replacing: .anything, permissions: nil, modified: modified)
        }
        try await scan(folder, &work)
    }
}

/// Reads the notes in a folder. Needs no turn.
package struct NoteReading: Sendable {
    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// This device's file, and all of them put together.
    ///
    /// - Throws: `FileAccessError` if the directory or this device's file cannot be read; `FolderError` (`notesTooLarge`) if that
    ///   file is larger than a file of notes may be; `IndexStoreError`; `CancellationError`.
    package func own() async throws -> (NoteFile, MergedNotes) {
        let (root, own) = (folder.root, folder.tools.localDevice.shortID.description)
        let (found, unreadable) = try await noteFiles()
        var files = found
        if unreadable.contains(Self.path(of: own)) {
            // Taken for empty, it would be overwritten with the next note alone.
            let path = try RelativePath(parsing: Self.path(of: own))
            let bytes = try await folder.onDisk {
                try root.open(reading: path).read(count: NoteFile.byteLimit + 1, at: 0)
            }
            guard bytes.count <= NoteFile.byteLimit else { throw FolderError.notesTooLarge }
            files.append((device: own, file: NoteFile(bytes)))
        }
        let mine = files.first { $0.device == own }?.file ?? NoteFile()
        return (mine, MergedNotes(files, now: Self.milliseconds(folder.now)))
    }

    static func milliseconds(_ seconds: Int64) -> Int64 {
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1000)
        return overflows ? (seconds < 0 ? .min : .max) : product
    }

    /// The notes of the name `path`, by key, and the files of notes that cannot be read.
    ///
    /// - Throws: `FileAccessError` if the directory cannot be read; `IndexStoreError`; `CancellationError`.
    package func notes(of path: String) async throws -> Notes {
        let (files, unreadable) = try await noteFiles()
        let devices = folder.tools.knownDevices()
        let notes = MergedNotes(files, now: Self.milliseconds(folder.now)).notes(of: path).sorted { $0.key < $1.key }
            .map { key, note in
                let device = devices.first { $0.id.shortID.description == note.device }
                return Notes.Note(
                    key: key, value: note.value ?? "",
                    time: WallTime(seconds: note.time / 1000, nanoseconds: Int32(note.time % 1000) * 1_000_000).rfc3339,
                    device: device?.id.description ?? note.device, name: device?.name ?? "")
            }
        return Notes(
            folder: folder.id.rawValue, path: path,
            isKept: !folder.selection.isLeftOut(NoteFile.fileDirectory + "/x"), notes: notes, unreadable: unreadable)
    }

    /// What is on this disk, by device. A file that another device than its own has changed last is none of its device's notes.
    private func noteFiles() async throws -> (files: [(device: String, file: NoteFile)], unreadable: [String]) {
        let root = folder.root
        let directory = try RelativePath(parsing: NoteFile.fileDirectory)
        let own = folder.tools.localDevice.shortID.description
        let (found, unreadable) = try await folder.onDisk { try Self.noteFiles(in: directory, root, first: own) }
        let names = found.map { Self.path(of: $0.0) }
        let facts = try await folder.index.facts(names)
        let foreign = zip(found, facts).filter { file, facts in
            NoteFile.isForeign(to: file.0, changedBy: (facts.local?.file ?? facts.global)?.modifiedBy, own: own)
        }.map(\.0.0)
        let files = found.filter { !foreign.contains($0.0) }.map { (device: $0.0, file: NoteFile($0.1)) }
        return (files, (unreadable + foreign.map(Self.path)).sorted())
    }

    private static func path(of device: String) -> String { "\(NoteFile.fileDirectory)/\(device).json" }

    /// - Parameter own: The device whose file is read however many there are.
    private static func noteFiles(
        in directory: RelativePath, _ root: RootDirectory, first own: String
    ) throws(FileAccessError) -> ([(String, [UInt8])], [String]) {
        let entries: [DirectoryEntry]
        do {
            entries = try root.list(directory)
        } catch {
            guard error.isAbsence else { throw error }
            return ([], [])
        }
        var files: [(String, [UInt8])] = []
        var unreadable: [String] = []
        let names = entries.compactMap { $0.type == .regular ? $0.name : nil }.sorted()
            .filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
        let (mine, others) = (names.filter { $0 == own + ".json" }, names.filter { $0 != own + ".json" })
        for name in (mine + others).prefix(NoteFile.fileLimit) {
            guard let path = try? directory.appending(name),
                let bytes = try? root.open(reading: path).read(count: NoteFile.byteLimit + 1, at: 0),
                bytes.count <= NoteFile.byteLimit
            else {
                unreadable.append("\(NoteFile.fileDirectory)/\(name)")
                continue
            }
            files.append((String(name.dropLast(5)), bytes))
        }
        return (files, unreadable)
    }
}
