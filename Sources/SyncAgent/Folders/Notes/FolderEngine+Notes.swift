import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Notes of files, in files of the folder's own.
extension FolderEngine {
    func notes(of path: String) async throws -> Notes {
        let place = try session.place().get()
        return try await notes(of: path, place)
    }

    /// Writes this device's own file of notes. Where the folder's notes are not kept yet, they are from then on.
    func changeNotes(of path: String, set: [String: String], remove: [String]) async throws -> Notes {
        for key in Array(set.keys) + remove where !NoteFile.isKey(key) {
            throw ControlError(
                .invalidRequest,
                "`\(key.prefix(80))` is no key of a note: write 1 to \(NoteFile.keyByteLimit) letters, digits, `.`, `_` or `-`"
            )
        }
        for value in set.values where !NoteFile.isValue(value) {
            throw ControlError(
                .invalidRequest,
                "a note has at most \(NoteFile.valueByteLimit) bytes and no control characters; make it shorter")
        }
        guard rules.kind != .receiveOnly else {
            throw ControlError(
                .invalidRequest,
                "\(folder) only receives here: what is noted here is not sent; note it on a device that sends",
                path: folder.rawValue)
        }
        return try await exclusively { [self] in
            if isHaltedOverDeletions, let halt = activity.snapshot.halt { throw halt }
            let own = try RelativePath(
                parsing: "\(NoteFile.fileDirectory)/\(environment.localDevice.shortID).json")
            var place = try await currentPlace()
            if place.selection.isLeftOut(own.text) {
                _ = try await change([NoteFile.directory], isDryRun: false) {
                    try $0.selecting([NoteFile.directory], whileSpace: false)
                }
                place = try await currentPlace()
            }
            _ = try await look(at: [try RelativePath(parsing: NoteFile.directory)], isAsked: true)
            // Without what this device noted earlier, it would be forgotten everywhere.
            if let facts = try await facts([own.text]).first, let global = facts.global, !global.isDeleted,
                facts.local?.file.version != global.version || facts.local?.status == nil
            {
                wakeUp()
                throw ControlError(
                    .busy, "the notes that this device wrote earlier are still to come; try again in a moment",
                    isRetryable: true, path: own.text)
            }
            let (file, merged) = try await read(own, place)
            try await write(changed(file, merged, path, set, remove), to: own, place)
            return try await notes(of: path, place)
        }
    }

    private func changed(
        _ file: NoteFile, _ merged: MergedNotes, _ path: String, _ set: [String: String], _ remove: [String]
    ) throws -> NoteFile {
        var file = file
        let seconds = environment.time.wall().seconds
        let now = seconds.multipliedReportingOverflow(by: 1000).partialValue
        let known = merged.notes(of: path)
        let changes = remove.filter { known[$0] != nil }.map { ($0, String?.none) } + set.map { ($0.key, $0.value) }
        guard Set(known.keys).subtracting(remove).union(set.keys).count <= NoteFile.keyLimit else {
            throw ControlError(
                .tooLarge, "a file has at most \(NoteFile.keyLimit) notes; remove some with --remove KEY", path: path)
        }
        for (key, value) in changes {
            let time = merged.time(ofChange: path, key, now: now)
            guard file.set(NoteFile.Line(path: path, key: key, value: value, time: time)) else {
                throw ControlError(.tooLarge, "this device has written \(NoteFile.lineLimit) notes in \(folder)")
            }
        }
        return file
    }

    private func write(_ file: NoteFile, to path: RelativePath, _ place: FolderPlace) async throws {
        let bytes = try file.bytes()
        guard bytes.count <= NoteFile.byteLimit else {
            throw ControlError(.tooLarge, "this device's notes in \(folder) have more than a mebibyte; remove some")
        }
        let root = place.root
        let now = environment.time.wall()
        let modified = FileTime(seconds: now.seconds, nanoseconds: now.nanoseconds)
        try await environment.fetching.threads.runIfActive {
            if let parent = path.parent { try root.createDirectories(parent) }
            let staged = try root.stage(path, resuming: false)
            try staged.truncate(to: 0)
            try staged.write(bytes, at: 0)
            _ = try staged.commit(replacing: .anything, permissions: nil, modified: modified)
        }
        _ = try await look(at: [try RelativePath(parsing: NoteFile.directory)], isAsked: true)
    }

    /// This device's file, and all of them put together.
    private func read(_ own: RelativePath, _ place: FolderPlace) async throws -> (NoteFile, MergedNotes) {
        let files = try await noteFiles(place).files
        let mine = files.first { $0.device == environment.localDevice.shortID.description }?.file ?? NoteFile()
        return (mine, MergedNotes(files))
    }

    private func notes(of path: String, _ place: FolderPlace) async throws -> Notes {
        let (files, unreadable) = try await noteFiles(place)
        let devices = environment.knownDevices()
        let notes = MergedNotes(files).notes(of: path).sorted { $0.key < $1.key }.map { key, note in
            let device = devices.first { $0.id.shortID.description == note.device }
            return Notes.Note(
                key: key, value: note.value ?? "",
                time: WallTime(seconds: note.time / 1000, nanoseconds: Int32(note.time % 1000) * 1_000_000).rfc3339,
                device: device?.id.description ?? note.device, name: device?.name ?? "")
        }
        return Notes(
            folder: folder.rawValue, path: path,
            isKept: !place.selection.isLeftOut(NoteFile.fileDirectory + "/x"), notes: notes, unreadable: unreadable)
    }

    /// What is on this disk, by device.
    private func noteFiles(
        _ place: FolderPlace
    ) async throws -> (files: [(device: String, file: NoteFile)], unreadable: [String]) {
        let root = place.root
        let directory = try RelativePath(parsing: NoteFile.fileDirectory)
        let read = try await environment.fetching.threads.runIfActive { try Self.noteFiles(in: directory, root) }
        return (read.0.map { (device: $0.0, file: NoteFile($0.1)) }, read.1)
    }

    private static func noteFiles(
        in directory: RelativePath, _ root: RootDirectory
    ) throws(FileAccessError) -> ([(String, [UInt8])], [String]) {
        let entries: [DirectoryEntry]
        do {
            entries = try root.list(directory)
        } catch {
            guard error.isAbsence || error.code == .notADirectory else { throw error }
            return ([], [])
        }
        var files: [(String, [UInt8])] = []
        var unreadable: [String] = []
        let names = entries.compactMap { $0.type == .regular ? $0.name : nil }.sorted()
        for name in names.filter({ $0.hasSuffix(".json") && !$0.hasPrefix(".") }).prefix(NoteFile.fileLimit) {
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
