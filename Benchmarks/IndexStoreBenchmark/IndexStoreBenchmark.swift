import BlockExchange
import Cryptography
import Glibc
import IndexStore

/// Loads an index of a million names (10,000 directories of 100 files, one block each) as one peer would announce it,
/// all of it unselected here, and prints what that and the common questions cost.
///
/// `IndexStoreBenchmark [NAMES] [DATABASE]`
@main
struct IndexStoreBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let nameCount = arguments.count > 1 ? Int(arguments[1]) ?? 1_000_000 : 1_000_000
        let path = arguments.count > 2 ? arguments[2] : "/tmp/synctrain-index-benchmark.sqlite"
        try IndexStore.erase(path: path)
        let folder = FolderID("benchmark")
        let device = DeviceID(certificateDER: Array("peer".utf8))

        let store = try IndexStore.open(path: path)
        try await store.addFolder(folder, newIndexID: IndexID(rawValue: 1))
        try await store.setRemoteIndex(of: folder, device: device, to: IndexID(rawValue: 2))
        var generator = NameGenerator(seed: 1, shortID: device.shortID)
        var inStore = Duration.zero
        var cpu = 0.0
        var inBatch: [FileInfo] = []
        let clock = ContinuousClock()
        for sequence in 1...max(1, nameCount) {
            inBatch.append(generator.next(sequence: sequence))
            guard inBatch.count == 1000 || sequence == nameCount else { continue }
            let files = inBatch
            let before = cpuSeconds()
            inStore += try await clock.measure {
                try await store.applyIndex(of: folder, device: device, files: files, replacesAll: false) { _ in true }
            }
            cpu += cpuSeconds() - before
            inBatch.removeAll(keepingCapacity: true)
        }
        report("entries/s applied", Double(nameCount) / seconds(inStore))
        report("entries per CPU second", Double(nameCount) / cpu)
        report("peak RSS after the load, MiB", peakResidentMebibytes())
        try store.close()
        report("database bytes/name", Double(size(of: path)) / Double(nameCount))

        var opened: IndexStore?
        report("open, ms", seconds(try clock.measure { opened = try IndexStore.open(path: path) }) * 1000)
        guard let store = opened else { return }
        try await measure("totals, ms") { _ = try await store.totals(of: folder) }
        let directory = generator.directory(of: nameCount / 2)
        try await measure("children of one directory, ms") {
            let children = try await store.children(folder, of: directory)
            guard children.count >= min(100, nameCount / 2) else { fatalError("\(children.count) children") }
        }
        try await measure("descendants, page of 1,000, ms") {
            _ = try await store.descendants(folder, limit: 1000)
        }
        try await measure("search, no match, ms") { _ = try await store.search("No Such Name Anywhere") }
        try await measure("search by path, no match, ms") { _ = try await store.search("no/such/name") }
        try await measure("search, about 100 matches, ms") { _ = try await store.search("7777") }
        let photos = NameFilter(endings: NameFilter.Endings(["jpg", "png"]), size: 1...10)
        try await measure("search, no match, with filters, ms") {
            _ = try await store.search("No Such Name Anywhere", filter: photos)
        }
        try await measure("filter by kind without a text, no match, ms") {
            _ = try await store.search("", filter: photos)
        }
        try await measure("filter by size without a text, no match, ms") {
            _ = try await store.search("", filter: NameFilter(size: 1_000_000_000...Int64.max))
        }
        try await measure("local updates, page of 1,000, ms") {
            _ = try await store.localUpdates(of: folder, after: Int64(nameCount / 2), limit: 1000)
        }

        let changed = (1...1000).map { index in
            var file = generator.next(sequence: index)
            file.name = generator.name(of: index * (nameCount / 1000))
            file.version = file.version.updated(by: device.shortID, unixSeconds: 1_900_000_000)
            file.sequence = Int64(nameCount + index)
            return file
        }
        try await measure("1,000 scattered changes, ms", runs: 1) {
            try await store.applyIndex(of: folder, device: device, files: changed, replacesAll: false) { _ in true }
        }
        let second = DeviceID(certificateDER: Array("second".utf8))
        try await measure("100,000 names of a second device, ms", runs: 1) {
            var generator = NameGenerator(seed: 1, shortID: device.shortID)
            for batch in 0..<100 {
                let files = (1...1000).map { generator.next(sequence: batch * 1000 + $0) }
                try await store.applyIndex(of: folder, device: second, files: files, replacesAll: false) { _ in true }
            }
        }
        try await measure("dropping them, ms", runs: 1) { try await store.dropDevice(second) }
        try await measureEngine(store, folder, generator, nameCount: nameCount)
        report("peak RSS at the end, MiB", peakResidentMebibytes())
        try store.close()
        try IndexStore.erase(path: path)
    }

    /// What the folder engine asks while 20,000 of the names are fetched.
    private static func measureEngine(
        _ store: IndexStore, _ folder: FolderID, _ generator: NameGenerator, nameCount: Int
    ) async throws {
        let fetchedCount = min(20_000, nameCount)
        let one = Wanted(directories: [generator.directory(of: nameCount / 2)])
        let scattered = Wanted(
            directories: (0..<100).map { generator.directory(of: $0 * (nameCount / 100)) },
            isKeeping: { $0.hasSuffix("00.document") })
        try await measure("needed, 100 names of one directory, ms") {
            let page = try await store.needed(
                in: folder, limit: 1000, isKept: { one.keeps($0) }, mayContain: { one.mayContain($0) })
            guard page.entries.count >= min(100, nameCount / 2) else { fatalError("\(page.entries.count) needed") }
        }
        try await measure("needed, 100 names of 100 directories, ms") {
            _ = try await store.needed(
                in: folder, limit: 1000, isKept: { scattered.keeps($0) }, mayContain: { scattered.mayContain($0) })
        }
        try await measure("needed, page of 1,000 of all, ms") {
            _ = try await store.needed(in: folder, limit: 1000, isKept: { _ in true }, mayContain: { _ in true })
        }
        try await measure("needed totals of all, ms", runs: 3) {
            _ = try await store.neededTotals(in: folder, isKept: { _ in true }, mayContain: { _ in true })
        }
        let names = (1...fetchedCount).map { generator.name(of: $0) }
        try await measure("needed, 1,000 given names, ms") {
            _ = try await store.needed(in: folder, names: Array(names.prefix(1000))) { _ in true }
        }

        var fetched: [LocalChange] = []
        for (number, name) in names.enumerated() {
            guard let file = try await store.file(folder, name) else { continue }
            let status = FileStatus(inode: UInt64(number), changedSeconds: 1_700_000_000, changedNanoseconds: 1)
            fetched.append(.set(LocalEntry(file: file, status: status)))
        }
        let changes = fetched
        for label in ["fetched", "scanned again"] {
            for batch in [1000, 2000] where label == "fetched" || batch == 1000 {
                // Each run begins as the first did: without these files.
                if label == "fetched" {
                    try await store.applyLocal(in: folder, names.map { .forget($0) }) { _ in true }
                }
                try await measure("20,000 \(label), \(batch) at a time, ms", runs: 1) {
                    for start in stride(from: 0, to: changes.count, by: batch) {
                        let part = Array(changes[start..<min(start + batch, changes.count)])
                        try await store.applyLocal(in: folder, part) { _ in false }
                    }
                }
            }
        }
        let branch = Wanted(directories: Array(Set(names.indices.map { generator.directory(of: $0 + 1) })))
        try await measure("needed, pass over 20,000 that are here, ms") {
            let totals = try await store.neededTotals(
                in: folder, isKept: { branch.keeps($0) }, mayContain: { branch.mayContain($0) })
            guard totals.items.count <= 100 else { fatalError("\(totals)") }
        }
        try await measure("local children of one directory, ms") {
            let children = try await store.localChildren(of: folder, directory: generator.directory(of: 500))
            guard children.count == min(100, nameCount - 500) else { fatalError("\(children.count) children") }
        }
        try await measure("local descendants, page of 1,000, ms") {
            _ = try await store.localDescendants(of: folder, limit: 1000)
        }
        try await measure("local descendants, page of 1,000, deepest first, ms") {
            _ = try await store.localDescendants(
                of: folder, below: generator.directory(of: 500), limit: 1000, deepestFirst: true)
        }
        try await measure("local entries, none flagged, ms") {
            _ = try await store.localEntries(in: folder, flags: .receiveOnlyChanged, limit: 1000)
        }
        try await measure("local copies of 1,000 names, ms") {
            _ = try await store.localCopies(of: folder, names: Array(names.prefix(1000)))
        }
        try await measure("selection changed, nothing to do, ms", runs: 1) {
            try await store.reselect(folder) { !branch.keeps($0) }
        }
        try await measure("one directory selected, ms", runs: 1) {
            try await store.reselect(folder, at: generator.directory(of: nameCount / 2)) { _ in false }
        }
    }

    /// A selection of whole directories, or of some files in them.
    private struct Wanted: Sendable {
        private let directories: Set<String>
        private let above: Set<String>
        private let isKeeping: @Sendable (String) -> Bool

        init(directories: [String], isKeeping: @escaping @Sendable (String) -> Bool = { _ in true }) {
            self.directories = Set(directories)
            self.isKeeping = isKeeping
            var above: Set<String> = [""]
            for directory in directories {
                let parts = directory.split(separator: "/")
                for count in parts.indices { above.insert(parts[..<count].joined(separator: "/")) }
            }
            self.above = above
        }

        func keeps(_ path: String) -> Bool {
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
            return directories.contains(String(path[..<slash])) && isKeeping(path)
        }

        func mayContain(_ directory: String) -> Bool { above.contains(directory) || directories.contains(directory) }
    }

    /// Prints the medians of `runs` runs in milliseconds: by the clock, and of processor time, which tells more on a
    /// machine that has other work too.
    static func measure(_ label: String, runs: Int = 7, _ body: @Sendable () async throws -> Void) async throws {
        var times: [(wall: Double, cpu: Double)] = []
        for _ in 0..<runs {
            let before = cpuSeconds()
            let wall = seconds(try await ContinuousClock().measure(body))
            times.append((wall * 1000, (cpuSeconds() - before) * 1000))
        }
        report(label, times.map(\.wall).sorted()[runs / 2])
        report("  of processor time", times.map(\.cpu).sorted()[runs / 2])
    }

    static func report(_ label: String, _ value: Double) {
        let rounded = (value * 100).rounded() / 100
        print("\(label): \(rounded)")
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    /// What this process has used of all cores.
    static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// VmHWM: the most memory this process ever had resident.
    static func peakResidentMebibytes() -> Double {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("VmHWM:"), let kibibytes = text.split(separator: " ").dropFirst().first {
                return (Double(kibibytes) ?? 0) / 1024
            }
        }
        return 0
    }
}

