import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation

/// What devices announce that may only read: showing it, letting it in, and taking it back.
extension FolderEngine {
    /// Refused versions that are counted, listed and settled at once.
    static let refusedLimit = 10_000
    private static let pageLimit = 1000

    func refused(emit: @Sendable (RefusedChange) async throws -> Void) async throws {
        let known = environment.knownDevices()
        for version in try await refusedVersions() {
            let file = version.file
            let name = known.first { $0.id == version.device }?.name ?? ""
            try await emit(
                RefusedChange(
                    folder: folder.rawValue, path: file.name, device: version.device.description, name: name,
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

    func settleRefused(
        _ paths: [String], _ action: RefusalRequest.Action, of devices: Set<DeviceID>?, isDryRun: Bool
    ) async throws -> RefusalOutcome {
        let outcome = try await exclusively { [self] in
            let place = try await currentPlace()
            if action == .revert, rules.kind == .receiveOnly {
                throw ControlError(
                    .invalidRequest,
                    "\(folder) only receives here: what is done here is not sent; revert on a device that sends",
                    path: folder.rawValue)
            }
            let all = try await refusedVersions().filter { devices?.contains($0.device) ?? true }
            let chosen = try Self.chosen(paths, from: all, in: folder)
            var settling = Settling(
                outcome: RefusalOutcome(folder: folder.rawValue, action: action, isDryRun: isDryRun))
            switch action {
            case .accept: try await accept(chosen, place, &settling)
            case .revert: try await revert(chosen, place, &settling)
            }
            return settling.outcome
        }
        session.engineChanged()
        wakeUp()
        return outcome
    }

    /// By name, those of one name by device.
    private func refusedVersions() async throws -> [RefusedVersion] {
        var versions: [RefusedVersion] = []
        var cursor: RefusedPage.Cursor?
        repeat {
            let page = try await index.refused(in: folder, after: cursor, limit: Self.pageLimit)
            versions += page.versions
            cursor = page.next
        } while cursor != nil && versions.count < Self.refusedLimit
        return versions.sorted { left, right in
            left.file.name == right.file.name
                ? left.device < right.device : left.file.name.utf8.lexicographicallyPrecedes(right.file.name.utf8)
        }
    }

    /// Those at and below `paths`; throws if there is none at one of them.
    private static func chosen(
        _ paths: [String], from all: [RefusedVersion], in folder: FolderID
    ) throws -> [RefusedVersion] {
        func isMeant(_ version: RefusedVersion, by path: String) -> Bool {
            path.isEmpty || version.file.name == path || version.file.name.hasPrefix(path + "/")
        }
        for path in paths where !all.contains(where: { isMeant($0, by: path) }) {
            throw ControlError(
                .noSuchPath,
                "nothing is refused at \(folder):\(path); `synctrain refused list` shows what is", path: path)
        }
        return all.filter { version in paths.contains { isMeant(version, by: $0) } }
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

        mutating func stay(_ version: RefusedVersion, _ reason: String, _ message: String) {
            guard outcome.staying.count < RefusalOutcome.nameLimit else { return }
            outcome.staying.append(
                StayingName(
                    path: version.file.name, size: version.file.isDeleted ? 0 : version.file.size, reason: reason,
                    message: message))
        }
    }

    private func accept(
        _ chosen: [RefusedVersion], _ place: FolderPlace, _ settling: inout Settling
    ) async throws {
        for version in chosen { settling.count(version) }
        guard !settling.outcome.isDryRun else { return }
        let selection = place.selection
        for start in stride(from: 0, to: chosen.count, by: Self.pageLimit) {
            let page = Array(chosen[start..<min(start + Self.pageLimit, chosen.count)])
            let names = try await index.accept(page, in: folder, isIgnored: { selection.isLeftOut($0) }).names
            session.ownIndexChanged()
            indexChanged(at: names)
        }
    }

    /// Announces what is here as later than what is refused. What is to be deleted there comes from below upwards.
    private func revert(
        _ chosen: [RefusedVersion], _ place: FolderPlace, _ settling: inout Settling
    ) async throws {
        let now = environment.time.wall().seconds
        var given: [LocalChange] = []
        var deleted: [LocalChange] = []
        for versions in Self.byName(chosen) {
            guard let version = versions.first else { continue }
            let facts = version.facts
            let reversal = LocalChanges.reverting(
                versions.map(\.file), local: facts.localVersion, global: facts.global, rules: rules, unixSeconds: now)
            switch reversal {
            case .announce(let announced):
                settling.count(version)
                guard !settling.outcome.isDryRun else { continue }
                // Without its blocks it is not what is here any more; the next look finds out what is.
                guard let file = try await withBlocks(announced.file) else {
                    if let path = RelativePath(facts.name) { scanSoon([path]) }
                    continue
                }
                let entry = LocalEntry(
                    LocalVersion(file: file, isOnDisk: announced.isOnDisk),
                    announced.isOnDisk ? facts.local?.status : nil)
                if file.isDeleted { deleted.append(.set(entry)) } else { given.append(.set(entry)) }
            case .notHere:
                settling.stay(
                    version, "not-here",
                    "this device has not the version that counts; select it here, wait until it has come, and try "
                        + "again, or revert it on a device that has it")
            case .lost:
                settling.stay(
                    version, "lost", "no device has it any more, so that nobody can give it back; accept the deletion")
            case .inTheWay:
                settling.stay(
                    version, "in-the-way",
                    "something else lies there on this disk; settle that first (`synctrain extraneous list`)")
            }
        }
        let changes = given + deleted.reversed()
        for start in stride(from: 0, to: changes.count, by: Self.pageLimit) {
            try await apply(Array(changes[start..<min(start + Self.pageLimit, changes.count)]), place)
        }
    }

    /// Those of one name together; `versions` are in the order of names.
    private static func byName(_ versions: [RefusedVersion]) -> [[RefusedVersion]] {
        versions.reduce(into: []) { groups, version in
            if let last = groups.indices.last, groups[last].first?.file.name == version.file.name {
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
