import BlockExchange

/// What is to be remembered and announced of one name after a look at the disk.
package enum LocalUpdate: Equatable, Sendable {
    case unchanged
    /// The name is now as said; it is announced.
    case set(LocalVersion)
    /// This device has nothing of its own to say of the name any more.
    case forget
}

/// Turns what is seen on this disk into what this device announces.
package enum LocalChanges {
    /// What follows from `observed`.
    ///
    /// Nothing here compares file content but by `blocksHash`: `previous` and `global` must come with it.
    ///
    /// - parameters:
    ///   - previous: what this device had of the name.
    ///   - global: the name's winning announcement, those of this device included.
    ///   - rivals: the versions of files that other devices have, and that the winning one hides.
    ///   - placed: the version that this device was about to put there when it was last heard of; its content may be on
    ///     the disk and not noted yet.
    ///   - isKept: whether the name is selected, or a directory above something selected.
    ///   - unixSeconds: now.
    package static func update(
        of name: String, observed: Observation, previous: LocalVersion?, global: FileInfo?,
        rivals: [VersionVector] = [], placed: FileInfo? = nil, isKept: Bool, rules: FolderRules, unixSeconds: Int64
    ) -> LocalUpdate {
        guard isKept else { return updateOfLeftOut(isOnDisk: observed != .missing, previous: previous) }
        let change = Change(
            name: name, previous: previous, global: global.flatMap { $0.isInvalid ? nil : $0 },
            rivals: rivals, placed: placed, rules: rules, unixSeconds: unixSeconds)
        return switch observed {
        case .missing: change.whenMissing()
        case .unsupported: change.whenUnsupported()
        case .item(let item): change.when(item)
        }
    }

    /// A name that is not selected keeps its version and is not vouched for; once gone from the disk it is as any
    /// other name that is not selected. Its absence is never a deletion.
    private static func updateOfLeftOut(isOnDisk: Bool, previous: LocalVersion?) -> LocalUpdate {
        guard let previous else { return .unchanged }
        guard isOnDisk, previous.isLive else { return .forget }
        if previous.flags.contains(.ignored) { return .unchanged }
        let isDoubtful = !previous.flags.isDisjoint(with: [.mustRescan, .unsupported])
        return .set(
            LocalVersion(
                file: isDoubtful ? previous.file.withoutContent : previous.file,
                flags: previous.flags.intersection(.receiveOnlyChanged).union(.ignored), isOnDisk: true))
    }
}

/// One look at one kept name.
private struct Change {
    let name: String
    let previous: LocalVersion?
    /// Valid, or nil.
    let global: FileInfo?
    let rivals: [VersionVector]
    let placed: FileInfo?
    let rules: FolderRules
    let unixSeconds: Int64

    private var flagsOfChange: LocalVersion.Flags { rules.kind == .receiveOnly ? .receiveOnlyChanged : [] }

    /// The global version if it is news: a version that this device had already is not taken again, unless what came
    /// after it never was part of the cluster.
    private var unseenGlobal: FileInfo? {
        guard let global else { return nil }
        guard let previous, previous.isLive || previous.file.isDeleted, previous.flags.isDisjoint(with: .outside),
            previous.file.hasSeen(global)
        else { return global }
        return nil
    }

    /// The versions of the files that others have at the name. One below the winning one counts: the winner may be a version that
    /// nobody has, and go with the device that announces it.
    private var filesOfOthers: [VersionVector] {
        guard let global, !global.isDeleted, global.kind == .file else { return rivals }
        return rivals + [global.version]
    }

    private func version(changing base: VersionVector) -> VersionVector {
        let known = [previous?.file.version, global?.version].compactMap { $0 }
        return base.changed(by: rules.author, besides: known, unixSeconds: unixSeconds)
    }

    // MARK: gone

