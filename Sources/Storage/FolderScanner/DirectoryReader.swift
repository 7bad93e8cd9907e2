import BlockExchange
import FileAccess
import Selection

/// What a directory has at a name, and what is known of it.
struct Encounter: Sendable {
    enum Sight: Sendable {
        case file(FileStatus, DirectoryEntry)
        /// `isOpened`: something in it may be selected.
        case directory(FileStatus, DirectoryEntry, isOpened: Bool)
        case symlink(FileStatus, target: [UInt8])
        /// There and not selected.
        case leftOut(FileType, DirectoryEntry, isOpened: Bool)
        /// Nothing is there.
        case absent
        /// Selected and there, but nothing that can be synced; surely no directory.
        case unsupported(FileProblem)
        /// A file that is being put together, or was.
        case temporary
        /// Nobody knows what is there.
        case unknown(FileProblem)
    }

    /// The path beneath the folder.
    let path: String
    let sight: Sight
    let known: KnownEntry?
    /// Of a directory, or of a file that need not be read; nil if nobody looked.
    var attributes: FileAttributes?
}

/// Goes through one directory in the order of names, on the disk and in the index at once.
///
/// Holds the directory's names and what is known of them; looks at a limited number of them at a time. All its methods
/// wait for the disk.
struct DirectoryReader: Sendable {
    let directory: Directory
    /// The path beneath the folder, `""` for the root.
    let path: String
    private let selection: Selection
    private let attributes: AttributeReading?
    /// Those of the names to look at that are neither on the disk nor known, so that there is no encounter with them.
    let missing: [String]
    private let names: [DirectoryEntry]
    private let known: [KnownEntry]
    private var nextName = 0
    private var nextKnown = 0

    /// - Parameters:
    ///   - known: Ordered by the bytes of the names, all directly in the directory.
    ///   - only: The names to look at, in order; nil for all.
    ///   - attributes: Which are read; nil for none.
    init(
        _ directory: Directory, path: String, known: [KnownEntry], only: [String]?, selection: Selection,
        attributes: AttributeReading? = nil
    ) throws(FileAccessError) {
        self.directory = directory
        self.path = path
        self.known = known
        self.selection = selection
        self.attributes = attributes
        guard let only else {
            names = try directory.list().sortedByBytes()
            missing = []
            return
        }
        var names: [DirectoryEntry] = []
        var missing: [String] = []
        // Where each would take a listing to tell how it is written, one listing tells it of all.
        let listed =
            directory.foldsNames
            ? Dictionary(
                try directory.list().compactMap { entry in entry.name.map { ($0, entry) } },
                uniquingKeysWith: { first, _ in first }) : nil
        let knownNames = Set(known.map { String($0.name.lastComponent) })
        for name in only {
            let entry = if let listed { listed[name] } else { try directory.entry(named: name) }
            if let entry {
                names.append(entry)
            } else if !knownNames.contains(name) {
                missing.append(name)
            }
        }
        self.names = names
        self.missing = missing
    }

    /// The next encounters, `count` at most; none at the directory's end.
    mutating func next(_ count: Int) -> [Encounter] {
        var encounters: [Encounter] = []
        while encounters.count < count, nextName < names.count || nextKnown < known.count {
            if let encounter = nextEncounter() { encounters.append(encounter) }
        }
        return encounters
    }

    /// Nil for a name that nobody needs to hear of.
    private mutating func nextEncounter() -> Encounter? {
        guard nextKnown < known.count else { return takeName(known: nil) }
        let candidate = known[nextKnown]
        if nextName < names.count, let name = names[nextName].name {
            let order = name[...].order(to: candidate.name.lastComponent)
            if order < 0 { return takeName(known: nil) }
            if order == 0 {
                nextKnown += 1
                return takeName(known: candidate)
            }
        }
        nextKnown += 1
        // Asked for by name: a listing may miss a name that was renamed over while it was made, and a deletion that
        // did not happen would go to all devices.
        let entry: DirectoryEntry?
        do throws(FileAccessError) {
            entry = try directory.entry(named: String(candidate.name.lastComponent))
        } catch {
            let problem = FileProblem(.unreadable, name: candidate.name, cause: error)
            return Encounter(path: candidate.name, sight: .unknown(problem), known: candidate)
        }
        guard let entry else { return Encounter(path: candidate.name, sight: .absent, known: candidate) }
        return encounter(entry, known: candidate)
    }

    private mutating func takeName(known: KnownEntry?) -> Encounter? {
        nextName += 1
        return encounter(names[nextName - 1], known: known)
    }

