import Phrases

/// A folder as `status` shows it.
package struct FolderStatus: Equatable, Sendable {
    /// How much there is of something, counted in one way everywhere.
    package struct Totals: Codable, Equatable, Sendable {
        /// Names that are not directories: files and symbolic links.
        package var files: Int64
        package var directories: Int64
        package var bytes: Int64
        /// How many of `files` are symbolic links; nil for none.
        package var symlinks: Int64?
        /// Only of `need`: names that are still to be deleted from this disk.
        package var deletions: Int64?

        package init(
            files: Int64 = 0, directories: Int64 = 0, bytes: Int64 = 0, symlinks: Int64? = nil, deletions: Int64? = nil
        ) {
            self.files = files
            self.symlinks = symlinks
            self.directories = directories
            self.bytes = bytes
            self.deletions = deletions
        }

        package var isZero: Bool { files == 0 && directories == 0 && bytes == 0 && (deletions ?? 0) == 0 }
    }

    /// How well changes on this disk are noticed.
    package struct Watch: Codable, Equatable, Sendable {
        /// A word: `off`, `starting`, `watching`, `partial` (some directories only), `failed`. Unless it is `watching`,
        /// changes are found by the next scan.
        package var state: String
        /// Why not all is watched, ending with what to do; `text` is what it was made of.
        package private(set) var message: String?
        package private(set) var text: Phrase?
        /// How many directories are watched.
        package var watched: Int64

        package init(state: String, message: Phrase? = nil, watched: Int64 = 0) {
            self.state = state
            self.message = message?.english
            text = message?.unlessVerbatim
            self.watched = watched
        }

        package var phrase: Phrase? { text ?? message.map { "\($0)" } }
    }

    /// How far a folder is with what its `state` says it does.
    package struct Progress: Codable, Equatable, Sendable {
        package var filesDone: Int64
        /// Nil while nobody knows.
        package var filesTotal: Int64?
        /// Bytes hashed or received.
        package var bytesDone: Int64
        package var bytesTotal: Int64?

        package init(filesDone: Int64, filesTotal: Int64? = nil, bytesDone: Int64, bytesTotal: Int64? = nil) {
            self.filesDone = filesDone
            self.filesTotal = filesTotal
            self.bytesDone = bytesDone
            self.bytesTotal = bytesTotal
        }
    }

    /// What is needed and waits for another link than those there are.
    package struct Waiting: Codable, Equatable, Sendable {
        package var files: Int64
        package var bytes: Int64
        /// Why, and what to do; `text` is what it was made of.
        package private(set) var message: String
        package private(set) var text: Phrase?
        /// What to do as a command for a shell, where there is one that is complete.
        package var command: String?
        /// `bluetooth`, `metered` or `battery`; nil of an agent that knows only the first.
        package var reason: String?

        package init(
            files: Int64, bytes: Int64, message: Phrase, command: String? = nil, reason: String? = nil
        ) {
            self.reason = reason
            self.command = command
            self.files = files
            self.bytes = bytes
            self.message = message.english
            text = message.unlessVerbatim
        }

        package var phrase: Phrase { text ?? "\(message)" }
    }

    /// The last check of the whole folder for damage, and whether one is under way.
    package struct Scrub: Codable, Equatable, Sendable {
        /// RFC 3339: when the last one ended; nil if none has.
        package var ended: String?
        package var files: Int64
        package var bytes: Int64
        /// Files that are damaged now.
        package var damaged: Int64
        package var isRunning: Bool

        package init(
            ended: String? = nil, files: Int64 = 0, bytes: Int64 = 0, damaged: Int64 = 0, isRunning: Bool = false
        ) {
            self.ended = ended
            self.files = files
            self.bytes = bytes
            self.damaged = damaged
            self.isRunning = isRunning
        }

        enum CodingKeys: String, CodingKey { case ended, files, bytes, damaged, isRunning = "running" }
    }

    /// Deletions that wait for a person in a folder that goes on; `confirm` carries them out.
    package struct HeldDeletions: Codable, Equatable, Sendable {
        /// How many names would be deleted.
        package var names: Int64
        /// Whether they would be deleted on this device; else on the others.
        package var isHere: Bool
        /// Why they wait, and what to do; `text` is what it was made of.
        package private(set) var message: String
        package private(set) var text: Phrase?

        package init(names: Int64, isHere: Bool, message: Phrase) {
            self.names = names
            self.isHere = isHere
            self.message = message.english
            text = message.unlessVerbatim
        }

        package var phrase: Phrase { text ?? "\(message)" }

        enum CodingKeys: String, CodingKey { case names, isHere = "here", message, text }
    }

    /// How many `problems` are shown.
    package static let problemLimit = 20

    package var id: String
    package var label: String
    package var path: String
    package var mode: String
    package var type: String
    /// One of the words of `FolderState`.
    package var state: String
    /// Says what is wrong and what to do, when `state` is one of a failure.
    package var text: Phrase?
    /// The same in English.
    package var message: String? { text?.english }
    /// Ids of the devices that share the folder.
    package var devices: [String]
    package var global: Totals
    package var local: Totals
    /// What is selected and not here as the global index has it.
    package var need: Totals
    /// Names on this disk that are not selected; nil while nobody has counted them.
    package var extraneous: Int64?
    /// Conflict copies; nil while nobody has counted them.
    package var conflicts: Int64?
    /// Names that something is wrong with; the first of them are in `problems`.
    package var errors: Int64
    package var problems: [FolderProblem]
    /// Nil where nothing is watched because the folder rests or is not looked after.
    package var watch: Watch?
    /// While it is scanning or syncing.
    package var progress: Progress?
    /// Nil if nothing waits for a network.
    package var waiting: Waiting?
    /// What may go over Bluetooth: `all`, `selected-and-on-demand`, `index-only` or `off`.
    package var bluetooth: String?
    /// Bytes; larger files wait for a network. 0 for no limit.
    package var bluetoothLimit: Int64?
    /// RFC 3339: when the last scan ended.
    package var lastScan: String?
    /// Whether what is here is all there is, or all that is selected; nil from an agent that does not say.
    package var copy: FolderCopy?
    /// What it waits for, each with its remedy; empty if nothing is in the way.
    package var waits: [FolderWait]
    /// Changes of devices that may only read, which wait to be accepted or reverted; not counted beyond 10,000.
    package var refused: Int64
    /// The roles of those of `devices` that have another than `write`, by id.
    package var roles: [String: String]
    /// Not all that the devices announced could be stored: the counts are of what is known.
    package var isIncomplete: Bool
    /// What is worth knowing and no error: lines of `.stignore` that other devices may read differently.
    package var hintTexts: [Phrase]
    /// `hintTexts` in English.
    package var hints: [String] { hintTexts.map(\.english) }
    /// Nil if the folder was never checked.
    package var scrub: Scrub?
    /// Nil if nothing waits to be confirmed, and in a folder that has halted.
    package var heldDeletions: HeldDeletions?

    package init(
        id: String, label: String, path: String, mode: String, type: String, state: String, message: Phrase? = nil,
        devices: [String], global: Totals, local: Totals, need: Totals, extraneous: Int64? = nil,
        conflicts: Int64? = nil, errors: Int64 = 0, problems: [FolderProblem] = [], watch: Watch? = nil,
        progress: Progress? = nil, waiting: Waiting? = nil, bluetooth: String? = nil, bluetoothLimit: Int64? = nil,
        lastScan: String? = nil, copy: FolderCopy? = nil, waits: [FolderWait] = [], refused: Int64 = 0,
        roles: [String: String] = [:], isIncomplete: Bool = false, hints: [Phrase] = [], scrub: Scrub? = nil,
        heldDeletions: HeldDeletions? = nil
    ) {
        self.id = id
        self.label = label
        self.path = path
        self.mode = mode
        self.type = type
        self.state = state
        text = message
        self.devices = devices
        self.global = global
        self.local = local
        self.need = need
        self.extraneous = extraneous
        self.conflicts = conflicts
        self.errors = errors
        self.problems = problems
        self.watch = watch
        self.progress = progress
        self.waiting = waiting
        self.bluetooth = bluetooth
        self.bluetoothLimit = bluetoothLimit
        self.lastScan = lastScan
        self.copy = copy
        self.waits = waits
        self.refused = refused
        self.roles = roles
        self.isIncomplete = isIncomplete
        hintTexts = hints
        self.scrub = scrub
        self.heldDeletions = heldDeletions
    }

    /// `state` as a value that says what kind of state it is.
    package var condition: FolderState { FolderState(rawValue: state) }
}

