import BlockExchange

/// What a folder does with ownership and extended attributes.
package struct AttributeRules: Hashable, Sendable {
    package enum Use: Hashable, Sendable {
        /// What others announce goes on as it came; the disk is neither asked nor changed.
        case none
        /// What is on this disk is announced.
        case sent
        /// The same, and what others announce is applied here.
        case synced
    }

    package var extended: Use
    package var owner: Use
    package var filter: AttributeFilter

    package init(extended: Use = .none, owner: Use = .none, filter: AttributeFilter = AttributeFilter()) {
        self.extended = extended
        self.owner = owner
        self.filter = filter
    }

    /// Whether the disk is asked at all.
    package var areRead: Bool { extended != .none || owner != .none }
    package var areSynced: Bool { extended == .synced || owner == .synced }
}

extension FileInfo {
    /// What the disk has where this device knows it, else what is announced.
    private var effectiveAttributes: FileAttributes { diskAttributes ?? attributes }

    /// Whether what the folder syncs of the two differs. What either says nothing of does not differ.
    func hasOtherAttributes(than other: FileInfo, rules: AttributeRules) -> Bool {
        guard rules.areSynced, !kind.isSymlink, !carriedFields.isEmpty, !other.carriedFields.isEmpty else {
            return false
        }
        let (mine, theirs) = (effectiveAttributes, other.effectiveAttributes)
        if rules.owner == .synced, let owner = mine.owner, let wanted = theirs.owner, !owner.isSame(as: wanted) {
            return true
        }
        if rules.extended == .synced, let extended = mine.extended, let wanted = theirs.extended {
            return rules.filter.permitted(extended) != rules.filter.permitted(wanted)
        }
        return false
    }

    /// Whether `global` asks for attributes of which this device does not know what its disk has.
    func hasUnknownAttributes(wantedBy global: FileInfo, rules: AttributeRules) -> Bool {
        guard rules.areSynced, !kind.isSymlink, diskAttributes == nil else { return false }
        let wanted = global.attributes
        return rules.owner == .synced && wanted.owner != nil
            || rules.extended == .synced && wanted.extended.map { !rules.filter.permitted($0).isEmpty } ?? false
    }

    /// What is announced and not on this disk, though the folder syncs it: the owner, names of extended attributes.
    package func missingAttributes(rules: AttributeRules) -> (owner: UnixOwner?, extended: [String]) {
        guard rules.areSynced, !kind.isSymlink, !isDeleted, let disk = diskAttributes else { return (nil, []) }
        let announced = attributes
        var owner: UnixOwner?
        if rules.owner == .synced, let wanted = announced.owner, let has = disk.owner, !has.isSame(as: wanted) {
            owner = wanted
        }
        guard rules.extended == .synced, let wanted = announced.extended else { return (owner, []) }
        let has = Dictionary(
            (disk.extended ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let missing = rules.filter.permitted(wanted).filter { has[$0.name] != $0.value }
        // What should be gone and is not.
        let names = Set(wanted.map(\.name))
        let left = rules.filter.permitted(disk.extended ?? []).filter { !names.contains($0.name) }
        return (owner, (missing + left).map(\.name))
    }

    package func lacksAttributes(rules: AttributeRules) -> Bool {
        let missing = missingAttributes(rules: rules)
        return missing.owner != nil || !missing.extended.isEmpty
    }

    /// The same as announced by a device, with what this disk has of it.
    package func noting(_ disk: FileAttributes?) -> FileInfo {
        guard let disk, !isDeleted, !kind.isSymlink else { return self }
        var file = self
        file.setAttributes(attributes, onDisk: disk)
        return file
    }
}

/// What follows from the attributes that the disk has at a name.
struct AttributeLook {
    enum Verdict: Equatable {
        /// As known.
        case same
        /// Seen for the first time, and nothing is to be announced of it.
        case new
        /// Seen for the first time, and others have announced something else, which is taken over.
        case yields
        /// Changed on this disk, or never announced by anybody.
        case changed
    }

    let verdict: Verdict
    private let seen: FileAttributes?
    private let announced: FileAttributes

    /// - Parameters:
    ///   - seen: what the disk has; nil if nobody looked.
    ///   - before: what this device had to say of the name; nil if it is new.
    init(seen: FileAttributes?, before: FileInfo?, rules: AttributeRules) {
        guard let seen, rules.areRead else {
            (verdict, self.seen, announced) = (.same, nil, FileAttributes())
            return
        }
        let filter = rules.filter
        let noted = before?.diskAttributes
        let said = before?.attributes ?? FileAttributes()
        var announced = said
        var verdicts: [Verdict] = []
        if let owner = seen.owner, rules.owner != .none {
            let verdict = Self.verdict(
                seen: owner, noted: noted?.owner, said: said.owner, isSynced: rules.owner == .synced,
                isNothing: false, isNoted: { $0.hasSameIDs(as: $1) }, isSaid: { $0.isSame(as: $1) })
            if verdict == .changed { announced.owner = owner }
            verdicts.append(verdict)
        }
        if let extended = seen.extended, rules.extended != .none {
            let verdict = Self.verdict(
                seen: filter.permitted(extended), noted: noted?.extended.map(filter.permitted),
                said: said.extended.map(filter.permitted), isSynced: rules.extended == .synced,
                isNothing: extended.isEmpty, isNoted: { $0 == $1 }, isSaid: { $0 == $1 })
            if verdict == .changed {
                // What the filter keeps from this disk goes on as it was announced.
                let permitted = Set(filter.permitted(said.extended ?? []).map(\.name))
                let names = Set(extended.map(\.name))
                let others = (said.extended ?? []).filter { !permitted.contains($0.name) && !names.contains($0.name) }
                announced.extended = FileAttributes(extended: extended + others).extended
            }
            verdicts.append(verdict)
        }
        let all: [Verdict] = [.changed, .yields, .new]
        verdict = all.first(where: verdicts.contains) ?? .same
        // What was not read this time is known from before.
        self.seen = FileAttributes(owner: seen.owner ?? noted?.owner, extended: seen.extended ?? noted?.extended)
        self.announced = announced
    }

    private static func verdict<Part>(
        seen: Part, noted: Part?, said: Part?, isSynced: Bool, isNothing: Bool, isNoted: (Part, Part) -> Bool,
        isSaid: (Part, Part) -> Bool
    ) -> Verdict {
        if let noted { return isNoted(seen, noted) ? .same : .changed }
        guard let said else { return isNothing ? .new : .changed }
        return isSaid(seen, said) || !isSynced ? .new : .yields
    }

    /// Has `file` say what is announced from now on, and remember what was seen.
    func note(in file: inout FileInfo) {
        guard let seen, !file.kind.isSymlink else { return }
        file.setAttributes(announced, onDisk: seen)
    }

    /// Has `file`, which another device announced, remember what was seen. What its author says nothing of is left for the
    /// next look to announce.
    func adopt(in file: inout FileInfo) {
        guard var noted = seen, !file.kind.isSymlink else { return }
        let said = file.attributes
        if said.owner == nil { noted.owner = nil }
        if said.extended == nil, noted.extended?.isEmpty == false { noted.extended = nil }
        file.setAttributes(said, onDisk: noted)
    }
}
