import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Reconciliation
import SyncTestKit

@testable import FolderSync

/// What people do with their files.
extension Simulation {
    private static let directories = ["d", "d/e", "p", "p/q"]
    private static let leaves = ["a.txt", "b", "c.md"]

    static let names =
        leaves + directories.flatMap { directory in leaves.prefix(2).map { "\(directory)/\($0)" } }

    /// Where users put files.
    private func fileNames(_ agent: SimulatedAgent) -> [String] {
        if weather.renamesClashes, !generator.isOne(in: 8) { return Self.clashing }
        if !weather.folding.isEmpty {
            return Self.names + Self.doubles + (agent.files.folding?.normalizes == true ? [Self.decomposed] : [])
        }
        return weather.collides ? Self.names + ["d", "d", "p/q", "d/e"] : Self.names
    }

    /// Names that a disk that folds takes for one with another of these or of the usual ones.
    private static let doubles = [
        "A.TXT", "B", "C.md", "D/a.txt", "d/B", "P/a.txt", "p/Q/b", "p/\u{e9}", "p/\u{c9}",
    ]

    private static let clashing = ["a.txt", "A.TXT", "b", "B", "p/\u{e9}", "p/\u{c9}", "d/b", "d/B"]

    /// `é` of two characters: not synced, and the place of what is.
    private static let decomposed = "p/e\u{301}"
    static let accent: Unicode.Scalar = "\u{301}"

    private var directories: [String] { weather.folding.isEmpty ? Self.directories : Self.directories + ["D", "p/Q"] }

    /// One thing that the agent's user does.
    ///
    /// - Parameter isByHand: without a word to the agent, which is in the middle of something.
    func actAsUser(of agent: SimulatedAgent, isByHand: Bool = false) async {
        if weather.frees {
            if !isByHand || agent.process == nil { await actInFreeingWorld(agent) } else { write(agent) }
            return
        }
        if weather.settles, !isByHand, generator.isOne(in: 6) { return await settleSomething(agent) }
        if weather.hasNotes, !isByHand, generator.isOne(in: 4) { return await noteSomething(agent) }
        switch generator.int(0...(weather.collides ? 79 : isByHand ? 87 : 99)) {
        case 0..<32: write(agent)
        case 32..<40: append(agent)
        case 40..<50: rename(agent)
        case 50..<55: renameDirectory(agent)
        case 55..<64: delete(agent)
        case 64..<67: deleteDirectory(agent)
        case 67..<71: makeDirectory(agent)
        case 71..<75: makeSymlink(agent)
        case 75..<80: changePermissions(agent)
        case 80..<88: editIgnoreFile(agent)
        case 88..<91: await freeSpace(agent)
        default: await changeSelection(agent)
        }
    }

    /// Two users do something to the same file, and the agent of the second hears of what the first did before it has
    /// seen what its own user does.
    func race() async throws {
        let pairs = pairs.filter { network.isUp($0) }
        guard !pairs.isEmpty else { return }
        let pair = generator.pick(pairs)
        let (first, second) = (agents[pair.from], agents[pair.to])
        let names = Self.names.filter { first.files.isFile($0) && second.files.content($0) == first.files.content($0) }
        guard !names.isEmpty else { return }
        let name = generator.pick(names)
        trace.note("race over \(name)")
        generator.isOne(in: 2) ? delete(first, name) : write(first, name)
        first.process?.folder.boards.inbox.scan([RelativePath(name)].compactMap { $0 })
        try await work(first)
        let hadHints = isUnseen
        isUnseen = true
        generator.isOne(in: 3) ? append(second, name) : write(second, name)
        isUnseen = hadHints
        await carry(pair)
        try await work(second)
    }

