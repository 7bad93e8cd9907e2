import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Reconciliation
import Selection
import SyncTestKit

@testable import FolderSync

/// What must be true in the end.
extension Simulation {
    private static let roundLimit = 40

    /// Lets everything work and every link be up until nothing changes any more; says so if that does not happen.
    func settle() async throws -> [String] {
        for agent in agents {
            agent.disk.condition = .healthy
            agent.disk.planNoEnd()
            if agent.selection == nil { writeIgnoreFile(agent) }
            if !agent.isUp { try await start(agent) }
        }
        var quietRounds = 0
        var before = 0
        for round in 0..<Self.roundLimit {
            trace.note("round \(round)")
            before = trace.changeCount
            await pass(.seconds(1000))
            for pair in pairs where pair.from < pair.to && !network.isUp(pair) {
                try await connect(agents[pair.from], agents[pair.to])
            }
            for agent in agents {
                // Its disk may have ended before, and nothing of it have worked since.
                if !agent.isUp { try await start(agent) }
                agent.process?.folder.boards.inbox.scanEverything()
                try await finish(agent)
            }
            await carry()
            quietRounds = trace.changeCount == before ? quietRounds + 1 : 0
            if quietRounds == 2 { return [] }
        }
        let last = trace.lines.suffix(40).joined(separator: "\n      ")
        return ["no quiet after \(Self.roundLimit) rounds; the last lines:\n      \(last)"]
    }

    var pairs: [Network.Pair] {
        agents.flatMap { left in
            agents.compactMap { $0.number == left.number ? nil : Network.Pair(from: left.number, to: $0.number) }
        }
    }

    /// Lets an agent do all that is due, and confirms deletions that made it halt.
    private func finish(_ agent: SimulatedAgent) async throws {
        for _ in 0..<20 {
            guard let process = agent.process else { return }
            if let halt = process.folder.boards.status.snapshot.halt,
                [.rootEmptied, .massDeletion].contains(halt.reason)
            {
                await inProcess(of: agent) { process in
                    _ = try? await process.folder.runner.confirm(isDryRun: false)
                }
            }
            await answerMoves(agent)
            let isDone = Flag()
            let trace = trace
            trace.note("agent \(agent.number) works")
            await inProcess(of: agent) { process in
                if await process.folder.runner.performDue() { isDone.set() }
            }
            if !isDone.isSet { return }
        }
    }

    /// Its user says what is to become of what was moved to where nothing is selected: it is to be kept there, or else left
    /// alone.
    private func answerMoves(_ agent: SimulatedAgent) async {
        guard let held = agent.process?.folder.runner.memory.heldNames.values else { return }
        for place in held.sorted() where agent.selection?.isLeftOut(place) ?? false {
            guard agent.files.status(place) != nil else { continue }
            trace.note("user \(agent.number): answers for \(place)")
            await inProcess(of: agent) { process in
                let runner = process.folder.runner
                let selected = try? await runner.perform(ResolveExtraneousStep(paths: [place], action: .select))
                if selected == nil {
                    _ = try? await runner.perform(ResolveExtraneousStep(paths: [place], action: .ignore))
                }
            }
            agent.selectionChanged()
        }
    }

    // MARK: checking

    func check() async throws -> [String] {
        // The line of what was renamed goes when all have heard of it, which may be the last thing that happens.
        for agent in agents { agent.selectionChanged() }
        let trees = agents.map { $0.files.tree() }
        var problems = checkContents(trees)
        let synced = trees.map { tree in tree.filter { !$0.key.unicodeScalars.contains(Self.accent) } }
        problems += try await checkReplicas(synced)
        for (agent, tree) in zip(agents, synced) { problems += try await checkIndex(of: agent, tree) }
        return problems
    }

    /// Nothing that was written is lost, and nothing is there that nobody wrote.
    func checkContents(_ trees: [[String: Item]]) -> [String] {
        var problems: [String] = []
        var present: Set<SHA256Digest> = []
        for (agent, tree) in zip(agents, trees) {
            for (name, item) in tree.sorted(by: { $0.key < $1.key }) {
                guard let content = item.content else { continue }
                present.insert(content)
                // A copy of the ignore file holds lines, of the agent or of its user.
                if ledger.writings[content] == nil, ConflictName.original(of: name) != ".stignore" {
                    problems.append("agent \(agent.number): \(name) has bytes that nobody wrote")
                }
            }
        }
        for agent in agents where !weather.versions.isEmpty {
            for name in agent.files.allNames(below: ".stversions", all: true) {
                if let content = agent.files.content(name) { present.insert(content) }
            }
        }
        for (content, writing) in ledger.alive where !present.contains(content) {
            problems.append(
                "LOST: what the user of agent \(writing.author) wrote at \(writing.name), \(Self.short(content))")
        }
        return problems
    }

