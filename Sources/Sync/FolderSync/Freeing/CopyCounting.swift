import AgentConfiguration
import BlockExchange
import FileAccess
import IndexStore
import Reconciliation

/// Counts the copies of single files by what is known of the folder's devices now.
struct CopyCounting: Sendable {
    let rule: CopyRule
    /// Everybody who can be asked is taken to give the best answer; for plans and dry runs.
    var isPlan = false

    func copies(_ facts: NameFacts, _ rows: [KeepRow]) -> Copies {
        let notes = KeepNotes(rows)
        var copies = Copies()
        if let global = facts.global {
            copies =
                isPlan
                ? rule.possibleCopies(facts.holders)
                : rule.copies(facts.holders, words: KeepContent(global).map(notes.words) ?? [:])
        }
        // Whatever others announce by now: the bytes that are here are those that were promised.
        if let local = facts.local { copies.promisedTo = notes.promised(local.file.version) }
        return copies
    }
}

extension KeepNotes {
    init(_ rows: [KeepRow]) {
        self.init()
        for row in rows {
            if row.isGiven {
                given[row.device] = row.content
            } else if let standing = Standing(rawValue: row.standing) {
                held[row.device] = Held(row.content, standing)
            }
        }
    }

    /// In the order in which the index store gives them.
    var rows: [KeepRow] {
        let asked = held.map {
            KeepRow(device: $0.key, isGiven: false, standing: $0.value.standing.rawValue, content: $0.value.content)
        }
        let given = given.map { KeepRow(device: $0.key, isGiven: true, standing: 0, content: $0.value) }
        return (asked + given).sorted {
            $0.device == $1.device ? !$0.isGiven && $1.isGiven : $0.device < $1.device
        }
    }
}

extension IndexStore {
    /// Changes the notes of each of `names`, all in one transaction.
    func changeKeepNotes(
        in folder: FolderID, names: [String],
        _ body: @Sendable (_ position: Int, NameFacts, inout KeepNotes) throws -> Void
    ) async throws {
        guard !names.isEmpty else { return }
        try await changeKeepRows(in: folder, names: names) { position, facts, rows in
            var notes = KeepNotes(rows)
            try body(position, facts, &notes)
            rows = notes.rows
            return false
        }
    }
}

extension FolderConfiguration {
    /// How this device's mode is stated and noted.
    var statedMode: FolderMode { mode == .full ? .full : .selective }

    /// For how long the word of a device counts that is away.
    var copiesMaximumAge: Duration { .seconds(Int64(copiesMaximumAgeDays) * 86_400) }
}

extension FolderContext {
    /// A clock that was set back may make a device seem to have been seen in the future, by so many seconds.
    private static let clockTolerance: Int64 = 86_400

    /// How copies count now.
    func copyCounting(isPlan: Bool = false) async throws -> CopyCounting {
        let store = index.store
        let devices = settings.devices.filter { $0 != tools.localDevice }
        let (standings, stated) = (peers.standings, peers.stated)
        let noted = try await store.modes(in: id)
        let modes = Dictionary(devices.map { ($0, noted[$0].flatMap(PeerMode.init) ?? .unknown) }) { first, _ in first }
        let sources = tools.fetching.sources(of: id, devices, for: .onDemand).permitted
        let connected = tools.fetching.sessions(devices)
        let lastSeen = modes.values.contains(.syncthing) ? try await store.lastSeen() : [:]
        let monotonic = tools.time.monotonic()
        var rule = CopyRule(isFull: settings.mode == .full, maximumAge: settings.copiesMaximumAge, peers: [:])
        for device in devices {
            let standing = standings[device]
            var peer = CopyRule.Peer(mode: modes[device] ?? .unknown)
            peer.isConnected = connected[device] != nil || standing?.isConnected == true
            if peer.mode == .syncthing {
                peer.isAskable = sources[device] != nil
                if let seen = lastSeen[device] {
                    let (age, isHuge) = now.subtractingReportingOverflow(seen)
                    if !isHuge, age >= -Self.clockTolerance { peer.unseen = .seconds(max(0, age)) }
                }
            } else if let standing {
                // What it grants before it states what it has granted could hide that it lost something.
                peer.isAskable =
                    standing.isConnected && standing.takesKeepRequests && stated.contains(device)
                    && connected[device] != nil
                peer.unseen = standing.seen.map { monotonic - $0 }
                if standing.hasHeard, let known = try await store.remoteIndex(of: id, device: device) {
                    peer.isAgreed =
                        known.indexID == standing.announced.indexID
                        && known.maxSequence >= standing.announced.maxSequence
                }
            }
            rule.peers[device] = peer
        }
        let own = try await store.noteOwnMode(Int64(settings.statedMode.rawValue), in: id, at: now)
        rule.isKnownAsSelective = ModeHistory(selectiveSince: own.since, told: own.told)
            .isKnownAsSelective(to: modes, at: now, maximumAge: settings.copiesMaximumAge)
        return CopyCounting(rule: rule, isPlan: isPlan)
    }

    /// Of these names, those that may go by what has been answered by now.
    func provenNames(among names: [String]) async throws -> [String] {
        let counting = try await copyCounting()
        var proven: [String] = []
        for start in stride(from: 0, to: names.count, by: FolderIndex.pageLimit) {
            let page = Array(names[start..<min(start + FolderIndex.pageLimit, names.count)])
            let rows = try await index.store.keepRows(in: id, names: page)
            for (facts, rows) in zip(try await index.facts(page), rows) {
                let reason = Freeing.reason(
                    against: facts.localVersion, global: facts.global, copies: counting.copies(facts, rows),
                    minimumCopies: settings.minimumCopies, sight: .unchanged)
                if reason == nil { proven.append(facts.name) }
            }
        }
        return proven
    }
}