    /// The agent's watcher sees most of what its user does, when the file is closed.
    ///
    /// - Parameter isNew: whether a name was not there before, where the kernel has not written out yet what it is; nil where it
    ///   has.
    private func did(_ agent: SimulatedAgent, _ what: String, _ names: String..., leftToKernel isNew: Bool? = nil) {
        trace.note("user \(agent.number): \(what)\(isNew == nil ? "" : ", not written out")")
        for name in names {
            let path = "\(agent.files.root)/\(name)"
            if let isNew {
                agent.disk.writtenByUser(path, isNew: isNew)
            } else {
                agent.disk.changedByUser(path)
            }
        }
        hideRealTimes(agent)
        guard !isUnseen, let folder = agent.process?.folder, !generator.isOne(in: 3) else { return }
        folder.boards.inbox.scan(names.compactMap { RelativePath($0) })
    }

    /// Bytes that nobody wrote before: short, or of up to four blocks.
    private var freshBytes: [UInt8] {
        let number = ledger.writings.count
        var bytes = Array("\(seed)/\(number)\n".utf8)
        var random = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
        switch random.int(0...9) {
        case 0: bytes += random.bytes(random.int(1...3) * (128 << 10) + random.int(0...100))
        case 1...4: bytes += random.bytes(random.int(0...400))
        default: break
        }
        return bytes
    }

    /// Whether the kernel has not written out by itself what a user has just written.
    private func leavesToKernel(_ content: SHA256Digest) -> Bool {
        guard weather.powerLoss, ledger.writings.count % 2 == 0 else { return false }
        ledger.leftToKernel.insert(content)
        return true
    }

    /// What a loss of power took before anybody had heard of it is its user's loss, and what it left in its place is nobody's.
    func noteLoss(of agent: SimulatedAgent) {
        for loss in agent.losses where ledger.leftToKernel.contains(loss.content) {
            if !agents.contains(where: { $0.files.holdsAnywhere(loss.content) }) { ledger.supersede(loss.content) }
            guard let left = loss.left, ledger.writings[left] == nil else { continue }
            // Two agents may be left with the same: it is of neither.
            ledger.wrote(left, at: "what a loss of power left", by: -1)
            ledger.supersede(left)
        }
    }

    private func stamp(_ agent: SimulatedAgent, _ name: String) {
        let wall = agent.wall
        agent.files.setTime(
            FileTime(seconds: wall.seconds, nanoseconds: Int32(generator.int(1...999_999_999))), of: name)
    }

    /// Makes the directories above a name. False if something else is in their way.
    private func makeParents(_ agent: SimulatedAgent, of name: String) -> Bool {
        guard let slash = name.lastIndex(of: "/") else { return true }
        let parent = String(name[..<slash])
        if agent.files.isDirectory(parent) { return true }
        return makeParents(agent, of: parent) && agent.files.makeDirectory(parent)
    }

    func write(_ agent: SimulatedAgent, _ name: String? = nil) {
        let name = agent.files.listed(name ?? generator.pick(fileNames(agent)))
        guard !agent.files.isDirectory(name), makeParents(agent, of: name) else { return }
        let before = agent.files.content(name)
        let isNew = agent.files.status(name) == nil
        let bytes = freshBytes
        let isInPlace = generator.isOne(in: 2) && (before != nil || agent.files.status(name) == nil)
        guard isInPlace ? agent.files.write(bytes, to: name) : agent.files.replace(name, with: bytes) else { return }
        stamp(agent, name)
        ledger.supersede(before)
        if agent.mayKeep(name) { ledger.supersedeOwn(removedFrom: name, by: agent.number) }
        if weather.frees { supersedeFreed(name, by: agent) }
        ledger.writesAgain(name, isNew: isNew, by: agent.number)
        let content = SHA256.digest(bytes)
        ledger.wrote(content, at: name, by: agent.number)
        let isLeft = isInPlace && leavesToKernel(content)
        did(
            agent, "writes \(name) \(Self.short(content))\(before.map { " over \(Self.short($0))" } ?? "")", name,
            leftToKernel: isLeft ? isNew : nil)
    }