    /// All agree on what the folder holds, and each has what it keeps.
    private func checkReplicas(_ trees: [[String: Item]]) async throws -> [String] {
        var problems: [String] = []
        let names = Set(trees.flatMap(\.keys)).union(try await announcedNames()).sorted()
        var facts: [[NameFacts]] = []
        for agent in agents {
            guard let process = agent.process else { return problems + ["agent \(agent.number) does not run"] }
            facts.append(try await process.index.facts(in: SimulatedAgent.folder, names: names))
        }
        for (position, name) in names.enumerated() {
            let winners = facts.map { $0[position].global.flatMap { $0.isInvalid || $0.isDeleted ? nil : $0 } }
            if Set(winners.map { $0?.version }).count > 1 {
                let words = facts.map {
                    $0[position].global.map {
                        "\($0.version)\($0.isDeleted ? " gone" : "")\($0.isInvalid ? " invalid" : "")"
                    } ?? "none"
                }
                problems.append("\(name): the indexes differ: \(words.joined(separator: " | "))")
                continue
            }
            for (agent, tree) in zip(agents, trees) {
                let local = facts[agent.number][position].local
                guard let selection = agent.selection, keeps(selection, name, tree[name], winners[agent.number])
                else { continue }
                problems += difference(name, agent, tree, winners[agent.number], local)
            }
            let kept = zip(agents, trees).compactMap { agent, tree -> Item? in
                guard let selection = agent.selection, keeps(selection, name, tree[name], winners[agent.number])
                else { return nil }
                return tree[name]
            }
            if let first = kept.first, !kept.allSatisfy({ Self.isSame($0, first) }) {
                problems.append("\(name): the replicas differ: \(kept)")
            }
        }
        return problems
    }

    private static func isSame(_ left: Item, _ right: Item) -> Bool { left == right }

    /// What is on the way to something selected by name is kept if it is a directory.
    private func keeps(_ selection: Selection, _ name: String, _ item: Item?, _ winner: FileInfo?) -> Bool {
        if !selection.isIgnored(name) { return true }
        guard selection.isParentOfSelected(name) else { return false }
        return item?.isDirectory ?? (winner?.kind == .directory)
    }

    private func announcedNames() async throws -> Set<String> {
        var names: Set<String> = []
        for agent in agents {
            guard let process = agent.process else { continue }
            names.formUnion(
                try await process.index.descendants(SimulatedAgent.folder, limit: 100_000).map(\.path))
        }
        return names
    }

    private func difference(
        _ name: String, _ agent: SimulatedAgent, _ tree: [String: Item], _ winner: FileInfo?, _ local: LocalEntry?
    ) -> [String] {
        func problem(_ words: String) -> [String] {
            [
                "agent \(agent.number): \(name) \(words); global \(winner?.version.description ?? "none")"
                    + ", local \(local.map { "\($0.file.version) \($0.flags.rawValue)\($0.file.isDeleted ? " gone" : "")" } ?? "none")"
            ]
        }
        guard let winner else {
            guard let item = tree[name] else { return [] }
            // A directory stays for what is not selected in it: people decide.
            if item.isDirectory, holdsLeftOut(name, agent, tree) { return [] }
            return problem("is on the disk and in nobody's index")
        }
        guard let item = tree[name] else {
            // Something that is not selected is where its directory would be: people decide.
            if isBlocked(name, agent, tree) { return [] }
            if hasTwin(name, agent, tree) {
                if weather.renamesClashes, winner.kind == .file, isClash(name, agent, tree) {
                    return problem("clashes with a file")
                }
                trace.note("agent \(agent.number): has no room for \(name)")
                return []
            }
            return problem("is missing")
        }
        switch item {
        case .directory(let permissions):
            guard winner.kind == .directory else { return problem("is a directory, and should be \(winner.kind)") }
            if permissions != winner.permissions & 0o777 { return problem("has other permissions") }
        case .symlink(let target):
            guard winner.kind.isSymlink else { return problem("is a link, and should be \(winner.kind)") }
            if Array(target.utf8) != winner.symlinkTarget { return problem("leads elsewhere") }
        case .file(_, let size, let permissions, let modified):
            guard winner.kind == .file else { return problem("is a file, and should be \(winner.kind)") }
            if size != winner.size { return problem("has another size") }
            if permissions != winner.permissions & 0o777 { return problem("has other permissions") }
            if modified != FileTime(seconds: winner.modifiedSeconds, nanoseconds: winner.modifiedNanoseconds) {
                return problem("has another time")
            }
        }
        return []
    }

