import AgentConfiguration
import Cryptography
import FileAccess
import Foundation
import Selection
import SyncTestKit

@testable import FolderSync
@testable import SessionTestKit

/// A world in which everybody frees space: by hand and unattended, apart and together, with disks that come out of backups.
extension Simulation {
    private static let allLines = ["!/a.txt", "!/b", "!/c.md", "!/d", "!/p", "*"]

    /// Everything is selected by name, as in a folder of the mode `selective`.
    func selectEverything(_ agent: SimulatedAgent) {
        _ = agent.files.write(Array((Self.allLines.joined(separator: "\n") + "\n").utf8), to: ".stignore")
        agent.selectionChanged()
    }

    /// One thing that a user of this world does.
    func actInFreeingWorld(_ agent: SimulatedAgent) async {
        let here = agent.files.userNames().filter { !$0.contains(".sync-conflict-") }
        let path =
            here.isEmpty || generator.isOne(in: 6) ? generator.pick(Self.names + ["d", "p"]) : generator.pick(here)
        switch generator.int(0...99) {
        case 0..<22: write(agent)
        case 22..<26: append(agent)
        case 26..<30: delete(agent)
        case 30..<45: await freePath(path, agent)
        case 45..<50: await freeUntil(agent)
        case 50..<66: await select([path], isSelecting: true, agent)
        case 66..<96: await selectWhileSpace(path, agent)
        default: await changeMode(agent)
        }
    }

    /// Frees files until a little more of the disk is free.
    private func freeUntil(_ agent: SimulatedAgent) async {
        guard agent.isUp, let folder = agent.process?.folder, let root = try? folder.runner.reading().root,
            let available = try? Int64(clamping: root.freeSpace().available)
        else { return }
        let (trace, number) = (trace, agent.number)
        trace.note("user \(number): frees some bytes")
        await freeing(agent) { process in
            // What is free on the disk of this machine is not the same in two runs: more than all of it is wanted.
            let answer = try? await process.folder.runner.free(FreeStep(until: available + 1 << 40))
            trace.note("user \(number): freed \(answer?.outcome.freeing?.freed ?? [])")
        }
    }

    private func selectWhileSpace(_ path: String, _ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        let (trace, number) = (trace, agent.number)
        trace.note("user \(number): selects \(path) while there is space")
        await inProcess(of: agent) { process in
            _ = try? await process.folder.runner.perform(SelectStep(paths: [path], whileSpace: true))
        }
        agent.selectionChanged()
    }

    private func changeMode(_ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        modes[agent.number] = mode(of: agent.number) == .full ? .selective : .full
        trace.note("user \(agent.number): keeps \(mode(of: agent.number))")
        try? await configure(agent)
    }

    func mode(of number: Int) -> FolderConfiguration.Mode {
        guard weather.frees else { return .full }
        return modes[number] ?? ((seed >> UInt64(number)) & 1 == 0 ? .selective : .full)
    }

    /// Runs something that frees, and checks what has gone: another disk has the very same.
    func freeing(
        _ agent: SimulatedAgent, _ body: @escaping @Sendable (SimulatedAgent.Process) async -> Void
    ) async {
        let before = contents(agent)
        agent.isFreeing = true
        await inProcess(of: agent, body)
        agent.isFreeing = false
        agent.selectionChanged()
        await checkFreed(before.filter { agent.files.content($0.name) == nil }, agent)
    }

    /// What has gone unattended while the agent did what was due.
    func checkKeptFree(
        _ before: [(name: String, content: SHA256Digest)], _ selection: Selection?, _ agent: SimulatedAgent
    ) async {
        // What goes unattended is deselected first.
        agent.selectionChanged()
        if agent.isUp, agent.disk.condition == .healthy {
            let staying = before.filter {
                selection?.isLeftOut($0.name) == false && agent.selection?.isLeftOut($0.name) == true
                    && agent.files.content($0.name) == $0.content
            }
            for (name, _) in staying { trace.violate("agent \(agent.number) deselected \(name), which stays") }
        }
        let gone = before.filter { agent.files.content($0.name) == nil && agent.selection?.isLeftOut($0.name) == true }
        guard !gone.isEmpty else { return }
        trace.note("agent \(agent.number) keeps space free of \(gone.map(\.name))")
        await checkFreed(gone, agent)
    }

