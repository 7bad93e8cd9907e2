import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore
import Selection

/// Waits for paths.
struct WaitRequests: RequestGroup {
    /// At most one look at the paths that are waited for in this time.
    private static let waitPause: Duration = .milliseconds(100)

    let finder: FolderFinder
    let outlook: FolderOutlookReading
    let index: IndexStore
    let events: EventHub
    let time: AgentTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.wait) { try await wait($0) }
    }

    private func wait(_ request: WaitRequest) async throws {
        let places = try request.paths.map { try finder.resolve(finder.naming($0)) }
        let clock = time.clock
        let deadline = request.seconds.map { time.monotonic() + .seconds($0) }
        let news = Signal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let events = events.listen().stream
            group.addTask { for await _ in events { news.notify() } }
            for folder in Dictionary(grouping: places, by: \.folder.id).compactMap(\.value.first?.folder) {
                let changed = folder.exchange.subscribe()
                group.addTask {
                    defer { folder.exchange.unsubscribe(changed) }
                    while !Task.isCancelled {
                        await changed.wait()
                        news.notify()
                    }
                }
            }
            while true {
                try Task.checkCancellation()
                var missing: Phrase?
                for (folder, path) in places where missing == nil { missing = try await lack(folder, path) }
                guard let missing else { return }
                let left = deadline.map { $0 - time.monotonic() }
                if let left, left <= .zero {
                    throw ControlError(.timeout, "Timed out: \(missing)", isRetryable: true)
                }
                if let left { await news.wait(atMost: left, clock: clock) } else { await news.wait() }
                try await clock.sleep(for: min(Self.waitPause, left ?? Self.waitPause))
            }
        }
    }

    /// What is missing of the path; nil if it is here as the others have it. Throws what does not end by itself.
    private func lack(_ folder: Folder, _ path: String) async throws -> Phrase? {
        let name = "\(folder.id):\(path)"
        var status = await FolderStatusReading(folder: folder, index: index).status()
        await outlook.add(to: &status, of: folder)
        if status.condition == .paused {
            throw ControlError(
                .failed,
                "\(folder.id) is paused; `synctrain resume \(ShellWord.quoted(folder.id.rawValue))` resumes it",
                path: name)
        }
        if status.condition.isFailure {
            throw ControlError(
                status.condition.isHalted
                    ? .folderHalted
                    : status.condition == .selectionError
                        ? .selectionUnusable : status.condition == .lowSpace ? .noSpace : .failed,
                "\(folder.id) (\(status.state)): \(status.message ?? "it does not go on; see `synctrain status`")",
                path: name)
        }
        let place = try folder.boards.places.current.get()
        let selection = place.selection
        let found = try await index.global(folder.id, path)
        let isHere = path.isEmpty || found.map { $0.isLocalCurrent && $0.local?.status != nil } ?? false
        guard path.isEmpty || !selection.isLeftOut(path) else {
            if isHere, found?.isPresent == true, found?.isDirectory == false { return nil }
            throw ControlError(
                .notKept,
                "\(name) is not selected, so it is not downloaded; select it with `synctrain select`, or download it once with "
                    + "`synctrain fetch`", path: name)
        }
        if let reason = status.indexWait { return Phrase("\(folder.id): \(reason)") }
        // What a folder of one direction does not take, or was changed in it, is not missing, as `status` has it.
        if folder.configuration.kind == .sendOnly, path.isEmpty || found?.local?.status != nil { return nil }
        guard let found, found.isPresent || found.isDirectory else {
            return Phrase("no device has reported \(name) yet")
        }
        let needed =
            path.isEmpty
            ? [] : try await index.needed(in: folder.id, names: [path], isKept: { !selection.isLeftOut($0) })
        let isChangedHere = found.local?.status != nil && needed.contains(where: \.isChangedHere)
        if found.isPresent, !isHere, !isChangedHere {
            return Phrase("\(name) is not present in its newest version yet")
        }
        guard found.isDirectory else {
            return isChangedHere || needed.allSatisfy(\.lacksOnlyVersion)
                ? nil : Phrase("\(name) is not present in its newest version yet")
        }
        let need = try await index.neededTotals(
            in: folder.id, below: path, isKept: { !selection.isLeftOut($0) },
            mayContain: { selection.mayContainSelected($0) })
        guard need != NeededTotals() else { return nil }
        return Phrase(
            "\(need.items.count) names in \(name) are not present yet, and \(need.deletions) are to be deleted")
    }
}