    private func holdsLeftOut(_ name: String, _ agent: SimulatedAgent, _ tree: [String: Item]) -> Bool {
        tree.keys.contains { $0.hasPrefix(name + "/") && agent.selection?.isLeftOut($0) != false }
    }

    /// Whether the disk holds another name that is the same to it, of what is at the name or of a directory above.
    private func hasTwin(_ name: String, _ agent: SimulatedAgent, _ tree: [String: Item]) -> Bool {
        guard let folding = agent.files.folding else { return false }
        var above = name[...]
        while true {
            let spelling = agent.files.listed(String(above))
            if !spelling.utf8.elementsEqual(above.utf8), folding.areOne(path: spelling, String(above)) { return true }
            guard let slash = above.lastIndex(of: "/") else { return false }
            above = above[..<slash]
        }
    }

    /// Whether the disk holds another file, one that is selected, in its place.
    private func isClash(_ name: String, _ agent: SimulatedAgent, _ tree: [String: Item]) -> Bool {
        let spelling = agent.files.listed(name)
        func directory(_ name: String) -> Substring { name.dropLast(name.reversed().prefix { $0 != "/" }.count) }
        guard case .file = tree[spelling], agent.selection?.isLeftOut(spelling) == false else { return false }
        return directory(spelling).utf8.elementsEqual(directory(name).utf8)
    }

    private func isBlocked(_ name: String, _ agent: SimulatedAgent, _ tree: [String: Item]) -> Bool {
        tree.contains { other, item in
            name.hasPrefix(other + "/") && !item.isDirectory && agent.selection?.isLeftOut(other) != false
        }
    }

    /// What the agent's index says other than its disk.
    func indexProblems(of agent: SimulatedAgent) async throws -> [String] {
        try await checkIndex(of: agent, agent.files.tree()).filter { !$0.hasSuffix("needed for ever") }
    }

    /// The index says of this disk what is on it.
    private func checkIndex(of agent: SimulatedAgent, _ tree: [String: Item]) async throws -> [String] {
        guard let process = agent.process, let selection = agent.selection else { return [] }
        var problems: [String] = []
        for (name, item) in tree.sorted(by: { $0.key < $1.key })
        where keeps(selection, name, item, nil) {
            guard let local = try await process.index.local(SimulatedAgent.folder, name), local.status != nil else {
                problems.append("agent \(agent.number): \(name) is on the disk and not in the index")
                continue
            }
            if !local.flags.isEmpty {
                problems.append("agent \(agent.number): \(name) is selected and flagged \(local.flags.rawValue)")
            }
            if case .file(_, let size, _, let modified) = item {
                let noted = FileTime(seconds: local.file.modifiedSeconds, nanoseconds: local.file.modifiedNanoseconds)
                if local.file.kind != .file || local.file.size != size || noted != modified {
                    problems.append("agent \(agent.number): \(name) is other than the index says")
                }
            }
        }
        var cursor: String?
        repeat {
            let page = try await process.index.localDescendants(of: SimulatedAgent.folder, after: cursor, limit: 1000)
            // What is not selected is not looked at.
            for entry in page.entries where tree[entry.path] == nil && !selection.isLeftOut(entry.path) {
                problems.append("agent \(agent.number): \(entry.path) is in the index and not on the disk")
            }
            cursor = page.next
        } while cursor != nil
        let left = try await process.index.needed(
            in: SimulatedAgent.folder, limit: 1000, isKept: { !selection.isLeftOut($0) },
            mayContain: { selection.mayContainSelected($0) })
        for needed in left.entries {
            let isExcused =
                needed.file.isDeleted && holdsLeftOut(needed.path, agent, tree) || isBlocked(needed.path, agent, tree)
                || hasTwin(needed.path, agent, tree)
            if !isExcused { problems.append("agent \(agent.number): \(needed.path) is needed for ever") }
        }
        return problems
    }
}