    private func encounter(_ entry: DirectoryEntry, known: KnownEntry?) -> Encounter? {
        let path = self.path.appendingComponent(entry.displayName)
        func found(_ sight: Encounter.Sight) -> Encounter { Encounter(path: path, sight: sight, known: known) }

        // To the disk it is the agent's own file.
        if directory.foldsNames, RelativePath(path)?.internalTwin != nil { return nil }
        let isKept: Bool
        switch selection.standing(of: path, isDirectory: entry.type == .directory) {
        case .ours:
            guard let name = RelativePath(path), name.isTemporary else { return nil }
            return entry.type == .regular || entry.type == .symlink && name.isSwap ? found(.temporary) : nil
        case .kept: isKept = true
        case .leftOut: isKept = false
        }
        let isOpened = entry.type == .directory && entry.isNameText && selection.mayContainSelected(path)
        if let problem = FileProblem(nameOf: entry, path: path) {
            return isKept ? found(.unsupported(problem)) : nil
        }
        guard isKept else { return found(.leftOut(entry.type, entry, isOpened: isOpened)) }
        do throws(FileAccessError) {
            guard let status = try directory.status(of: entry) else {
                return known == nil ? nil : found(.absent)
            }
            guard status.type == entry.type else {
                return found(.unknown(FileProblem(.changedWhileRead, name: path)))
            }
            switch status.type {
            case .regular, .directory:
                var now = status
                var seen: FileAttributes?
                if let attributes, attributes.isWorthReading(status, known) {
                    guard let (status, disk) = try directory.statusAndAttributes(of: entry, attributes.access),
                        status.type == entry.type
                    else { return found(.unknown(FileProblem(.changedWhileRead, name: path))) }
                    (now, seen) = (status, attributes.attributes(disk))
                }
                let sight: Encounter.Sight =
                    now.type == .regular ? .file(now, entry) : .directory(now, entry, isOpened: isOpened)
                return Encounter(path: path, sight: sight, known: known, attributes: seen)
            case .symlink:
                let target = try directory.readSymlink(entry)
                guard String(validating: target, as: UTF8.self) != nil else {
                    return found(.unsupported(FileProblem(.targetNotUTF8, name: path)))
                }
                return found(.symlink(status, target: target))
            case .other: return found(.unsupported(FileProblem(.unsupportedType, name: path)))
            }
        } catch {
            return found(.unknown(FileProblem(.unreadable, name: path, cause: error)))
        }
    }
}

extension AttributeReading {
    /// Whether attributes are read beside the status. Those of a file whose contents are read come with them; those of one
    /// with the known time of change are known. A directory's time of change tells nothing of it.
    fileprivate func isWorthReading(_ status: FileStatus, _ known: KnownEntry?) -> Bool {
        guard status.type == .regular else { return true }
        guard let known, known.status.type == .regular else { return false }
        return known.lacksAttributes || !isComplete(known.attributes) || known.status.changed != status.changed
    }
}

extension [DirectoryEntry] {
    /// In the order of the names' bytes; those that are not UTF-8 come last.
    func sortedByBytes() -> [DirectoryEntry] {
        // All names in one place: comparing strings costs more than all the rest of looking at an unchanged directory.
        var bytes: [UInt8] = []
        var names: [(isText: Bool, range: Range<Int>, index: Int)] = []
        names.reserveCapacity(count)
        for (index, entry) in enumerated() {
            let start = bytes.count
            if let name = entry.name {
                bytes.append(contentsOf: name.utf8)
            } else {
                bytes.append(contentsOf: entry.nameBytes)
            }
            names.append((entry.name != nil, start..<bytes.count, index))
        }
        bytes.withUnsafeBytes { bytes in
            names.sort { left, right in
                guard left.isText == right.isText else { return left.isText }
                return UnsafeRawBufferPointer(rebasing: bytes[left.range])
                    .order(to: UnsafeRawBufferPointer(rebasing: bytes[right.range])) < 0
            }
        }
        return names.map { self[$0.index] }
    }
}

extension FileProblem {
    /// What is wrong with a name, whatever it names; nil if nothing is.
    init?(nameOf entry: DirectoryEntry, path: String) {
        guard let name = entry.name else {
            self.init(.nameNotUTF8, name: path)
            return
        }
        guard NormalForm.isComposed(name) else {
            self.init(.nameNotComposed, name: path)
            return
        }
        guard path.utf8.count <= RelativePath.byteCountLimit, path.componentCount <= RelativePath.componentCountLimit
        else {
            self.init(.nameTooLong, name: path)
            return
        }
        return nil
    }
}

/// What the selection says of a path, for a walk.
enum Standing: Hashable {
    case kept
    case leftOut
    /// The folder's marker, ignore file and old versions, and files that are being put together.
    case ours
}

extension Selection {
    /// Whether `path` is kept. What is on the way to something selected by name is kept if it is a directory: a file in
    /// the place of such a directory was not selected by anyone.
    func standing(of path: String, isDirectory: Bool) -> Standing {
        let decision = decision(for: path)
        switch decision.reason {
        case .internalName, .temporaryName: return .ours
        case .pattern, .noPattern, .root:
            guard decision.isIgnored else { return .kept }
            return isDirectory && isParentOfSelected(path) ? .kept : .leftOut
        }
    }
}
