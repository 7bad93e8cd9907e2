import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import IndexStore
import Names
import Reconciliation

/// Checking what is here takes more than one step: files are read outside of the turn.
extension FolderRunner {
    /// After a check that failed, and one that made way, the next is tried so much later.
    private static let scrubRetry: Duration = .seconds(3600)
    private static let scrubPause: Duration = .seconds(60)

    /// Reads which files are damaged, and forgets those that were repaired, edited or removed.
    func readDamaged() async throws {
        let known = try await store.damagedFiles(in: id)
        if !known.stale.isEmpty { try await store.forgetDamaged(known.stale, in: id) }
        if boards.scrub.isUnread { boards.scrub.set(last: try await store.lastScrub(in: id)) }
        boards.scrub.set(damaged: known.current)
        boards.status.set(damaged: known.current.map { ($0.name, ProblemText.damaged($0, in: id)) })
    }

    /// After a step that may have changed a damaged file. What cannot be read now is read after the next one.
    func rereadDamaged() async {
        do {
            try await readDamaged()
        } catch {
            tools.logger.warning("cannot read which files are damaged: \(error)")
        }
    }

    /// Checks what is at and below `path` for a person who waits; goes on where an earlier check of the last day was ended.
    ///
    /// - Parameters:
    ///   - path: empty for the whole folder.
    ///   - isRepairing: whether what is damaged is repaired with what other devices have.
    ///   - emit: gets the progress, then each damaged file with its repair, and the end.
    /// - Throws: `FolderError.scrubbing` if somebody else waits for a check of this folder; `notOnDisk`; `FolderHalt`.
    package func scrub(
        below path: String, isRepairing: Bool, emit: (ScrubEvent) async throws -> Void
    ) async throws {
        guard boards.scrub.beginWanting() else { throw FolderError.scrubbing }
        defer { boards.scrub.endWanting() }
        try await boards.scrub.turn.withUnits(1) {
            let started = tools.time.monotonic()
            let outcome = try await check(below: path, isScheduled: false, emit: emit)
            var (damaged, repaired) = (Int64(0), Int64(0))
            for file in boards.scrub.allDamaged where file.name.isAtOrBelow(path) {
                let holders = try await DamageRepair.told(of: file, in: reading())
                try await emit(.damaged(id.rawValue, file, holders: holders))
                guard isRepairing else {
                    damaged += 1
                    continue
                }
                do {
                    let fetched = try await repair(file)
                    repaired += 1
                    try await emit(.repaired(id.rawValue, path: file.name, bytes: fetched))
                } catch let error where !(error is CancellationError) {
                    damaged += 1
                    let told = ControlError(describing: error, path: file.name)
                    try await emit(.failed(id.rawValue, path: file.name, error: told))
                }
            }
            let seconds = (tools.time.monotonic() - started).components
            try await emit(
                .done(
                    id.rawValue, files: outcome.tally.files, bytes: outcome.tally.bytes, damaged: damaged,
                    repaired: repaired, changed: outcome.changed,
                    seconds: Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18))
        }
    }

    private func check(
        below path: String, isScheduled: Bool, emit: (ScrubEvent) async throws -> Void
    ) async throws -> ScrubRun.Outcome {
        // What is damaged is known before the first file is checked.
        try await readDamaged()
        let run = ScrubRun(
            folder: try reading(), path: path, isScheduled: isScheduled, heed: { try await self.perform($0) })
        let outcome = try await run.run(emit: emit)
        try await readDamaged()
        let (tally, damaged) = (outcome.tally, boards.scrub.allDamaged.count)
        tools.logger.notice(
            "scrub: \(tally.files) files, \(ByteText.size(tally.bytes)) checked, \(damaged) damaged, \(outcome.changed) to be scanned"
        )
        return outcome
    }

    /// - Returns: how many bytes other devices sent.
    private func repair(_ file: DamagedFile) async throws -> Int64 {
        let repair = DamageRepair(folder: try reading(), damaged: file)
        do {
            let (placement, fetched) = try await repair.stage()
            switch try await place([[placement]]).first?.1 {
            case .done:
                tools.logger.notice(
                    "scrub: \(file.name) was repaired; \(ByteText.size(fetched)) came from other devices")
                return fetched
            case .failed(let error): throw error
            case .outdated: throw FetchError.outdated(file.name)
            default: throw FileAccessError(.changedOnDisk, .rename, path: file.name)
            }
        } catch {
            // The next try may use what was staged.
            boards.inbox.noteTemporaries([RelativePath(file.name)?.temporaryPath].compactMap { $0 })
            throw error
        }
    }

    // MARK: on schedule

    /// Checks the folder at the interval that the settings say, until cancelled.
    func scrubOnSchedule() async {
        guard let interval = boards.places.configuration.scrubInterval else { return await Signal().wait() }
        await boards.inbox.firstScan.wait()
        while !Task.isCancelled {
            var pause = Self.scrubRetry
            do {
                let left = ScrubSchedule.pause(
                    every: Int64(interval), last: try await store.lastScrub(in: id),
                    underWay: try await store.scrubUnderWay(in: id, below: ""), at: tools.time.wall().seconds)
                if left > 0 {
                    // The wall clock may be set, and the machine may sleep.
                    pause = min(pause, .seconds(left))
                } else {
                    pause = Self.scrubPause
                    try await boards.scrub.turn.withUnits(1) {
                        _ = try await check(below: "", isScheduled: true, emit: { _ in })
                    }
                }
            } catch is CancellationError {
                return
            } catch is ScrubRun.MadeWay {
                pause = Self.scrubPause
            } catch {
                tools.logger.warning("the folder was not scrubbed: \(error)")
            }
            try? await tools.time.clock.sleep(for: pause)
        }
    }
}
