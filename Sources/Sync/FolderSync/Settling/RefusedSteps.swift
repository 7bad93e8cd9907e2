import AgentContext
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// What devices announce that may only read. Reads only; needs no turn.
package struct RefusedReading: Sendable {
    /// Refused versions that are counted, listed and settled at once.
    package static let limit = 10_000

    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// Lists the changes by devices that may only read.
    ///
    /// - Throws: `IndexStoreError`; what `emit` throws; `CancellationError`.
    package func list(emit: @Sendable (RefusedChange) async throws -> Void) async throws {
        let known = folder.tools.knownDevices()
        for version in try await versions() {
            let file = version.file
            let name = known.first { $0.id == version.device }?.name ?? ""
            try await emit(
                RefusedChange(
                    folder: folder.id.rawValue, path: file.name, device: version.device.description, name: name,
                    change: version.change, kind: file.kind.word, size: file.isDeleted ? 0 : file.size,
                    modified: file.modifiedText,
                    current: version.current.map { current in
                        let local = version.facts.local
                        return RefusedChange.Current(
                            size: current.size, modified: current.modifiedText,
                            isHere: local?.status != nil && local?.file.version == current.version)
                    }))
        }
    }

    /// By name, those of one name by device: about `limit` of those that are meant.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func versions(
        where isMeant: (RefusedVersion) -> Bool = { _ in true }
    ) async throws -> [RefusedVersion] {
        var versions: [RefusedVersion] = []
        var cursor: RefusedPage.Cursor?
        repeat {
            let page = try await folder.index.store.refused(
                in: folder.id, after: cursor, limit: FolderIndex.pageLimit)
            versions += page.versions.filter(isMeant)
            cursor = page.next
        } while cursor != nil && versions.count < Self.limit
        return versions.sorted { left, right in
            NameKey(left.file.name) == NameKey(right.file.name)
                ? left.device < right.device : left.file.name.utf8.lexicographicallyPrecedes(right.file.name.utf8)
        }
    }
}