    func whenMissing() -> LocalUpdate {
        guard let previous else { return .unchanged }
        guard previous.isLive else {
            if previous.file.isDeleted, previous.isValid { return .unchanged }
            // A deletion that only happened here is over when the global version is deleted too, and is kept back
            // until then; whatever else is not on this disk and not vouched for stands for nothing.
            guard previous.file.isDeleted, previous.flags == .receiveOnlyChanged, let global else { return .forget }
            if takesPart(previous), previous.file.hasSeen(global) { return .set(.current(previous.file)) }
            if global.isDeleted { return .set(.current(global)) }
            return rules.kind == .receiveOnly ? .unchanged : .forget
        }
        // Somebody else deleted it too, or it was deleted here for them and that was not noted any more.
        if let unseenGlobal, unseenGlobal.isDeleted { return .set(.current(unseenGlobal)) }
        // Never part of the cluster, or not watched over while it was left out: there is nothing to delete there, and
        // what the cluster has comes back.
        guard previous.flags.isDisjoint(with: LocalVersion.Flags.outside.union(.mustRescan)) else { return .forget }
        // Others have made something else of it, which a deletion that has not seen it does not outlast: it comes. To
        // tell the deletion all the same would let devices of the other rule delete what nobody here has seen, and it
        // may be none: this device makes room for what is new, and may have died before that was there.
        if unseenGlobal != nil, rules.kind != .sendOnly { return .forget }
        let tombstone = previous.file.deleted(
            by: rules.device, unixSeconds: unixSeconds, version: version(changing: previous.file.version))
        return .set(LocalVersion(file: tombstone, flags: flagsOfChange, isOnDisk: false))
    }

    // MARK: in the way

    func whenUnsupported() -> LocalUpdate {
        if let previous {
            if previous.isLive, previous.flags.contains(.unsupported) { return .unchanged }
            var file = previous.file.withoutContent
            file.isDeleted = false
            return .set(LocalVersion(file: file, flags: .unsupported, isOnDisk: true))
        }
        // Of no interest to anybody unless it is in the way of something.
        guard let global, !global.isDeleted else { return .unchanged }
        return .set(LocalVersion(file: FileInfo(name: name, kind: .file), flags: .unsupported, isOnDisk: true))
    }

    // MARK: there

    func when(_ item: ObservedItem) -> LocalUpdate {
        var observed = item.file(named: name, rules: rules)
        let before = previous.flatMap { $0.isLive ? $0 : nil }
        if observed.kind == .file, observed.blocksHash == nil { return whenUnread(observed, before: before) }

        let look = AttributeLook(seen: item.attributes, before: before?.file, rules: rules.attributes)
        look.note(in: &observed)
        if let before, isUnchanged(observed, since: before), look.verdict != .changed {
            return whenUnchanged(observed, before, look)
        }
        if let unseenGlobal, unseenGlobal.isEquivalent(to: observed, rules: rules) {
            return .set(.current(adopting(unseenGlobal, observed, look)))
        }
        if let placed, previous?.file.hasSeen(placed) != true, placed.isEquivalent(to: observed, rules: rules) {
            return .set(.current(adopting(placed, observed, look)))
        }
        if let before, let restored = restored(observed, since: before) { return .set(restored) }

        let wasOutside =
            before.map { !$0.flags.intersection(.outside).subtracting(flagsOfChange).isEmpty && !takesPart($0) }
            ?? false
        // What is known as not here was not before anybody's eyes: it is nothing that this started from.
        let isNew = previous.map { !$0.isLive && !$0.file.isDeleted } ?? true
        if isNew || wasOutside, rules.kind != .sendOnly, let global, global.hasSameContent(as: observed) {
            // Only its time or permissions differ from the global version. With a version that has seen nothing it
            // takes them over, instead of starting a conflict about them.
            observed.modifiedBy = rules.device
            return .set(LocalVersion(file: adoptingBlocks(of: global, observed), isOnDisk: true))
        }

        // What is new to the cluster has not seen what others did to the name, so it must not win over it unnoticed.
        let isUnaware = (isNew || wasOutside) && flagsOfChange.isEmpty
        let base = previous?.file.version ?? VersionVector()
        observed.version = version(changing: isUnaware ? base.only(rules.author) : base)
        if rules.kind == .sendReceive,
            filesOfOthers.contains(where: { observed.version.hasSeen($0) && (isUnaware || !base.hasSeen($0)) })
        {
            // Only this device ever changed the name, and has forgotten it, or what is here did not start from that: none of
            // its counters can say that this is not the successor. It yields, as a conflict copy.
            observed.version = VersionVector()
        }
        observed.modifiedBy = rules.device
        if let before {
            observed.carriedFields = before.file.carriedFields(
                // To claim that it started from what was set aside would make it win unnoticed after all.
                afterChangeOf: observed.kind == .file && !isUnaware ? before.file.blocksHash : nil)
            look.note(in: &observed)
            if before.file.hasSameContent(as: observed) { observed = adoptingBlocks(of: before.file, observed) }
        }
        return .set(LocalVersion(file: observed, flags: flagsOfChange, isOnDisk: true))
    }