/// Names of 50 to 100 bytes, the same for the same seed.
struct NameGenerator {
    private var state: UInt64
    private let shortID: ShortID
    private static let words = [
        "holiday", "Invoice", "report", "summer", "draft", "final version", "scan", "Müller", "project", "minutes",
        "photo", "backup", "letter", "contract", "notes", "budget",
    ]

    init(seed: UInt64, shortID: ShortID) {
        state = seed
        self.shortID = shortID
    }

    /// SplitMix64.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private mutating func random() -> UInt64 {
        state &+= 1
        return Self.mix(state)
    }

    private func word(_ number: UInt64) -> String { Self.words[Int(Self.mix(number) % 16)] }

    func directory(of index: Int) -> String {
        let number = UInt64(index / 100)
        return "\(word(number / 100)) \(number / 1000)/\(word(number / 10)) \(number / 10)/\(word(number)) \(number)"
    }

    func name(of index: Int) -> String {
        let number = UInt64(index)
        let long = Self.mix(number) % 3 == 0 ? " \(word(number &* 7)) \(word(number &* 11))" : ""
        return directory(of: index) + "/\(word(number)) \(word(number &* 5))\(long) \(index).document"
    }

    mutating func next(sequence: Int) -> FileInfo {
        let words = (random(), random(), random(), random())
        let hash = withUnsafeBytes(of: words) { SHA256Digest($0) } ?? SHA256.digest([])
        let size = Int64(words.0 % 131_072) + 1
        let blocks = [BlockInfo(offset: 0, size: Int32(size), hash: hash)]
        return FileInfo(
            name: name(of: sequence), size: size, permissions: 0o644,
            modifiedSeconds: 1_600_000_000 + Int64(words.1 % 200_000_000),
            modifiedNanoseconds: Int32(words.2 % 1_000_000_000),
            version: VersionVector([.init(id: shortID, value: 1_600_000_000 + words.3 % 200_000_000)]),
            sequence: Int64(sequence), modifiedBy: shortID, blockSize: 131_072, blocks: blocks)
    }
}