/// Lets in what was refused, or takes it back.
package struct SettleRefusedStep: FolderStep {
    package let paths: [String]
    package let action: RefusalRequest.Action
    /// Nil for all devices.
    package var devices: Set<DeviceID>?
    package var isDryRun = false

    package init(
        paths: [String], action: RefusalRequest.Action, devices: Set<DeviceID>? = nil, isDryRun: Bool = false
    ) {
        self.paths = paths
        self.action = action
        self.devices = devices
        self.isDryRun = isDryRun
    }

    /// - Throws: `FolderError` for a folder that only receives, and where nothing is refused.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> RefusalOutcome {
        if action == .revert, folder.rules.kind == .receiveOnly { throw FolderError.receivesOnly(.revert) }
        let chosen = try await RefusedReading(folder: folder).versions { version in
            devices?.contains(version.device) ?? true && paths.contains { version.file.name.isAtOrBelow($0) }
        }
        // Beyond the limit nobody has looked.
        for path in paths where chosen.count < RefusedReading.limit {
            guard chosen.contains(where: { $0.file.name.isAtOrBelow(path) }) else {
                throw FolderError.nothingRefused(path)
            }
        }
        var settling = Settling(
            outcome: RefusalOutcome(folder: folder.id.rawValue, action: action, isDryRun: isDryRun))
        switch action {
        case .accept: try await accept(chosen, folder, &settling, &work)
        case .revert: try await revert(chosen, folder, &settling, &work)
        }
        work.effects.pull = .everything
        return settling.outcome
    }

    private struct Settling {
        var outcome: RefusalOutcome

        mutating func count(_ version: RefusedVersion) {
            outcome.count += 1
            switch version.change {
            case .new: break
            case .changed: outcome.replacements += 1
            case .deleted: outcome.deletions += 1
            }
            if outcome.names.count < RefusalOutcome.nameLimit { outcome.names.append(version.file.name) }
        }

        mutating func stay(_ version: RefusedVersion, _ reason: String, _ message: Phrase) {
            guard outcome.staying.count < RefusalOutcome.nameLimit else { return }
            outcome.staying.append(
                StayingName(
                    path: version.file.name, size: version.file.isDeleted ? 0 : version.file.size, reason: reason,
                    message: message))
        }
    }

    private func accept(
        _ chosen: [RefusedVersion], _ folder: FolderContext, _ settling: inout Settling, _ work: inout FolderWork
    ) async throws {
        for version in chosen { settling.count(version) }
        guard !settling.outcome.isDryRun else { return }
        let selection = folder.selection
        for start in stride(from: 0, to: chosen.count, by: FolderIndex.pageLimit) {
            let page = Array(chosen[start..<min(start + FolderIndex.pageLimit, chosen.count)])
            let names = try await folder.index.store.accept(
                page, in: folder.id, isIgnored: { selection.isLeftOut($0) }
            ).names
            folder.index.announcements.changed()
            work.effects.pull.add(names)
        }
    }

    /// Announces what is here as later than what is refused. What is to be deleted there comes from below upwards.
    private func revert(
        _ chosen: [RefusedVersion], _ folder: FolderContext, _ settling: inout Settling, _ work: inout FolderWork
    ) async throws {
        let now = folder.now
        var given: [LocalChange] = []
        var deleted: [LocalChange] = []
        for versions in Self.byName(chosen) {
            guard let version = versions.first else { continue }
            let facts = version.facts
            let reversal = LocalChanges.reverting(
                versions.map(\.file), local: facts.localVersion, global: facts.global, rules: folder.rules,
                unixSeconds: now)
            switch reversal {
            case .announce(let announced):
                settling.count(version)
                guard !settling.outcome.isDryRun else { continue }
                // Without its blocks it is not what is here any more; the next look finds out what is.
                guard let file = try await folder.index.withBlocks(announced.file) else {
                    work.effects.rescan(facts.name)
                    continue
                }
                let entry = LocalEntry(
                    LocalVersion(file: file, isOnDisk: announced.isOnDisk),
                    announced.isOnDisk ? facts.local?.status : nil)
                if file.isDeleted { deleted.append(.set(entry)) } else { given.append(.set(entry)) }
            case .notHere:
                settling.stay(
                    version, "not-here",
                    Phrase(
                        "this device does not have the accepted version; select it here, wait until it is downloaded, and try "
                            + "again, or revert it on a device that has it"))
            case .lost:
                settling.stay(
                    version, "lost", Phrase("no device has it any more; accept the deletion"))
            case .inTheWay:
                settling.stay(
                    version, "in-the-way",
                    Phrase("another file has this path on this disk; resolve it first (`synctrain extraneous list`)"))
            }
        }
        let changes = given + deleted.reversed()
        for start in stride(from: 0, to: changes.count, by: FolderIndex.pageLimit) {
            try await folder.index.apply(
                Array(changes[start..<min(start + FolderIndex.pageLimit, changes.count)]), &work)
        }
    }

    /// Those of one name together; `versions` are in the order of names.
    private static func byName(_ versions: [RefusedVersion]) -> [[RefusedVersion]] {
        versions.reduce(into: []) { groups, version in
            if let last = groups.indices.last, NameKey(groups[last][0].file.name) == NameKey(version.file.name) {
                groups[last].append(version)
            } else {
                groups.append([version])
            }
        }
    }
}

extension RefusedVersion {
    /// What the folder has under the name.
    fileprivate var current: FileInfo? { facts.global.flatMap { $0.isDeleted ? nil : $0 } }

    fileprivate var change: RefusedChange.Kind { file.isDeleted ? .deleted : current == nil ? .new : .changed }
}

extension FileInfo {
    fileprivate var modifiedText: String {
        WallTime(seconds: modifiedSeconds, nanoseconds: modifiedNanoseconds).rfc3339
    }
}

extension FileInfo.Kind {
    fileprivate var word: String {
        switch self {
        case .file: "file"
        case .directory: "directory"
        case .symlink, .symlinkToFile, .symlinkToDirectory: "symlink"
        }
    }
}