    /// A file whose content could not be read: unchanged so far as one can see, or to be looked at again.
    private func whenUnread(_ observed: FileInfo, before: LocalVersion?) -> LocalUpdate {
        guard let before, !before.flags.contains(.mustRescan) else { return .unchanged }
        if before.flags.isDisjoint(with: [.ignored, .unsupported]), before.file.looksLike(observed, rules: rules) {
            return .unchanged
        }
        return .set(LocalVersion(file: before.file, flags: before.flags.union(.mustRescan), isOnDisk: true))
    }

    /// Nothing but perhaps attributes that this device has not seen before: it remembers them, or takes over what was announced.
    private func whenUnchanged(_ observed: FileInfo, _ before: LocalVersion, _ look: AttributeLook) -> LocalUpdate {
        switch look.verdict {
        case .same, .changed: return .unchanged
        case .yields where before.flags.isEmpty && rules.kind != .sendOnly:
            // As what is found for the first time: with a version that has seen nothing it takes over what was announced.
            var file = adoptingBlocks(of: before.file, observed)
            file.modifiedBy = rules.device
            return .set(LocalVersion(file: file, isOnDisk: true))
        case .new, .yields:
            var file = before.file
            look.note(in: &file)
            return .set(LocalVersion(file: file, flags: before.flags, isOnDisk: true))
        }
    }

    /// Whether nothing differs but perhaps attributes.
    private func isUnchanged(_ observed: FileInfo, since before: LocalVersion) -> Bool {
        var rules = rules
        rules.attributes = AttributeRules()
        return before.flags == flagsOfChange.intersection(before.flags) && !isRevertedByHand(observed, before)
            && before.file.isEquivalent(to: observed, rules: rules)
    }

    private func isRevertedByHand(_ observed: FileInfo, _ before: LocalVersion) -> Bool {
        guard before.flags.contains(.receiveOnlyChanged), let global else { return false }
        return global.isEquivalent(to: observed, rules: rules)
    }

    /// Whether it was changed here while the folder only received, and is to be announced from now on: its version has seen what it
    /// was changed from, and nothing else.
    private func takesPart(_ previous: LocalVersion) -> Bool {
        previous.flags == .receiveOnlyChanged && rules.kind != .receiveOnly
    }

    /// What was set aside and is still what it was is that version again: its successors may replace it.
    private func restored(_ observed: FileInfo, since before: LocalVersion) -> LocalVersion? {
        let rest = takesPart(before) ? [] : before.flags.subtracting([.ignored, .mustRescan])
        guard rest != before.flags, rest == flagsOfChange.intersection(rest),
            // A directory or symbolic link that was set aside may have the version of something else.
            before.file.kind == .file || !before.flags.contains(.ignored),
            before.file.isEquivalent(to: observed, rules: rules)
        else { return nil }
        return LocalVersion(file: before.file, flags: rest, isOnDisk: true)
    }

    private func adopting(_ global: FileInfo, _ observed: FileInfo, _ look: AttributeLook) -> FileInfo {
        var file = global
        look.adopt(in: &file)
        if file.blocks.isEmpty { file.blocks = observed.blocks }
        return file
    }

    /// `observed` with the blocks of `known`, whose content is the same: they may have weak hashes, which older devices
    /// find renamed files by.
    private func adoptingBlocks(of known: FileInfo, _ observed: FileInfo) -> FileInfo {
        guard observed.kind == .file, !known.blocks.isEmpty else { return observed }
        var file = observed
        file.blocks = known.blocks
        file.blockSize = known.blockSize
        return file
    }
}