    /// Parts the agents into two groups that do not reach each other.
    func part() async {
        let here = Set(agents.map(\.number).filter { _ in generator.isOne(in: 2) })
        trace.note("\(here.sorted()) are apart from the rest")
        for pair in pairs where pair.from < pair.to && here.contains(pair.from) != here.contains(pair.to) {
            for line in network.lines where line.joins(pair) { line.wire.cut() }
        }
        network.prune()
        await executor.idle()
    }

    /// All that are up reach each other for a while, and say all that they have to say.
    func meet() async throws {
        trace.note("all meet")
        for pair in pairs where pair.from < pair.to && !network.isUp(pair) {
            guard agents[pair.from].isUp, agents[pair.to].isUp else { continue }
            try await connect(agents[pair.from], agents[pair.to])
        }
        for _ in 0..<2 {
            for agent in agents where agent.isUp { try await work(agent) }
            await carry()
        }
    }

    /// Who writes something new at a name that he has freed, and whose content was his own, has replaced it where nobody keeps
    /// the name and has it: then no device announces a version that the new one could be a rival of.
    func supersedeFreed(_ name: String, by agent: SimulatedAgent) {
        for (content, writing) in ledger.alive where writing.author == agent.number && writing.name == name {
            if agents.contains(where: { $0.number != agent.number && $0.mayKeep(name) && $0.files.holds(content) }) {
                ledger.rewritten[content] = .init(agent: agent.number)
            } else {
                ledger.supersede(content)
            }
        }
    }

    /// The same where a device keeps the name and has what was there, but announces that to this agent no more, or not yet, when the
    /// agent takes the new file into its index. Called before each step of its process: what was heard before that one counts.
    func supersedeWhatNobodyAnnounces(to agent: SimulatedAgent) async {
        for (content, rewriting) in ledger.rewritten where rewriting.agent == agent.number {
            guard let name = ledger.writings[content]?.name,
                let facts = try? await agent.process?.index.facts(in: SimulatedAgent.folder, names: [name]).first
            else { continue }
            if let local = facts.local, local.status != nil, !local.file.isInvalid, !local.file.isDeleted {
                ledger.rewritten[content] = nil
                if !rewriting.isAnnounced { ledger.supersede(content) }
                continue
            }
            let winner =
                facts.global.map { !$0.isInvalid && !$0.isDeleted && $0.modifiedBy == agent.id.shortID } ?? false
            ledger.rewritten[content]?.isAnnounced = winner || !facts.rivals.isEmpty
        }
    }

    /// Who removes a file by hand and writes another one there before the agent has looked has edited it, selected or not: the
    /// agent sees a file that has changed, as a Syncthing would. Called before each step of its process.
    func supersedeWhatWasWrittenOver(by agent: SimulatedAgent) async {
        let files = ledger.writtenOver.filter { $0.agent == agent.number }
        guard !files.isEmpty, let index = agent.process?.index else { return }
        ledger.writtenOver.removeAll { $0.agent == agent.number }
        for file in files {
            let local = try? await index.local(SimulatedAgent.folder, file.name)
            guard let local, local.status != nil, !local.file.isDeleted, await !isKnown(file.name, to: agent) else {
                continue
            }
            ledger.supersede(file.content)
        }
    }

    // MARK: backups

