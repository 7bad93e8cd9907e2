import Arithmetic
import BlockExchange
import FileAccess
import IndexStore
import Reconciliation

/// What was left by fetches that ended before their time.
extension FolderEngine {
    /// Temporary files that one look clears away.
    static let temporaryLimit = 10_000
    /// After this, a temporary file is given up even if what it is to become may still be wanted.
    private static let temporaryLifetime: Int64 = 86_400

    /// These files were found, or left, by somebody who put them together.
    func noteTemporaries(_ paths: some Sequence<RelativePath>) {
        state.withLock { state in
            for path in paths where state.temporaries.count < Self.temporaryLimit { state.temporaries.insert(path) }
        }
    }

    /// Removes what fetches that ended before their time have left, once it is of no use: what it was to become is here,
    /// or has been deleted. What a later fetch may go on with stays for a day.
    func removeTemporaries(_ place: FolderPlace) async throws {
        let paths = state.withLock { state in
            defer { state.temporaries = [] }
            return state.temporaries.sorted()
        }
        guard !paths.isEmpty else { return }
        do {
            noteTemporaries(try await removeUseless(paths, place))
        } catch {
            noteTemporaries(paths)
            throw error
        }
    }

    /// Gives those that stay.
    private func removeUseless(_ paths: [RelativePath], _ place: FolderPlace) async throws -> [RelativePath] {
        let targets = paths.map { $0.temporaryTarget?.text }
        let facts = Dictionary(
            try await facts(targets.compactMap { $0 }).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let now = environment.time.wall().seconds
        let found = zip(paths, targets).map { path, target in
            (path, isUseless: target.flatMap { facts[$0] }.map(Self.needsNothing) ?? false)
        }
        let root = place.root
        return try await environment.fetching.threads.runIfActive { [logger] in
            var kept: [RelativePath] = []
            for (path, isUseless) in found {
                do throws(FileAccessError) {
                    guard let status = try root.status(of: path) else { continue }
                    let isOld = now.subtractingClamped(status.modified.seconds) > Self.temporaryLifetime
                    if isUseless || isOld, try root.removeTemporary(path) { continue }
                    kept.append(path)
                } catch {
                    logger.debug("\(path.text) is left where it is: \(error.message)")
                }
            }
            return kept
        }
    }

    /// Whether no fetch of the name can be under way or to come.
    private static func needsNothing(_ facts: NameFacts) -> Bool {
        guard let global = facts.global else { return false }
        if global.isDeleted { return true }
        guard let local = facts.local, local.status != nil else { return false }
        return local.file.version == global.version
    }

    /// Finishes or undoes replacements and removals that a crash cut short. What somebody put into a place at the last
    /// instant is kept as a conflict copy: the place may be another's by now.
    func settle(_ swaps: [RelativePath], _ place: FolderPlace) async throws {
        var copies: [RelativePath] = []
        for path in swaps {
            let root = place.root
            do {
                let settled = try await environment.fetching.threads.runIfActive { try root.settleSwap(path) }
                guard case .displaced = settled else { continue }
                guard let target = try await target(ofSwap: path) else {
                    activity.note(
                        "what was written here while another device's version came; move it away", at: path.text)
                    continue
                }
                let copy = try conflictCopy(of: target, by: environment.localDevice.shortID, in: root)
                try await environment.fetching.threads.runIfActive {
                    try root.rename(path, to: copy, replacing: .nothing)
                }
                copies.append(copy)
            } catch let error as FileAccessError {
                activity.note(error.message, at: path.text)
            }
        }
        if !copies.isEmpty { scanSoon(copies) }
    }

    private func target(ofSwap path: RelativePath) async throws -> RelativePath? {
        if let target = path.swapTarget { return target }
        let known = try await index.localChildren(of: folder, directory: path.parent?.text ?? "")
        return known.lazy.compactMap { RelativePath($0.file.name) }.first { path.isSwap(with: $0.name) }
    }

    /// A free name for the loser of a conflict over `path`.
    func conflictCopy(of path: RelativePath, by device: ShortID, in root: RootDirectory) throws -> RelativePath {
        let now = environment.time.wall().seconds
        let time = ConflictTime(unixSeconds: now, utcOffset: environment.utcOffset(now))
        let name = ConflictName.copy(of: path.text, at: time, by: device) { name in
            guard let path = RelativePath(name) else { return false }
            return (try? root.status(of: path)) ?? nil != nil
        }
        return try RelativePath(parsing: name)
    }
}
