import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import SyncTestKit

@testable import FolderSync
@testable import SyncDecisions

/// What a device may have noted last, by path, key and device: more than one thing where it died or failed meanwhile.
struct NoteLedger {
    struct Place: Hashable, Comparable {
        var path: String
        var key: String

        static func < (left: Place, right: Place) -> Bool { (left.path, left.key) < (right.path, right.key) }
    }

    private(set) var last: [Place: [Int: Set<String?>]] = [:]
    private var ever: [Place: [Int: Set<String?>]] = [:]

    mutating func change(_ place: Place, by agent: Int, to value: String?, isSure: Bool) {
        var possible: Set<String?> = isSure ? [] : last[place]?[agent] ?? [nil]
        possible.insert(value)
        last[place, default: [:]][agent] = possible
        ever[place, default: [:]][agent, default: []].insert(value)
    }

    /// What all may show in the end: the last word of one of them, or nothing if nobody need have said a word. Of a device
    /// whose user has deselected the notes any of its words may be known, or none.
    func isPossible(_ value: String?, at place: Place, keepers: Set<Int>) -> Bool {
        guard let devices = last[place] else { return value == nil }
        return devices.contains { agent, values in
            if keepers.contains(agent) { return values.contains(value) }
            return value == nil || ever[place]?[agent]?.contains(value) == true
        }
    }
}

/// Notes of files: each device's own file, and what all of them say together.
extension Simulation {
    private static let keys = ["rating", "title"]

    /// Its user notes something of a file, or takes a note back.
    func noteSomething(_ agent: SimulatedAgent) async {
        guard agent.isUp else { return }
        let place = NoteLedger.Place(path: generator.pick(Array(Self.names.prefix(3))), key: generator.pick(Self.keys))
        let isRemoving = generator.isOne(in: 4)
        if isRemoving, await noted(agent, place) == nil { return }
        let value = isRemoving ? nil : "\(generator.int(0...1_000_000_000))"
        let trace = trace
        let isDone = Flag()
        trace.note("user \(agent.number): notes \(place.key)=\(value ?? "nothing") of \(place.path)")
        await inProcess(of: agent) { process in
            do {
                _ = try await process.folder.runner.perform(
                    ChangeNotesStep(
                        path: place.path, set: value.map { [place.key: $0] } ?? [:],
                        remove: isRemoving ? [place.key] : []))
                isDone.set()
            } catch {
                trace.note("user \(agent.number): that did not work")
            }
        }
        agent.selectionChanged()
        notes.change(place, by: agent.number, to: value, isSure: isDone.isSet && agent.isUp)
    }

    private func noted(_ agent: SimulatedAgent, _ place: NoteLedger.Place) async -> String? {
        guard let folder = try? agent.process?.folder.runner.reading() else { return nil }
        let notes = try? await NoteReading(folder: folder).notes(of: place.path)
        return notes?.notes.first { $0.key == place.key }?.value
    }

    /// In the end all who keep the notes read the same, and it is what somebody said last.
    func checkNotes() async throws -> [String] {
        var problems: [String] = []
        let keeping = agents.filter { $0.selection?.isLeftOut(NoteFile.fileDirectory + "/x") == false }
        let keepers = Set(keeping.map(\.number))
        for place in notes.last.keys.sorted() {
            var seen: Set<String?> = []
            for agent in keeping {
                let value = await noted(agent, place)
                seen.insert(value)
                if !notes.isPossible(value, at: place, keepers: keepers) {
                    problems.append(
                        "agent \(agent.number): \(place.key) of \(place.path) is \(value ?? "not noted"), which nobody said last"
                    )
                }
            }
            if seen.count > 1 {
                problems.append("\(place.key) of \(place.path) is \(seen.map { $0 ?? "none" }.sorted())")
            }
        }
        return problems
    }

    /// What the agent has written down of what its user noted.
    func recordNoteFile(of agent: SimulatedAgent) {
        let name = "\(NoteFile.fileDirectory)/\(agent.id.shortID).json"
        guard weather.hasNotes, let content = agent.files.content(name), ledger.writings[content] == nil else { return }
        ledger.wrote(content, at: name, by: agent.number)
        // The next contents hold what these said, and less of what was taken back.
        ledger.supersede(content)
    }
}