    /// Stops an agent to copy its disk and its index, or to bring an earlier copy back.
    func backUpOrRestore(_ agent: SimulatedAgent) async throws {
        guard weather.restores else { return }
        let isRestoring = agent.hasBackup && generator.isOne(in: 2)
        trace.note("agent \(agent.number) is \(isRestoring ? "restored" : "backed up")")
        for line in network.lines(of: agent.number) { line.wire.cut() }
        await agent.drop()
        await executor.idle()
        network.prune()
        _ = agent.disk.restart()
        let before = contents(agent)
        isRestoring ? agent.restoreBackup() : agent.makeBackup()
        // What only this disk had is lost by who brings an older one back. So is a conflict copy whose content the older disk has as the
        // file itself: others know a successor of that.
        let back = Set(before.filter { agent.files.content($0.name) == $0.content }.map(\.content))
        for (_, content) in before
        where !back.contains(content)
            && !agents.contains(where: { $0.number != agent.number && $0.files.holds(content) })
        {
            ledger.supersede(content)
        }
        // What others count on and it has no more is as if it had been removed by hand, until they have heard of it.
        for (_, content) in before where !agent.files.holds(content) {
            ledger.setAside[content, default: []].insert(agent.number)
        }
        // Nor does the device know what it has written since: if its user writes another file there, all counters of both are its own.
        for (content, writing) in ledger.alive
        where writing.author == agent.number && agent.files.content(writing.name) != content {
            ledger.removedByHand["\(agent.number) \(writing.name)"] = content
        }
        agent.selectionChanged()
        hideRealTimes(agent)
        try await start(agent)
        guard isRestoring else { return }
        // What was written or deleted before the backup, and not seen by its index, counts as written or deleted now: after all that
        // this user has written since.
        for (name, _) in contents(agent) where await !isKnown(name, to: agent) {
            ledger.supersedeOwn(removedFrom: name, by: agent.number)
        }
        for (content, writing) in ledger.alive
        where writing.author == agent.number && agent.files.content(writing.name) == nil {
            let local = try? await agent.process?.index.local(SimulatedAgent.folder, writing.name)
            if let local, local.status != nil, !local.file.isDeleted { ledger.supersede(content) }
        }
    }

    /// Whether the agent's index has what is on its disk, by size and time.
    private func isKnown(_ name: String, to agent: SimulatedAgent) async -> Bool {
        guard let status = agent.files.status(name),
            let file = try? await agent.process?.index.local(SimulatedAgent.folder, name)?.file
        else { return false }
        return !file.isDeleted && file.size == Int64(status.st_size)
            && file.modifiedSeconds == Int64(status.st_mtim.tv_sec)
            && Int(file.modifiedNanoseconds) == status.st_mtim.tv_nsec
    }
}

extension SimulatedAgent {
    private var backup: String { files.root + ".backup" }
    private var index: String { (files.root as NSString).deletingLastPathComponent + "/index.sqlite" }

    var hasBackup: Bool { FileManager.default.fileExists(atPath: backup) }

    func makeBackup() {
        try? FileManager.default.removeItem(atPath: backup)
        copy(files.root, backup)
        // With its log: without it, the copy would be of an earlier moment than the disk's.
        for end in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: backup + ".sqlite" + end)
            copy(index + end, backup + ".sqlite" + end)
        }
    }

    func restoreBackup() {
        try? FileManager.default.removeItem(atPath: files.root)
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: index + end) }
        copy(backup, files.root)
        for end in ["", "-wal"] { copy(backup + ".sqlite" + end, index + end) }
    }

    /// With times and permissions. Not by a program: until it runs, a child has every descriptor of this process, and with them the
    /// locks of other tests' files.
    private func copy(_ from: String, _ to: String) {
        var status = stat()
        guard lstat(from, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            _ = mkdir(to, 0o700)
            for name in (try? FileManager.default.contentsOfDirectory(atPath: from)) ?? [] {
                copy("\(from)/\(name)", "\(to)/\(name)")
            }
        case S_IFLNK:
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: from) { _ = symlink(target, to) }
        default: try? FileManager.default.copyItem(atPath: from, toPath: to)
        }
        if status.st_mode & S_IFMT != S_IFLNK { _ = chmod(to, status.st_mode & 0o7777) }
        let times = [status.st_atim, status.st_mtim]
        _ = utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW)
    }
}
