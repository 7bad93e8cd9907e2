import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import FileAccess
import IndexStore
import Logging
import Reconciliation

/// What a folder promises other devices, and what it tells them about promises: keep requests, answered and sent.
package struct FolderKeeping: Sendable {
    /// Notes are looked through for what is of no use any more at least so often while something changes.
    private static let tidyPause: Duration = .seconds(600)

    package let id: FolderID
    private let boards: FolderBoards
    private let store: IndexStore
    private let tools: FolderTools

    init(boards: FolderBoards, store: IndexStore, tools: FolderTools) {
        id = boards.places.configuration.id
        self.boards = boards
        self.store = store
        self.tools = tools
    }

    // MARK: being asked

    /// Answers a request of a device that the folder is shared with. What is promised is noted for good before this returns.
    package func answer(_ request: KeepRequest, from device: DeviceID) async -> KeepAnswer {
        do {
            switch request.kind {
            case .state: return try await take(request, from: device)
            case .ask: return try await grant(request.entries, to: device)
            case .release:
                try await store.changeKeepNotes(in: id, names: request.entries.map(\.name)) { position, _, notes in
                    notes.release(request.entries[position].content, by: device)
                }
                return KeepAnswer(isAccepted: true)
            }
        } catch {
            tools.logger.debug("keep request: \(error)")
            return .refused
        }
    }

    private func take(_ statement: KeepRequest, from device: DeviceID) async throws -> KeepAnswer {
        let mode = PeerMode(statement.mode, takesKeepRequests: true, client: "")
        // Nothing may go by a promise while it is found out that there is none.
        let isLost = try await boards.peers.keepTurn.withUnits(1) {
            try await store.noteStatement(
                mode: mode.rawValue, promiseCount: statement.promiseCount, of: device, in: id)
        }
        try await store.makeDurable()
        boards.peers.noteStated(device)
        // From now on it can be asked.
        if boards.places.configuration.keepFree != nil { boards.inbox.pullEverything() }
        if isLost {
            tools.logger.warning(
                "\(tools.name(of: device)) has lost what it promised to keep; its index was restored or recreated")
        }
        return KeepAnswer(isAccepted: true)
    }

    private func grant(_ entries: [KeepRequest.Entry], to device: DeviceID) async throws -> KeepAnswer {
        let status = boards.status.snapshot
        // What the index says of this disk is to be true.
        guard status.hasScanned, status.halt == nil, case .success(let place) = boards.places.current,
            place.root.isInPlace
        else { return .refused }
        let names = entries.map(\.name)
        let scrub = boards.scrub
        let known = try await store.facts(in: id, names: names)
        let sights = try await tools.threads.runIfActive {
            try known.map { facts -> Bool in
                guard let path = RelativePath(facts.name), !path.isTemporary, scrub.damaged(facts.name) == nil,
                    let status = try place.root.status(of: path)
                else { return false }
                return SpaceFreeing.sight(status, facts.local) == .unchanged
            }
        }
        let own = tools.localDevice
        let granted = FoundPositions()
        let count = try await store.changeKeepRows(in: id, names: names, for: device) { position, facts, rows in
            var notes = KeepNotes(rows)
            let isGranted = notes.grant(
                entries[position].content, to: device, by: own, local: facts.localVersion,
                isUnchanged: sights[position] && facts.local == known[position].local)
            rows = notes.rows
            if isGranted { granted.insert(position) }
            return isGranted
        }
        try await store.makeDurable()
        return KeepAnswer(isAccepted: true, granted: granted.sorted, promiseCount: count)
    }

    // MARK: telling

    /// What a link remembers of one folder.
    package struct Progress: Sendable {
        /// The exchange of what is shared after which the device was told how things stand here.
        var stated: Int?
        var tidied: (number: Int, time: MonotonicTime)?

        package init() {}
    }

    /// Tells a device how much this one keeps and what it promised, if it has not heard that since the last exchange of what is
    /// shared, and which of its promises are not needed any more.
    ///
    /// - Parameters:
    ///   - exchange: counts exchanges of what is shared on the link.
    ///   - send: sends a request and gives the answer.
    /// - Returns: false if the device did not take it.
    /// - Throws: what `send` throws; `IndexStoreError`.
    package func agree(
        with device: DeviceID, exchange: Int, _ progress: inout Progress,
        send: @escaping @Sendable (KeepRequest) async throws -> KeepAnswer
    ) async throws -> Bool {
        guard boards.peers.takesKeepRequests(device) else { return true }
        @Sendable func ask(_ request: KeepRequest) async throws -> KeepAnswer {
            try await tools.time.clock.within(CopyGathering.patience) { try await send(request) }
        }
        if progress.stated != exchange {
            guard try await state(to: device, ask) else { return false }
            progress.stated = exchange
        }
        try await tidy(device, &progress)
        return try await release(device, ask)
    }

    private func state(
        to device: DeviceID, _ send: @Sendable (KeepRequest) async throws -> KeepAnswer
    ) async throws -> Bool {
        let mode = boards.places.configuration.statedMode
        _ = try await store.noteOwnMode(Int64(mode.rawValue), in: id, at: tools.time.wall().seconds)
        let count = try await store.promiseCount(for: device, in: id)
        try await store.makeDurable()
        let answer = try await send(KeepRequest(folder: id, kind: .state, mode: mode, promiseCount: count))
        guard answer.isAccepted else { return false }
        try await store.noteTold(device, mode: Int64(mode.rawValue), in: id)
        boards.peers.noteHeard(device)
        return true
    }

    /// Finds what is of no use any more.
    private func tidy(_ device: DeviceID, _ progress: inout Progress) async throws {
        let now = tools.time.monotonic()
        guard let number = boards.peers.quietNumber else { return }
        if let last = progress.tidied, last.number == number, now - last.time < Self.tidyPause { return }
        let standings: [KeepNotes.Standing] = [.asked, .promised, .earlier, .verified, .refused, .failed]
        for (isGiven, numbers) in [(false, standings.map(\.rawValue)), (true, [0])] {
            var after = ""
            while true {
                let names = try await store.keepNames(
                    in: id, device: device, isGiven: isGiven, standings: numbers, after: after,
                    limit: FolderIndex.pageLimit)
                guard let last = names.last, boards.peers.quietNumber == number else { break }
                let peers = boards.peers
                try await store.changeKeepNotes(in: id, names: names) { _, facts, notes in
                    // Somebody may have begun to gather meanwhile.
                    guard peers.quietNumber == number else { return }
                    notes.gaveUp(device)
                    notes.settle(local: facts.localVersion, global: facts.global?.version)
                }
                after = last
            }
        }
        progress.tidied = (number, now)
    }

    private func release(
        _ device: DeviceID, _ send: @Sendable (KeepRequest) async throws -> KeepAnswer
    ) async throws -> Bool {
        var after = ""
        var isDurable = false
        while true {
            let names = try await store.keepNames(
                in: id, device: device, isGiven: false, standings: [KeepNotes.Standing.released.rawValue],
                after: after, limit: FolderIndex.pageLimit)
            guard let last = names.last else { return true }
            after = last
            // A note that came back with a loss of power would count on somebody who was let go.
            if !isDurable { try await store.makeDurable() }
            isDurable = true
            let rows = try await store.keepRows(in: id, names: names)
            let entries = zip(names, rows).compactMap { name, rows in
                KeepNotes(rows).held[device].map { KeepRequest.Entry(name: name, content: $0.content) }
            }
            for part in KeepRequest.parts(entries) {
                let answer = try await send(KeepRequest(folder: id, kind: .release, entries: part))
                guard answer.isAccepted else { return false }
                try await store.changeKeepNotes(in: id, names: part.map(\.name)) { position, _, notes in
                    guard notes.held[device]?.content == part[position].content else { return }
                    notes.wasReleased(device)
                }
            }
        }
    }
}
