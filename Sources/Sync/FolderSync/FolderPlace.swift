import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import Phrases
import Selection

/// Where a folder is on this disk: its root, held open, and its selection as its `.stignore` had it.
package struct FolderPlace: Sendable {
    package static let marker = ".stfolder"
    package static let ignoreFile = ".stignore"
    /// A selection of a million paths has room; a runaway file does not.
    private static let ignoreByteLimit = 64 << 20

    package let root: RootDirectory
    package private(set) var selection: Selection
    /// What is selected for as long as there is space.
    package private(set) var whileSpace: PathSet
    /// The same, for adding to it; nil where lines cannot be added one by one.
    private var growing: GrowingSelection?
    /// What is not selected and is not to be asked about.
    let leftAlone: PathSet
    /// Selected names that their files have left.
    package let moved: [String]
    /// What the selection was read from: the ignore file, and those that it includes.
    package private(set) var sources: [String: FileAccess.FileStatus?]
    /// Lines that some devices with Syncthing read differently, so many of them.
    package let differences: [PatternDifference]
    private static let differenceLimit = 20

    /// Opens the folder's root, checks its marker, and reads its selection, which in a selective folder has lines.
    package static func open(
        _ configuration: FolderConfiguration, interposer: (any DiskInterposer)? = nil
    ) -> Result<FolderPlace, FolderHalt> {
        let root: RootDirectory
        do {
            root = try RootDirectory(path: configuration.path, interposer: interposer, unlocksDirectories: true)
        } catch {
            let reason: FolderHalt.Reason = error.isAbsence ? .rootMissing : .error
            guard error.isAbsence else { return .failure(FolderHalt(reason: reason, message: error.text)) }
            let (path, id) = (configuration.path, ShellWord.quoted(configuration.id.rawValue))
            let text =
                error.code == .notFound
                ? Phrase("\(path) does not exist; mount its disk, or run: synctrain folder repair \(id)")
                : Phrase("\(error.text); mount its disk, or run: synctrain folder repair \(id)")
            return .failure(FolderHalt(reason: reason, message: text))
        }
        return read(configuration, in: root)
    }

    /// The same root, with its marker checked and its selection read again.
    func reread(_ configuration: FolderConfiguration) -> Result<FolderPlace, FolderHalt> {
        Self.read(configuration, in: root)
    }

    private static func read(
        _ configuration: FolderConfiguration, in root: RootDirectory
    ) -> Result<FolderPlace, FolderHalt> {
        do {
            guard try status(of: marker, in: root) != nil else {
                return .failure(
                    FolderHalt(
                        reason: .markerMissing,
                        message: Phrase(
                            "\(configuration.path) has no \(Self.marker); mount its disk, or if this is the right "
                                + "directory, run: synctrain folder repair \(ShellWord.quoted(configuration.id.rawValue))"
                        )))
            }
            try root.learnDisk(marker: marker)
            var sources: [String: FileAccess.FileStatus?] = [:]
            let text = try read(ignoreFile, in: root, noting: &sources)
            let file = try IgnoreFile(parsing: text ?? "")
            let selection = try Selection(file) { name in
                guard let text = try read(name, in: root, noting: &sources) else {
                    throw FolderHalt(reason: .selection, message: Phrase("\(name): no such file"))
                }
                return text
            }
            // Seen in the middle of being written, or lost: keeping everything is the last thing that was asked for.
            guard selection.suffices(for: configuration.mode) else {
                throw FolderHalt(
                    reason: .selection,
                    message: Self.missingLines(
                        "\(configuration.path)/\(ignoreFile)", isGone: text == nil, configuration.id),
                    isSelectionMissing: true)
            }
            return .success(
                FolderPlace(
                    root: root, selection: selection, whileSpace: PathSet(file.paths(marked: .whileSpace)),
                    growing: GrowingSelection(file, selection),
                    leftAlone: PathSet(file.paths(marked: .leaveAlone)), moved: file.paths(marked: .moved),
                    sources: sources, differences: selection.differences(limit: differenceLimit)))
        } catch let error as IgnoreError {
            return .failure(FolderHalt(reason: .selection, message: "\(configuration.path)/\(error.placedText)"))
        } catch let error as FolderHalt {
            return .failure(error)
        } catch let error as FileAccessError {
            return .failure(FolderHalt(reason: .error, message: error.text))
        } catch {
            return .failure(FolderHalt(reason: .error, message: "\(error)"))
        }
    }

    /// What a selective folder halts by whose ignore file is gone.
    static func withoutLines(_ configuration: FolderConfiguration) -> FolderHalt {
        FolderHalt(
            reason: .selection,
            message: missingLines("\(configuration.path)/\(ignoreFile)", isGone: true, configuration.id))
    }

    private static func missingLines(_ file: String, isGone: Bool, _ id: FolderID) -> Phrase {
        let id = ShellWord.quoted(id.rawValue)
        let remedy = Phrase(
            "Restore its lines; or select nothing: synctrain folder mode \(id) selective; or select everything: synctrain folder "
                + "mode \(id) full")
        return isGone
            ? Phrase("\(file) is gone, which would select everything, so the folder is not synced. \(remedy)")
            : Phrase("\(file) has no lines, which would select everything, so the folder is not synced. \(remedy)")
    }

    /// Whether the root has its marker, and the selection's files are those that were read, and enough for the mode.
    package func isCurrent(for configuration: FolderConfiguration) -> Bool {
        guard (try? Self.status(of: Self.marker, in: root)) ?? nil != nil,
            selection.suffices(for: configuration.mode)
        else { return false }
        return sources.allSatisfy { name, then in
            guard let now = try? Self.status(of: name, in: root) else { return then == nil }
            guard let then else { return false }
            return now.isUnchanged(since: then)
        }
    }

    /// The ignore file as it is now, for editing; an empty one if there is none.
    ///
    /// - Throws: `FileAccessError`; `IgnoreError` for what is not a pattern; `FolderHalt` (`selection`) if the file is
    ///   too large.
    package func ignoreFile() throws -> IgnoreFile {
        var sources: [String: FileAccess.FileStatus?] = [:]
        return try IgnoreFile(parsing: try Self.read(Self.ignoreFile, in: root, noting: &sources) ?? "")
    }

    /// Selects a name for as long as there is space, by adding two lines to the ignore file: none of it is parsed again. Blocks its
    /// thread.
    ///
    /// - Returns: the place with the selection that it has then; nil where more is to be done than that, or the file is not the one
    ///   that was read. Nothing is written then.
    /// - Throws: `FileAccessError` if the file cannot be written; it is as it was then.
    func growing(by name: String) throws(FileAccessError) -> FolderPlace? {
        guard let path = RelativePath(Self.ignoreFile), let read = sources[Self.ignoreFile] ?? nil,
            let before = growing, let after = before.adding(name), let status = try root.status(of: path),
            status.isUnchanged(since: read),
            // Two changes within one step of the disk's clock look the same.
            try root.open(reading: path).read(count: Int(status.size), at: 0).elementsEqual(before.bytes)
        else { return nil }
        let staged = try root.stage(path, resuming: false)
        do {
            try staged.write(after.bytes, at: 0)
            var place = self
            place.sources[Self.ignoreFile] = try staged.commit(
                replacing: .exactly(status), permissions: nil, modified: nil)
            (place.growing, place.selection, place.whileSpace) = (after, after.selection, after.whileSpace)
            return place
        } catch {
            if !staged.isInPlace { try? staged.discard() }
            guard error.code == .changedOnDisk || error.code == .exists else { throw error }
            return nil
        }
    }

    /// The text of a file that the ignore file includes.
    func readIncluded(_ name: String) throws -> String {
        var sources: [String: FileAccess.FileStatus?] = [:]
        guard let text = try Self.read(name, in: root, noting: &sources) else {
            throw FolderHalt(reason: .selection, message: Phrase("\(name): no such file"))
        }
        return text
    }

    private static func status(of name: String, in root: RootDirectory) throws -> FileAccess.FileStatus? {
        try RelativePath(name).flatMap { try root.status(of: $0) }
    }

    /// Nil if there is no such file. Only files of the folder are read: `../x` is not.
    private static func read(
        _ name: String, in root: RootDirectory, noting sources: inout [String: FileAccess.FileStatus?]
    ) throws -> String? {
        guard let path = RelativePath(name), let status = try root.status(of: path) else {
            sources[name] = .some(nil)
            return nil
        }
        guard status.size <= ignoreByteLimit else {
            throw FolderHalt(
                reason: .selection,
                message: Phrase(
                    "\(name) has \(ByteText.size(status.size)); the limit is \(ByteText.size(Int64(ignoreByteLimit))); make it shorter"
                ))
        }
        sources[name] = status
        return String(decoding: try root.open(reading: path).read(count: Int(status.size), at: 0), as: UTF8.self)
    }
}

extension Selection {
    /// Whether it may be what somebody chose: a selective folder without lines has lost them.
    func suffices(for mode: FolderConfiguration.Mode) -> Bool { mode == .full || !patterns.isEmpty }
}
