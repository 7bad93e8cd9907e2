import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore

/// Says how a folder is, from what its boards and the index have; starts nothing.
struct FolderStatusReading: Sendable {
    let folder: Folder
    let index: IndexStore

    func status() async -> FolderStatus {
        let configuration = folder.configuration
        let activity = folder.boards.status.snapshot
        var halt = activity.halt
        let place = folder.boards.places.current
        if case .failure(let failure) = place { halt = halt ?? failure }
        if let gap = folder.exchange.gap {
            halt = halt ?? FolderHalt(reason: .error, message: gap)
            halt?.isIndexIncomplete = true
        }
        var totals = FolderTotals()
        var refused = 0
        do {
            totals = try await index.totals(of: folder.id)
            let hidden = try await InternalContent.sums(in: folder.id, index, try? place.get().selection)
            totals.global -= hidden.below
            totals.local -= hidden.present
            refused = try await index.refusedCount(in: folder.id, limit: RefusedReading.limit).count
        } catch {
            halt = FolderHalt(reason: .error, message: Phrase(of: error), isIndexIncomplete: true)
        }
        let need = activity.need
        let state: FolderState =
            if configuration.isPaused {
                .paused
            } else if let halt {
                FolderState(rawValue: halt.reason.rawValue)
            } else if folder.exchange.isReceiving {
                .receivingIndex
            } else if activity.isShortOfSpace, need != NeededTotals() {
                .lowSpace
            } else {
                folder.runner.condition
            }
        var needTotals = need.items.asTotals
        needTotals.deletions = need.deletions
        return FolderStatus(
            id: folder.id.rawValue, label: configuration.label, path: configuration.path,
            mode: configuration.mode.rawValue,
            type: configuration.kind.rawValue, state: state.rawValue, message: text(state, halt),
            devices: configuration.devices.map(\.description), global: totals.global.asTotals,
            local: totals.local.asTotals, need: needTotals, extraneous: activity.extraneous,
            conflicts: activity.conflicts, errors: Int64(activity.problemCount),
            problems: activity.firstProblems(FolderStatus.problemLimit).map {
                FolderProblem(path: $0.path, message: $0.message)
            },
            watch: configuration.isPaused
                ? nil
                : FolderStatus.Watch(
                    state: activity.watch.state, message: activity.watch.message,
                    watched: Int64(activity.watch.watched)),
            waiting: activity.waiting.map {
                FolderStatus.Waiting(
                    files: $0.files, bytes: $0.bytes, message: $0.obstacle.text(folder: folder.id.rawValue),
                    command: $0.obstacle.command(folder: folder.id.rawValue), reason: $0.obstacle.reason)
            }, bluetooth: configuration.bluetooth.rawValue, bluetoothLimit: configuration.bluetoothLimit,
            lastScan: activity.lastScan?.rfc3339,
            refused: Int64(refused), roles: configuration.rolesByDevice,
            isIncomplete: halt?.isIndexIncomplete ?? false,
            hints: (try? place.get())?.differences.map(\.message) ?? [], scrub: scrub,
            heldDeletions: halt == nil && !configuration.isPaused
                ? folder.runner.memory.unconfirmed(folder.id, held: activity.heldDeletions) : nil)
    }

    private var scrub: FolderStatus.Scrub? {
        let (board, last) = (folder.boards.scrub, folder.boards.scrub.last)
        let (damaged, isRunning) = (Int64(board.allDamaged.count), board.running != nil)
        guard last != nil || isRunning || damaged > 0 else { return nil }
        return FolderStatus.Scrub(
            ended: last.map { WallTime(seconds: $0.updated).rfc3339 }, files: last?.files ?? 0, bytes: last?.bytes ?? 0,
            damaged: damaged, isRunning: isRunning)
    }

    private func text(_ state: FolderState, _ halt: FolderHalt?) -> Phrase? {
        if let halt { return halt.text }
        guard state == .lowSpace else { return nil }
        return Phrase("not enough free space for the needed files and minimum-free; free some space, or deselect files")
    }
}

extension Aggregate {
    /// For display: symbolic links count as files, and `symlinks` says how many there are.
    var asTotals: FolderStatus.Totals {
        FolderStatus.Totals(
            files: fileCount, directories: directories, bytes: bytes, symlinks: symlinks == 0 ? nil : symlinks)
    }
}

extension FolderConfiguration {
    /// The roles other than `write`, by device id, for `status`.
    var rolesByDevice: [String: String] {
        Dictionary(
            devices.compactMap { device in
                let role = role(of: device)
                return role == .write ? nil : (device.description, role.rawValue)
            }, uniquingKeysWith: { first, _ in first })
    }
}