    func append(_ agent: SimulatedAgent, _ name: String? = nil) {
        let name = agent.files.listed(name ?? generator.pick(weather.folding.isEmpty ? Self.names : fileNames(agent)))
        guard let before = agent.files.read(name) else { return }
        let bytes = before + freshBytes
        guard bytes.count < 2 << 20, agent.files.write(bytes, to: name) else { return }
        stamp(agent, name)
        ledger.supersede(SHA256.digest(before))
        let content = SHA256.digest(bytes)
        ledger.wrote(content, at: name, by: agent.number)
        did(
            agent, "appends to \(name) \(Self.short(content)) over \(Self.short(SHA256.digest(before)))", name,
            leftToKernel: leavesToKernel(content) ? false : nil)
    }

    private func rename(_ agent: SimulatedAgent) {
        let (from, to) = (agent.files.listed(generator.pick(fileNames(agent))), generator.pick(fileNames(agent)))
        guard !from.utf8.elementsEqual(to.utf8), agent.files.status(from) != nil, !agent.files.isDirectory(from),
            !agent.files.isDirectory(to), makeParents(agent, of: to)
        else { return }
        let before = agent.files.listed(to) == from ? nil : agent.files.content(to)
        let wasKept = agent.mayKeep(from)
        guard agent.files.rename(from, to: to) else { return }
        ledger.supersede(before)
        if wasKept, let moved = agent.files.content(to) { ledger.movedAway[moved, default: []].insert(agent.number) }
        did(agent, "renames \(from) to \(to)\(before.map { " over \(Self.short($0))" } ?? "")", from, to)
    }

    private func renameDirectory(_ agent: SimulatedAgent) {
        let (from, to) = (agent.files.listed(generator.pick(directories)), generator.pick(directories))
        guard from != to, !agent.files.listed(to).hasPrefix(from + "/"), agent.files.isDirectory(from),
            agent.files.status(to) == nil || agent.files.listed(to) == from,
            makeParents(agent, of: to)
        else { return }
        let kept = agent.files.allNames(below: from, all: true).filter(agent.mayKeep).compactMap(agent.files.content)
        guard agent.files.rename(from, to: to) else { return }
        for content in kept { ledger.movedAway[content, default: []].insert(agent.number) }
        agent.movedDirectory(to: to)
        did(agent, "renames the directory \(from) to \(to)", from, to)
    }

    func delete(_ agent: SimulatedAgent) {
        // Conflict copies are deleted by people too, once they have looked at them.
        let names = agent.files.userNames().filter { !agent.files.isDirectory($0) }
        guard !names.isEmpty else { return }
        delete(agent, generator.pick(names))
    }

    private func delete(_ agent: SimulatedAgent, _ name: String) {
        let before = agent.files.content(name)
        guard agent.files.remove(name) else { return }
        supersedeByDeletion(before, of: name, at: agent)
        did(agent, "deletes \(name)\(before.map { " \(Self.short($0))" } ?? "")", name)
    }

    /// Who deletes what he keeps means it to be deleted everywhere; who removes what is not selected only frees space,
    /// and what others have stays. Unless his agent has not heard yet that it is not selected: if it is selected again
    /// before, the agent cannot tell. Nor does what he moved here from a name that he keeps stay: that name is deleted everywhere.
    /// And a copy that a loss of power may take is none: nobody has announced it.
    private func supersedeByDeletion(_ content: SHA256Digest?, of name: String, at agent: SimulatedAgent) {
        guard let content else { return }
        ledger.removedLast["\(agent.number) \(name)"] = nil
        let wasMoved = ledger.movedAway[content]?.contains(agent.number) == true
        guard !agent.mayKeep(name), !wasMoved, agents.contains(where: { $0.holdsDurably(content) }) else {
            return ledger.supersede(content)
        }
        ledger.setAside[content, default: []].insert(agent.number)
        ledger.removedByHand["\(agent.number) \(name)"] = content
        ledger.removedLast["\(agent.number) \(name)"] = content
    }

