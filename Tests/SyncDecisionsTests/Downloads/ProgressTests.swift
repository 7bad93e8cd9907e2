import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import SyncDecisions

private let docs = FolderID("docs")
private let films = FolderID("films")

private func version(_ value: UInt64) -> VersionVector {
    VersionVector([.init(id: ShortID(rawValue: 7), value: value)])
}

private func file(_ name: String, _ blocks: [Int], version number: UInt64 = 1) -> PartialFile {
    PartialFile(name: name, version: version(number), blockSize: 131_072, blocks: BlockSet(blocks))
}

private func append(_ name: String, _ blocks: [Int32], version number: UInt64 = 1) -> DownloadProgress.Update {
    .init(kind: .append, name: name, version: version(number), blockIndexes: blocks, blockSize: 131_072)
}

private func forget(_ name: String, version number: UInt64 = 1) -> DownloadProgress.Update {
    .init(kind: .forget, name: name, version: version(number))
}

/// Values behind references, so that their steps can be taken inside `#expect`.
private final class Report {
    private var report: ProgressReport

    init(_ report: ProgressReport) { self.report = report }

    func messages(for state: [FolderID: [PartialFile]]) -> [DownloadProgress] { report.messages(for: state) }
}

private final class Heard {
    private var progress: PeerProgress

    init(_ progress: PeerProgress) { self.progress = progress }

    var isEmpty: Bool { progress.isEmpty }
    var fileCount: Int { progress.fileCount }

    func take(_ message: DownloadProgress) -> Bool { progress.take(message) }
    func announced(_ names: [String], in folder: FolderID) -> Bool { progress.announced(names, in: folder) }
    func forget(_ folder: FolderID) { progress.forget(folder) }
    func blocks(of file: FileInfo, in folder: FolderID) -> BlockSet? { progress.blocks(of: file, in: folder) }
}

