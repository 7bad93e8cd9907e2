import Archives
import SyncTestKit
import Testing

/// Writes the few sectors that an image needs.
struct ImageBuilder {
    struct Record {
        var name: [UInt8]
        var extent: Int64
        var count: Int64
        var flags: UInt8 = 0

        var bytes: [UInt8] {
            func both(_ value: Int64) -> [UInt8] {
                ZipBuilder.number(value, 4) + ZipBuilder.number(value, 4).reversed()
            }
            var bytes: [UInt8] =
                [0, 0] + both(extent) + both(count) + [121, 2, 3, 4, 5, 6, 4, flags, 0, 0, 1, 0, 0, 1]
            bytes += [UInt8(name.count)] + name
            if bytes.count % 2 == 1 { bytes.append(0) }
            bytes[0] = UInt8(bytes.count)
            return bytes
        }
    }

    /// By sector: records of a directory.
    var directories: [Int: [Record]]
    var data: [Int: [UInt8]] = [:]
    var sectors = 64

    static func record(_ name: String, _ extent: Int64, _ count: Int64, flags: UInt8 = 0) -> Record {
        Record(name: Array(name.utf8), extent: extent, count: count, flags: flags)
    }

    /// The root's directory is in sector 20.
    func bytes(rootByteCount: Int64 = 2048) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: sectors * 2048)
        func put(_ part: [UInt8], _ place: Int) { bytes.replaceSubrange(place..<place + part.count, with: part) }
        put([1] + Array("CD001".utf8) + [1], 16 * 2048)
        put([0, 8], 16 * 2048 + 128)
        put(Record(name: [0], extent: 20, count: rootByteCount, flags: 2).bytes, 16 * 2048 + 156)
        put([255] + Array("CD001".utf8) + [1], 17 * 2048)
        for (sector, records) in directories {
            let own = Record(name: [0], extent: Int64(sector), count: 2048, flags: 2)
            let above = Record(name: [1], extent: 20, count: 2048, flags: 2)
            put(([own, above] + records).flatMap(\.bytes), sector * 2048)
        }
        for (sector, part) in data { put(part, sector * 2048) }
        return bytes
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ImageTests {
    private func open(_ builder: ImageBuilder) async throws -> Archive {
        try await Archive(MemorySource(builder.bytes()), name: "x.iso")
    }

    @Test func aFileInSeveralExtentsIsOne() async throws {
        var generator = SeededGenerator(seed: 1)
        let content = generator.bytes(5000)
        let builder = ImageBuilder(
            directories: [
                20: [
                    ImageBuilder.record("FILM.;1", 30, 2048, flags: 0x80),
                    ImageBuilder.record("FILM.;1", 40, 2048, flags: 0x80), ImageBuilder.record("FILM.;1", 50, 904),
                    ImageBuilder.record("NEXT.TXT;1", 30, 3),
                ]
            ],
            data: [30: Array(content[..<2048]), 40: Array(content[2048..<4096]), 50: Array(content[4096...])])
        let archive = try await open(builder)
        #expect(try archive.all().map(\.path) == ["FILM", "NEXT.TXT"])
        let film = try archive.file("FILM")
        #expect(film.size == 5000 && film.isSeekable)
        // 2021-02-03 04:05:06, an hour east of Greenwich.
        #expect(film.modified == 1_612_321_506)
        #expect(try await archive.content(film) == content)
        for _ in 0..<100 {
            let first = generator.int(0...4999)
            let last = generator.int(first...4999)
            #expect(try await archive.content(film, Int64(first)...Int64(last)) == Array(content[first...last]))
        }
        #expect(try archive.file("NEXT.TXT").size == 3)
    }

    @Test func circlesEnd() async throws {
        let circle = ImageBuilder(directories: [20: [ImageBuilder.record("AGAIN", 20, 2048, flags: 2)]])
        #expect(try await archiveError { _ = try await open(circle) } == .damaged)
        let two = ImageBuilder(directories: [
            20: [ImageBuilder.record("A", 21, 2048, flags: 2), ImageBuilder.record("B", 21, 2048, flags: 2)], 21: [],
        ])
        #expect(try await archiveError { _ = try await open(two) } == .damaged)
    }

    @Test func limitsHold() async throws {
        var deep = ImageBuilder(directories: [:], sectors: 200)
        for level in 0..<100 {
            deep.directories[20 + level] = [ImageBuilder.record("D", Int64(21 + level), 2048, flags: 2)]
        }
        deep.directories[120] = []
        #expect(try await archiveError { _ = try await open(deep) } == .tooLarge)
        let large = ImageBuilder(directories: [:])
        let bytes = large.bytes(rootByteCount: ArchiveLimits.directory + 1)
        let source = MemorySource(size: 1 << 30, pieces: [(0, bytes)])
        #expect(try await archiveError { _ = try await Archive(source, name: "x.iso") } == .tooLarge)
        #expect(source.reads.reduce(0) { $0 + $1.count } <= 1 << 20)
    }

    /// A name takes 36 bytes of the image, and its path 4,000 of memory.
    @Test(arguments: [(10, true), (330, false)])
    func thePathsOfAllMembersAreBounded(sectors: Int, isRead: Bool) async throws {
        let depth = 19
        var image = ImageBuilder(directories: [:], sectors: 40 + sectors)
        let name = String(repeating: "D", count: 207)
        for level in 0..<depth {
            let isLast = level == depth - 1
            image.directories[20 + level] = [
                ImageBuilder.record(
                    name, isLast ? 40 : Int64(21 + level), isLast ? Int64(sectors * 2048) : 2048, flags: 2)
            ]
        }
        let file = ImageBuilder.record("a", 0, 0).bytes
        let full = Array(repeatElement(file, count: 2048 / file.count).joined())
        for sector in 0..<sectors { image.data[40 + sector] = full }
        guard isRead else {
            return #expect(try await archiveError { _ = try await open(image) } == .tooLarge)
        }
        #expect(try await open(image).memberCount == depth + sectors * (2048 / file.count))
    }

    @Test func whatLiesBeyondTheEndIsAnError() async throws {
        let archive = try await open(
            ImageBuilder(directories: [20: [ImageBuilder.record("FAR.;1", 4_000_000_000, 4_000_000_000)]]))
        let far = try archive.file("FAR")
        #expect(far.size == 4_000_000_000)
        #expect(try await archiveError { _ = try await archive.content(far) } == .damaged)
    }

    @Test func anImageIsFoundUnderAnyName() async throws {
        let image = ImageBuilder(directories: [20: [ImageBuilder.record("A.;1", 30, 1)]]).bytes()
        #expect(try await Archive(MemorySource(image), name: "disc.img").format == .iso)
        let zip = ZipBuilder(members: [.init("a", [1])]).bytes()
        #expect(try await Archive(MemorySource(zip), name: "wrong.iso").format == .zip)
    }
}