    private func deleteDirectory(_ agent: SimulatedAgent) {
        let name = agent.files.listed(generator.pick(directories))
        guard agent.files.isDirectory(name) else { return }
        for below in agent.files.allNames(below: name, all: true).reversed() + [name] {
            let before = RelativePath(below)?.isTemporary == true ? nil : agent.files.content(below)
            guard agent.files.remove(below) else { break }
            supersedeByDeletion(before, of: below, at: agent)
        }
        did(agent, "deletes the directory \(name)", name)
    }

    private func makeDirectory(_ agent: SimulatedAgent) {
        let name = agent.files.listed(generator.pick(directories))
        guard agent.files.status(name) == nil, makeParents(agent, of: name), agent.files.makeDirectory(name) else {
            return
        }
        did(agent, "makes the directory \(name)", name)
    }

    private func makeSymlink(_ agent: SimulatedAgent) {
        let name = generator.pick(Self.names)
        guard !agent.files.isDirectory(name), makeParents(agent, of: name) else { return }
        let before = agent.files.content(name)
        _ = agent.files.remove(name)
        let target = generator.pick(["a.txt", "../b", "nowhere", "/etc"])
        guard agent.files.makeSymlink(name, target: target) else { return }
        ledger.supersede(before)
        stamp(agent, name)
        did(agent, "links \(name) to \(target)\(before.map { " over \(Self.short($0))" } ?? "")", name)
    }

    private func changePermissions(_ agent: SimulatedAgent) {
        let name = generator.pick(Self.names + Self.directories)
        guard let item = agent.files.item(name) else { return }
        let mode: UInt32
        switch item {
        case .symlink: return
        case .directory: mode = generator.pick([0o755, 0o700, 0o775, 0o555])
        case .file: mode = generator.pick([0o644, 0o600, 0o755])
        }
        guard agent.files.setPermissions(mode, of: name) else { return }
        did(agent, "sets \(name) to \(String(mode, radix: 8))", name)
    }

    // MARK: conflicts and versions

    /// Settles a conflict, or brings a version back, by the agent's commands. Nothing is superseded by it: what is not kept
    /// is in an archive.
    private func settleSomething(_ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        let (trace, number) = (trace, agent.number)
        let copies = agent.files.userNames().filter { $0.contains(".sync-conflict-") && agent.files.isFile($0) }
        if !copies.isEmpty, !generator.isOne(in: 3) {
            let (copy, keep) = (generator.pick(copies), generator.pick(ConflictResolution.Keep.allCases))
            trace.note("user \(number): settles \(copy), \(keep)")
            // He says so of a copy that a line of his has just left out, too.
            agent.isFreeing = true
            await inProcess(of: agent) { process in
                let outcomes = try? await process.folder.runner.perform(ResolveConflictsStep(path: copy, keep: keep))
                trace.note("user \(number): \(outcomes?.first.map { $0.problem ?? "settled" } ?? "that did not work")")
            }
            agent.isFreeing = false
            return
        }
        let archived = agent.files.allNames(below: ".stversions", all: true)
            .compactMap { VersionName.parse(String($0.dropFirst(".stversions/".count)))?.original }
        guard let path = archived.isEmpty ? nil : generator.pick(archived) else { return }
        trace.note("user \(number): restores \(path)")
        await inProcess(of: agent) { process in
            let restored = try? await process.folder.runner.perform(
                RestoreVersionStep(path: path, time: nil, isConfirmed: true))
            trace.note("user \(number): \(restored == nil ? "that did not work" : "restored")")
        }
    }

    // MARK: what is selected

    private func changeSelection(_ agent: SimulatedAgent) async {
        let path = generator.pick(Self.names + Self.directories)
        switch generator.int(0...11) {
        // Who says that it has a file is trusted with the last copy.
        case 0, 1: if !weather.hasLiar { return await freePath(path, agent) }
        case 2: if !weather.hasLiar { return await settleExtraneous(agent) }
        case 3: return await removeEverywhere(path, agent)
        default: break
        }
        await select([path], isSelecting: !generator.isOne(in: 3), agent)
    }

