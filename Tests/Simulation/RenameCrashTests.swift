import BlockExchange
import FileAccess
import Selection
import SyncTestKit
import Testing

@testable import FolderSync

/// Deaths while the selection follows a rename: at each call that changes the disk, one after the other.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RenameCrashTests {
    enum What: CaseIterable { case file, directory }

    private func lines(_ agent: SimulatedAgent) -> Set<String> {
        let text = agent.files.read(".stignore").map { String(decoding: $0, as: UTF8.self) } ?? ""
        return Set(text.split(separator: "\n").map(String.init))
    }

    /// A user writes `.stignore` between the moment when a line that follows a rename is made and the one when it is written.
    @Test func whatAUserWritesMeanwhileStays() async throws {
        try await Simulation.run(seed: 1, weather: .init(agentCount: 2)) { simulation in
            let first = simulation.agents[0]
            for name in ["f", "keep", "more"] { #expect(first.files.write(Array(name.utf8), to: name)) }
            #expect(first.files.replace(".stignore", with: Array("!/f\n!/keep\n*\n".utf8)))
            first.selectionChanged()
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            #expect(first.files.rename("f", to: "g"))
            first.interruption = { change in
                guard change.contains("stignore") else { return }
                first.interruption = nil
                _ = first.files.replace(".stignore", with: Array("!/f\n!/keep\n!/more\n*\n".utf8))
                first.disk.changedByUser("\(first.files.root)/.stignore")
            }
            try await simulation.looks(first)
            #expect(first.interruption == nil, "it was not interrupted")
            #expect(lines(first).contains("!/more"))
            first.selectionChanged()
            #expect(try await simulation.settle() == [])
            #expect(lines(first) == ["!/g", "!/keep", "!/more", "*"])
            #expect(first.files.read("g") == Array("f".utf8))
        }
    }

    @Test(arguments: What.allCases, [FaultyDisk.End.killed, .powerLost])
    func theOldLineStandsOrTheNewOneDoes(what: What, end: FaultyDisk.End) async throws {
        let (old, new) = what == .file ? ("d/f", "g") : ("d", "e/d")
        let moved = what == .file ? "g" : "e/d/f"
        var deaths = 0
        while true {
            let hasDied = Flag()
            let changes = deaths
            try await Simulation.run(seed: UInt64(changes + 1), weather: .init(agentCount: 2)) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                for name in ["d/f", "keep"] {
                    if name == "d/f" { #expect(first.files.makeDirectory("d")) }
                    #expect(first.files.write(Array(name.utf8), to: name))
                }
                #expect(first.files.makeDirectory("e"))
                #expect(first.files.replace(".stignore", with: Array("!/\(old)\n!/keep\n*\n".utf8)))
                first.selectionChanged()
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
                #expect(second.files.read("d/f") == Array("d/f".utf8))

                #expect(first.files.rename(old, to: new))
                first.disk.plan(end, after: changes)
                try await simulation.looks(first)
                if first.isUp {
                    try await simulation.tell(first, second)
                    for _ in 0..<4 { try await simulation.work(second) }
                    try await simulation.tell(second, first)
                    try await simulation.looks(first)
                }
                if !first.isUp { hasDied.set() }
                #expect(!lines(first).isDisjoint(with: ["!/\(old)", "!/\(new)"]), "neither line stands")
                #expect(try await simulation.settle() == [])
                #expect(lines(first) == ["!/\(new)", "!/keep", "*"])
                for agent in [first, second] {
                    #expect(agent.files.read(moved) == Array("d/f".utf8), "agent \(agent.number) lost it")
                    #expect(agent.files.status("d/f") == nil)
                    #expect(agent.files.read("keep") == Array("keep".utf8))
                }
            }
            guard hasDied.isSet else { break }
            deaths += 1
        }
        #expect(deaths >= 8, "too few deaths for two replacements of the ignore file")
    }

    /// A device that renames something for another one dies: at each call that changes the disk, one after the other.
    @Test(arguments: [FaultyDisk.End.killed, .powerLost])
    func whatIsRenamedForAnotherDeviceHasOldOrNewNames(end: FaultyDisk.End) async throws {
        let names = ["d/f", "d/e/g", "keep"]
        var deaths = 0
        while true {
            let hasDied = Flag()
            let changes = deaths
            try await Simulation.run(seed: UInt64(changes + 1), weather: .init(agentCount: 2)) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(first.files.makeDirectory("d") && first.files.makeDirectory("d/e"))
                for name in names { #expect(first.files.write(Array(name.utf8), to: name)) }
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
                first.process?.folder.boards.status.set(hasScanned: true)
                let context = try #require(second.process).folder.runner.reading()
                let tree = try #require(try await RenameTree(at: RelativePath(parsing: "d"), in: context))
                let request = RenameRequest(
                    folder: SimulatedAgent.folder, from: "d", to: "moved", nameCount: tree.nameCount,
                    digest: tree.digest)
                first.disk.plan(end, after: changes)
                await simulation.inProcess(of: first) { process in
                    let answer = await FolderRenaming(process.folder).answer(request, from: second.id)
                    if !first.disk.isDead { #expect(answer == RenameAnswer(.done)) }
                }
                if !first.isUp { hasDied.set() }
                #expect(try await simulation.settle() == [])
                let isNew = first.files.status("d/f") == nil
                if !hasDied.isSet { #expect(isNew) }
                for agent in [first, second] {
                    for name in names {
                        let new = name == "keep" ? name : "moved" + name.dropFirst()
                        let content = agent.files.read(isNew ? new : name)
                        #expect(content == Array(name.utf8), "agent \(agent.number) lost \(name)")
                        if new != name { #expect(agent.files.status(isNew ? name : new) == nil) }
                    }
                }
            }
            guard hasDied.isSet else { break }
            deaths += 1
        }
        #expect(deaths >= 2, "too few deaths for a durable rename")
    }
}