@Suite struct ProgressReportTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// What is being downloaded, at one time after the other.
        var states: [[FolderID: [PartialFile]]]
        /// What is said at each.
        var said: [[DownloadProgress]]
    }

    static let cases = [
        Case(testDescription: "nothing", states: [[docs: []], [:]], said: [[], []]),
        Case(
            testDescription: "a file without blocks is not worth a word",
            states: [[docs: [file("a", [])]], [docs: []]],
            said: [[], []]),
        Case(
            testDescription: "blocks as they come, then the end",
            states: [
                [docs: [file("a", [3])]], [docs: [file("a", [0, 3, 5])]], [docs: [file("a", [0, 3, 5])]], [docs: []],
                [docs: []],
            ],
            said: [
                [.init(folder: docs, updates: [append("a", [3])])],
                [.init(folder: docs, updates: [append("a", [0, 5])])],
                [], [.init(folder: docs, updates: [forget("a")])], [],
            ]),
        Case(
            testDescription: "another version",
            states: [[docs: [file("a", [0, 1])]], [docs: [file("a", [4], version: 2)]], [docs: []]],
            said: [
                [.init(folder: docs, updates: [append("a", [0, 1])])],
                [.init(folder: docs, updates: [forget("a"), append("a", [4], version: 2)])],
                [.init(folder: docs, updates: [forget("a", version: 2)])],
            ]),
        Case(
            testDescription: "blocks are lost with the temporary file",
            states: [[docs: [file("a", [0, 1])]], [docs: [file("a", [1])]]],
            said: [
                [.init(folder: docs, updates: [append("a", [0, 1])])],
                [.init(folder: docs, updates: [forget("a"), append("a", [1])])],
            ]),
        Case(
            testDescription: "of a folder that is not shared any more nothing is said",
            states: [
                [docs: [file("a", [0])], films: [file("b", [1])]], [films: [file("b", [1])]], [docs: [file("a", [0])]],
            ],
            said: [
                [.init(folder: docs, updates: [append("a", [0])]), .init(folder: films, updates: [append("b", [1])])],
                [], [.init(folder: docs, updates: [append("a", [0])])],
            ]),
    ]

    @Test(arguments: cases) func says(_ test: Case) {
        let report = Report(ProgressReport())
        for (state, said) in zip(test.states, test.said) { #expect(report.messages(for: state) == said) }
    }

    @Test func aMessageNamesABoundedNumberOfBlocks() {
        let report = Report(ProgressReport(indexLimit: 3))
        let state = [docs: [file("a", [0, 1]), file("b", [5, 6, 7])]]
        #expect(
            report.messages(for: state) == [.init(folder: docs, updates: [append("a", [0, 1]), append("b", [5])])])
        #expect(report.messages(for: state) == [.init(folder: docs, updates: [append("b", [6, 7])])])
        #expect(report.messages(for: state) == [])
    }

    /// Whoever takes all that is said knows what is being downloaded.
    @Test(arguments: 0..<30) func whatIsSaidIsWhatIsSo(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (report, heard) = (Report(ProgressReport(indexLimit: 40)), Heard(PeerProgress()))
        var state: [FolderID: [PartialFile]] = [docs: [], films: []]
        func current(_ folder: FolderID, _ name: String) -> PartialFile? {
            state[folder, default: []].first { $0.name == name }
        }
        for step in 0..<200 {
            let folder = Bool.random(using: &random) ? docs : films
            let name = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            let known = current(folder, name)
            state[folder, default: []].removeAll { $0.name == name }
            if Int.random(in: 0..<8, using: &random) > 0 {
                var next = known ?? file(name, [], version: UInt64(1 + step))
                if Int.random(in: 0..<10, using: &random) == 0 { next = file(name, [], version: UInt64(1000 + step)) }
                for _ in 0..<10 { next.blocks.insert(Int.random(in: 0..<100, using: &random)) }
                state[folder, default: []].append(next)
            }
            for message in report.messages(for: state) { _ = heard.take(message) }
        }
        while case let messages = report.messages(for: state), !messages.isEmpty {
            for message in messages { _ = heard.take(message) }
        }
        for folder in [docs, films] {
            for name in ["a", "b", "c"] {
                guard let partial = current(folder, name) else { continue }
                let info = FileInfo(name: name, version: partial.version, blockSize: 131_072)
                #expect(heard.blocks(of: info, in: folder) == partial.blocks)
            }
        }
        #expect(heard.fileCount == state.values.reduce(0) { $0 + $1.count })
    }
}

@Suite struct PeerProgressTests {
    private func info(_ name: String, version number: UInt64 = 1, blockSize: Int32 = 131_072) -> FileInfo {
        FileInfo(name: name, version: version(number), blockSize: blockSize)
    }

    private func said(_ updates: DownloadProgress.Update...) -> DownloadProgress {
        .init(folder: docs, updates: updates)
    }

    @Test func holdsForOneVersionOfOneFile() {
        let heard = Heard(PeerProgress())
        #expect(heard.take(said(append("a", [1, 2]))))
        #expect(!heard.take(said(append("a", [2]))), "it had said so")
        #expect(heard.take(said(append("a", [9]))))
        #expect(heard.blocks(of: info("a"), in: docs) == BlockSet([1, 2, 9]))
        #expect(heard.blocks(of: info("a"), in: films) == nil)
        #expect(heard.blocks(of: info("b"), in: docs) == nil)
        #expect(heard.blocks(of: info("a", version: 2), in: docs) == nil)
        #expect(heard.blocks(of: info("a", blockSize: 262_144), in: docs) == nil)
        #expect(heard.take(said(append("a", [4], version: 2))), "another version than before")
        #expect(heard.blocks(of: info("a"), in: docs) == nil)
        #expect(heard.blocks(of: info("a", version: 2), in: docs) == BlockSet([4]))
    }

    @Test func endsWhenTheDeviceSaysSo() {
        let heard = Heard(PeerProgress())
        _ = heard.take(said(append("a", [1]), append("b", [2])))
        #expect(!heard.take(said(forget("a", version: 2))), "that was another version")
        #expect(heard.take(said(forget("a"))))
        #expect(heard.blocks(of: info("a"), in: docs) == nil)
        #expect(!heard.announced(["a", "x"], in: docs))
        #expect(!heard.announced(["b"], in: films))
        #expect(heard.announced(["b"], in: docs))
        #expect(heard.isEmpty)
        _ = heard.take(said(append("a", [1])))
        heard.forget(films)
        #expect(!heard.isEmpty)
        heard.forget(docs)
        #expect(heard.isEmpty)
    }