/// Written by hand for two promises: the counts that are not known stand there as null, and what an older agent does not
/// say yet is read as nothing.
extension FolderStatus: Codable {
    enum CodingKeys: String, CodingKey {
        case id, label, path, mode, type, state, message, text, devices, global, local, need, extraneous, conflicts,
            errors
        case problems, watch, progress, waiting, bluetooth, bluetoothLimit, lastScan, copy, waits, refused, roles
        case hints, hintTexts, scrub, heldDeletions
        case isIncomplete = "incomplete"
    }

    /// Reads the status; what an older agent does not say is nil, empty or false.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id),
            label: try container.decode(String.self, forKey: .label),
            path: try container.decode(String.self, forKey: .path),
            mode: try container.decode(String.self, forKey: .mode),
            type: try container.decode(String.self, forKey: .type),
            state: try container.decode(String.self, forKey: .state),
            message: try container.decodeIfPresent(Phrase.self, forKey: .text)
                ?? container.decodeIfPresent(String.self, forKey: .message).map { "\($0)" },
            devices: try container.decode([String].self, forKey: .devices),
            global: try container.decode(Totals.self, forKey: .global),
            local: try container.decode(Totals.self, forKey: .local),
            need: try container.decode(Totals.self, forKey: .need),
            extraneous: try container.decodeIfPresent(Int64.self, forKey: .extraneous),
            conflicts: try container.decodeIfPresent(Int64.self, forKey: .conflicts),
            errors: try container.decode(Int64.self, forKey: .errors),
            problems: try container.decodeIfPresent([FolderProblem].self, forKey: .problems) ?? [],
            watch: try container.decodeIfPresent(Watch.self, forKey: .watch),
            progress: try container.decodeIfPresent(Progress.self, forKey: .progress),
            waiting: try container.decodeIfPresent(Waiting.self, forKey: .waiting),
            bluetooth: try container.decodeIfPresent(String.self, forKey: .bluetooth),
            bluetoothLimit: try container.decodeIfPresent(Int64.self, forKey: .bluetoothLimit),
            lastScan: try container.decodeIfPresent(String.self, forKey: .lastScan),
            copy: try container.decodeIfPresent(String.self, forKey: .copy).flatMap { FolderCopy(rawValue: $0) },
            waits: try container.decodeIfPresent([FolderWait].self, forKey: .waits) ?? [],
            refused: try container.decodeIfPresent(Int64.self, forKey: .refused) ?? 0,
            roles: try container.decodeIfPresent([String: String].self, forKey: .roles) ?? [:],
            isIncomplete: try container.decodeIfPresent(Bool.self, forKey: .isIncomplete) ?? false,
            hints: try container.decodeIfPresent([Phrase].self, forKey: .hintTexts)
                ?? (container.decodeIfPresent([String].self, forKey: .hints) ?? []).map { "\($0)" },
            scrub: try container.decodeIfPresent(Scrub.self, forKey: .scrub),
            heldDeletions: try container.decodeIfPresent(HeldDeletions.self, forKey: .heldDeletions))
    }

    /// Writes the status; what is nil has no key.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(label, forKey: .label)
        try container.encode(path, forKey: .path)
        try container.encode(mode, forKey: .mode)
        try container.encode(type, forKey: .type)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(message, forKey: .message)
        try container.encodeIfPresent(text?.unlessVerbatim, forKey: .text)
        try container.encode(devices, forKey: .devices)
        try container.encode(global, forKey: .global)
        try container.encode(local, forKey: .local)
        try container.encode(need, forKey: .need)
        try container.encode(extraneous, forKey: .extraneous)
        try container.encode(conflicts, forKey: .conflicts)
        try container.encode(errors, forKey: .errors)
        try container.encode(problems, forKey: .problems)
        try container.encodeIfPresent(watch, forKey: .watch)
        try container.encodeIfPresent(progress, forKey: .progress)
        try container.encodeIfPresent(waiting, forKey: .waiting)
        try container.encodeIfPresent(bluetooth, forKey: .bluetooth)
        try container.encodeIfPresent(bluetoothLimit, forKey: .bluetoothLimit)
        try container.encodeIfPresent(lastScan, forKey: .lastScan)
        try container.encodeIfPresent(copy, forKey: .copy)
        try container.encode(waits, forKey: .waits)
        try container.encode(refused, forKey: .refused)
        try container.encode(roles, forKey: .roles)
        try container.encode(isIncomplete, forKey: .isIncomplete)
        try container.encode(hints, forKey: .hints)
        if !hintTexts.allSatisfy(\.isVerbatim) { try container.encode(hintTexts, forKey: .hintTexts) }
        try container.encodeIfPresent(scrub, forKey: .scrub)
        try container.encodeIfPresent(heldDeletions, forKey: .heldDeletions)
    }
}

/// What is wrong with one name of a folder; the others go on.
package struct FolderProblem: Codable, Equatable, Sendable {
    /// Relative to the folder's root.
    package var path: String
    /// A sentence that ends with what to do; `text` is what it was made of.
    package private(set) var message: String
    package private(set) var text: Phrase?

    package init(path: String, message: Phrase) {
        self.path = path
        self.message = message.english
        text = message.unlessVerbatim
    }

    package var phrase: Phrase { text ?? "\(message)" }
}