    /// Deselects something and lets the agent free its space: what others have is theirs to keep.
    func freePath(_ path: String, _ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        let (trace, number) = (trace, agent.number)
        trace.note("user \(number): frees \(path)")
        let before = contents(agent)
        agent.isFreeing = true
        await inProcess(of: agent) { process in
            do {
                let outcome = try await process.folder.runner.deselect(DeselectStep(paths: [path], local: .free))
                trace.note(
                    "user \(number): freed \(outcome.freeing?.freed ?? []), stays "
                        + "\(outcome.freeing?.staying.map { "\($0.path) \($0.reason)" } ?? [])")
            } catch {
                trace.note("user \(number): that did not work")
            }
        }
        agent.isFreeing = false
        agent.selectionChanged()
        await checkFreed(before.filter { agent.files.content($0.name) == nil }, agent)
        if agent.isUp, generator.isOne(in: 3) { await select([path], isSelecting: true, agent) }
    }

    /// Its user says what is to become of a file that is not selected.
    private func settleExtraneous(_ agent: SimulatedAgent) async {
        let names = agent.files.userNames().filter { agent.files.isFile($0) && agent.selection?.isLeftOut($0) == true }
        guard agent.isUp, !names.isEmpty else { return }
        let name = generator.pick(names)
        let action = generator.pick(
            [.select, .delete, .ignore, .keepMine, .keepTheirs, .keepBoth] as [ExtraneousResolution.Action])
        // What the newest version of the others holds, its user has chosen to replace.
        if action == .keepMine { await supersedeGlobal([name], agent) }
        let before = contents(agent)
        await settle("\(action.rawValue) \(name)", agent) { runner in
            try await runner.perform(ResolveExtraneousStep(paths: [name], action: action)).names
        }
        for (name, content) in before where agent.files.content(name) == nil && !agent.files.holds(content) {
            supersedeByDeletion(content, of: name, at: agent)
        }
    }

    /// Its user deletes something on all devices.
    private func removeEverywhere(_ path: String, _ agent: SimulatedAgent) async {
        guard agent.isUp, let index = agent.process?.index else { return }
        let below = (try? await index.descendants(SimulatedAgent.folder, of: path, limit: 1000).map(\.path)) ?? []
        await supersedeGlobal(below + [path], agent)
        await settle("rm \(path)", agent) { runner in
            try await runner.perform(DeleteEverywhereStep(paths: [path])).names
        }
    }

    /// Its user decides against what the folder holds under these names, as far as the agent knows it.
    private func supersedeGlobal(_ names: [String], _ agent: SimulatedAgent) async {
        for name in names {
            guard let global = try? await agent.process?.index.global(SimulatedAgent.folder, name)?.file else {
                continue
            }
            for other in agents {
                let local = try? await other.process?.index.local(SimulatedAgent.folder, name)
                // A process that does not run has what it had.
                let isReplaced =
                    switch local?.file.version.compare(global.version) {
                    case .equal: true
                    // What a device announced that lies may have replaced what others have.
                    case .lesser: weather.hasLiar
                    default: false
                    }
                guard other.process == nil || isReplaced else { continue }
                ledger.supersede(other.files.content(name))
            }
        }
    }

    private func settle(
        _ words: String, _ agent: SimulatedAgent, _ body: @escaping @Sendable (FolderRunner) async throws -> [String]
    ) async {
        let (trace, number) = (trace, agent.number)
        trace.note("user \(number): \(words)")
        agent.isFreeing = true
        await inProcess(of: agent) { process in
            do {
                trace.note("user \(number): done to \(try await body(process.folder.runner))")
            } catch {
                trace.note("user \(number): that did not work")
            }
        }
        agent.isFreeing = false
        agent.selectionChanged()
    }

    func contents(_ agent: SimulatedAgent) -> [(name: String, content: SHA256Digest)] {
        agent.files.allNames().compactMap { name in agent.files.content(name).map { (name, $0) } }
    }