    @Test func takesNoNonsense() {
        let heard = Heard(PeerProgress())
        #expect(!heard.take(said(append("a", []))))
        #expect(!heard.take(said(append("a", [-1, .min, .max, Int32(BlockSet.indexLimit)]))))
        #expect(!heard.take(said(.init(kind: .append, name: "a", version: VersionVector(), blockIndexes: [1]))))
        #expect(!heard.take(said(forget("a"))))
        #expect(heard.isEmpty)
    }

    @Test func isBounded() {
        var limits = PeerProgress.Limits()
        limits.files = 3
        limits.byteCount = 64
        limits.countersPerVersion = 2
        let heard = Heard(PeerProgress(limits: limits))
        for number in 0..<10 { _ = heard.take(said(append("\(number)", [Int32(number)]))) }
        #expect(heard.fileCount == 3)
        #expect(!heard.take(said(append("0", [64 * 8]))), "the sets together would be too large")
        #expect(heard.blocks(of: info("0"), in: docs) == BlockSet([0]))
        #expect(heard.take(said(append("0", [64 * 5]))))
        #expect(!heard.take(said(append("1", [64 * 3]))))
        #expect(heard.take(said(forget("0"))))
        #expect(heard.take(said(append("1", [64 * 3]))), "there is room again")
        let long = VersionVector((1...3).map { .init(id: ShortID(rawValue: $0), value: 1) })
        #expect(!heard.take(said(.init(kind: .append, name: "long", version: long, blockIndexes: [1]))))
    }
}

@Suite struct BlockOrderTests {
    private static let devices = (1...3).map { DeviceID(digest: SHA256.digest([$0])) }.sorted()

    private func order(_ blocks: [Int], of count: Int, for number: Int, except holders: Set<Int> = []) -> [Int] {
        let all = Set(Self.devices).subtracting([Self.devices[number]])
        return BlockOrder.shared(
            blocks, of: count, local: Self.devices[number], sharers: all,
            others: all.subtracting(holders.map { Self.devices[$0] }))
    }

    @Test(arguments: 0..<3, [1, 2, 3, 29, 30, 31]) func eachBeginsElsewhereAndTakesAll(number: Int, count: Int) {
        let order = order(Array(0..<count), of: count, for: number)
        #expect(order.sorted() == Array(0..<count))
        if count >= 29 { #expect(order.first == number * ((count + 2) / 3)) }
    }

    /// The third has the file: the others take the part that neither begins with from both ends.
    @Test(arguments: 0..<3) func whatIsLeftIsTakenFromBothEnds(holder: Int) {
        let downloading = (0..<3).filter { $0 != holder }
        let orders = downloading.map { order(Array(0..<30), of: 30, for: $0, except: [holder]) }
        let left = orders.map { $0[10..<20] }
        #expect(left[0].allSatisfy { $0 / 10 == holder })
        #expect(Array(left[0]) == left[1].reversed())
    }

    @Test func whoIsAloneBeginsAtTheStart() {
        #expect(order([2, 5], of: 9, for: 2, except: [0, 1]) == [2, 5])
        #expect(BlockOrder.shared([2, 5], of: 9, local: Self.devices[0], sharers: [], others: []) == [2, 5])
    }

    @Test func whatIsHereAlreadyIsLeftOut() {
        #expect(order([0, 4, 12, 25, 29], of: 30, for: 0) == [0, 4, 12, 25, 29])
        #expect(order([0, 4, 12, 25, 29], of: 30, for: 1) == [12, 25, 29, 0, 4])
        #expect(order([0, 4, 12, 25, 29], of: 30, for: 1, except: [2]) == [12, 29, 25, 0, 4])
    }
}
