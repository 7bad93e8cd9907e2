import BlockExchange

/// What this device notes for good about one name: which devices promised to keep which version of it, and whom it promised to
/// keep it. Pure; the index store holds it.
///
/// Why no version is lost: a device only promises what is on its disk, and frees nothing that it promised to keep, until it is
/// released. A device that frees by a promise keeps its note of it, and releases only once it has the file again. Before a device
/// promises it drops the promises that it holds itself, so that two never wait for each other.
package struct KeepNotes: Equatable, Sendable {
    /// How it stands with a promise that this device asked for.
    package enum Standing: Int64, Sendable, CaseIterable {
        /// Asked for, not answered.
        case asked = 1
        /// Given since this device started.
        case promised = 2
        /// Given before this device started. It binds the other device, but it counts only when it is given again: this note may
        /// come out of a backup.
        case earlier = 3
        /// Not needed any more; the other device is to be told.
        case released = 4
        /// No promise: blocks that were asked for had their hashes.
        case verified = 5
        case refused = 6
        /// No promise: blocks that were asked for did not come.
        case failed = 7
    }

    package struct Held: Equatable, Sendable {
        package var content: KeepContent
        package var standing: Standing

        package init(_ content: KeepContent, _ standing: Standing) {
            self.content = content
            self.standing = standing
        }
    }

    /// What other devices have answered this one.
    package var held: [DeviceID: Held]
    /// What this device has promised others.
    package var given: [DeviceID: KeepContent]

    package init(held: [DeviceID: Held] = [:], given: [DeviceID: KeepContent] = [:]) {
        self.held = held
        self.given = given
    }

    package var isEmpty: Bool { held.isEmpty && given.isEmpty }

    // MARK: reading

    /// The devices that count on this version here, in order.
    package func promised(_ version: VersionVector) -> [DeviceID] {
        given.filter { $0.value.version == version }.keys.sorted()
    }

    /// What has been answered about this content.
    package func words(about content: KeepContent) -> [DeviceID: CopyRule.Word] {
        var words: [DeviceID: CopyRule.Word] = [:]
        for (device, held) in held where held.content == content {
            switch held.standing {
            case .promised: words[device] = .promised
            case .verified: words[device] = .verified
            case .refused: words[device] = .refused
            case .failed: words[device] = .failed
            case .asked, .earlier, .released: break
            }
        }
        return words
    }

    // MARK: asking

    /// This device is about to ask another for a promise. False if it may not, as others count on its own copy.
    package mutating func ask(_ device: DeviceID, for content: KeepContent) -> Bool {
        guard promised(content.version).isEmpty else { return false }
        held[device] = Held(content, .asked)
        return true
    }

    /// The answer has come. One that nobody waits for any more changes nothing: a promise in it is released in time.
    package mutating func answered(_ device: DeviceID, _ content: KeepContent, isGranted: Bool) {
        guard held[device] == Held(content, .asked) else { return }
        held[device]?.standing = isGranted ? .promised : .refused
    }

    /// No answer has come in time. The other device may have promised.
    package mutating func gaveUp(_ device: DeviceID) {
        if held[device]?.standing == .asked { held[device]?.standing = .released }
    }

    /// What came of asking a device for blocks.
    package mutating func verified(_ device: DeviceID, _ content: KeepContent, isGood: Bool) {
        held[device] = Held(content, isGood ? .verified : .failed)
    }

    /// The other device was told that its promise is not needed any more.
    package mutating func wasReleased(_ device: DeviceID) {
        if held[device]?.standing == .released { held[device] = nil }
    }

    // MARK: being asked

    /// Whether this device promises `asker` to keep `content`, and notes it: then it may not be freed until that device says so.
    ///
    /// - Parameters:
    ///   - own: this device.
    ///   - local: what the index has of the name here, with `blocksHash`.
    ///   - isUnchanged: whether that is what the disk has.
    package mutating func grant(
        _ content: KeepContent, to asker: DeviceID, by own: DeviceID, local: LocalVersion?, isUnchanged: Bool
    ) -> Bool {
        guard let local, local.isValid, local.isLive, KeepContent(local.file) == content, isUnchanged else {
            return false
        }
        let asking = held.filter { $0.value == Held(content, .asked) }.keys
        // Of two that ask each other at once, the one with the lower id gets it.
        if !asking.isEmpty, own < asker { return false }
        for (device, note) in held where note.content == content {
            switch note.standing {
            case .asked, .promised, .earlier: held[device]?.standing = .released
            case .released, .verified, .refused, .failed: break
            }
        }
        given[asker] = content
        return true
    }

    /// A device does not need this one's promise any more.
    package mutating func release(_ content: KeepContent, by device: DeviceID) {
        if given[device]?.version == content.version { given[device] = nil }
    }

    // MARK: time

    /// This device has started: what it noted may come out of a backup.
    package mutating func restart() {
        for (device, note) in held {
            switch note.standing {
            case .asked: held[device]?.standing = .released
            case .promised: held[device]?.standing = .earlier
            case .verified, .refused, .failed: held[device] = nil
            case .earlier, .released: break
            }
        }
    }

    /// Another device has lost what it promised, as it was restored from a backup or has a new index.
    package mutating func lost(by device: DeviceID) { held[device] = nil }

    /// Drops what is of no use any more: this device has the version itself, or another version has won, or what was promised is
    /// not here any more. Not to be called while this device frees something.
    ///
    /// - parameter global: the winning version; nil if nobody has one that counts, which replaces nothing.
    package mutating func settle(local: LocalVersion?, global: VersionVector?) {
        for (device, note) in held {
            let isHere = local.map { $0.isLive && $0.file.version == note.content.version } ?? false
            let version = note.content.version
            guard isHere || global.map({ $0 != version && $0.hasSeen(version) }) ?? false else { continue }
            switch note.standing {
            case .promised, .earlier: held[device]?.standing = .released
            case .verified, .refused, .failed: held[device] = nil
            case .asked, .released: break
            }
        }
        for (device, content) in given
        where local.map({ !$0.isLive || $0.file.version != content.version }) ?? true {
            given[device] = nil
        }
    }
}