    /// Nothing goes by freeing that no other device has, unless a user has removed by hand what his agent may have promised.
    func checkFreed(_ freed: [(name: String, content: SHA256Digest)], _ agent: SimulatedAgent) async {
        for (name, content) in freed where !agents.contains(where: { $0.files.holds(content) }) {
            guard !ledger.superseded.contains(content) else { continue }
            var hasHeard = true
            for other in agents where other.number != agent.number {
                guard ledger.setAside[content]?.contains(other.number) == true else { continue }
                if await !self.hasHeard(agent, of: other) { hasHeard = false }
            }
            if hasHeard { trace.violate("agent \(agent.number) freed \(name), the last \(Self.short(content))") }
            ledger.supersede(content)
        }
    }

    /// Whether one agent knows what the other announces now, and no more: a device that was brought back from a backup announces less
    /// than it did. False if either is down.
    private func hasHeard(_ agent: SimulatedAgent, of other: SimulatedAgent) async -> Bool {
        guard let theirs = other.process?.index, let ours = agent.process?.index,
            let said = try? await theirs.localIndex(of: SimulatedAgent.folder).maxSequence,
            let known = try? await ours.remoteIndex(of: SimulatedAgent.folder, device: other.id)?.maxSequence
        else { return false }
        return known == said
    }

    /// Deselects a file and removes it from the disk, to have it again some day, or soon.
    private func freeSpace(_ agent: SimulatedAgent) async {
        let names = agent.files.userNames().filter { agent.files.isFile($0) && agent.selection?.isLeftOut($0) == false }
        guard agent.isUp, !names.isEmpty else { return }
        let name = generator.pick(names)
        await select([name], isSelecting: false, agent)
        guard agent.selection?.isLeftOut(name) == true else { return }
        let before = agent.files.content(name)
        if agent.files.remove(name) {
            supersedeByDeletion(before, of: name, at: agent)
            did(agent, "removes \(name)\(before.map { " \(Self.short($0))" } ?? "")", name)
        }
        if generator.isOne(in: 2) { await select([name], isSelecting: true, agent) }
    }

    func select(_ paths: [String], isSelecting: Bool, _ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        let trace = trace
        let number = agent.number
        trace.note("user \(number): \(isSelecting ? "selects" : "deselects") \(paths.joined(separator: " "))")
        await inProcess(of: agent) { process in
            do {
                _ =
                    try await isSelecting
                    ? process.folder.runner.perform(SelectStep(paths: paths))
                    : process.folder.runner.perform(DeselectStep(paths: paths, local: .keep))
            } catch {
                trace.note("user \(number): that did not work")
            }
        }
        agent.selectionChanged()
    }

    private func editIgnoreFile(_ agent: SimulatedAgent) {
        if generator.isOne(in: 8) {
            _ = agent.files.write(Array("[a\n".utf8), to: ".stignore")
            agent.selectionChanged()
            return did(agent, "breaks .stignore", ".stignore")
        }
        writeIgnoreFile(agent)
    }

    /// Writes an ignore file by hand: lines that select, and the line that leaves out the rest.
    func writeIgnoreFile(_ agent: SimulatedAgent) {
        var lines: [String] = []
        if generator.isOne(in: 3) { lines.append(generator.pick(["*.md", "b", "q"])) }
        let isSelective = !generator.isOne(in: 4)
        if isSelective {
            for _ in 0..<generator.int(1...4) { lines.append("!/" + generator.pick(Self.names + Self.directories)) }
            lines.append("*")
        }
        let text = lines.joined(separator: "\n") + "\n"
        guard agent.files.replace(".stignore", with: Array(text.utf8)) else { return }
        stamp(agent, ".stignore")
        agent.selectionChanged()
        did(agent, "writes .stignore: \(lines.joined(separator: " "))", ".stignore")
    }

    static func short(_ content: SHA256Digest) -> String { String(content.description.prefix(6)) }
}
