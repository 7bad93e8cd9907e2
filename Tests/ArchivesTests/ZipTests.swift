import Archives
import SyncTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ZipTests {
    static let block: Int64 = 128 << 10

    private func open(_ builder: ZipBuilder) async throws -> Archive {
        try await Archive(MemorySource(builder.bytes()), name: "x.zip")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func anyZipIsReadAsItWasWritten(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let members = (0..<generator.int(0...12)).map { number in
            let content = generator.bytes(generator.pick([0, 1, 700, 70_000, 300_000]))
            let isPacked = generator.isOne(in: 2)
            return ZipBuilder.Member("\(number)", content, packed: isPacked ? ZipBuilder.deflated(content) : nil)
        }
        let bytes = ZipBuilder(members: members).bytes()
        let archive = try await Archive(MemorySource(bytes, step: generator.int(1...200_000)), name: "x.zip")
        #expect(archive.memberCount == members.count)
        for member in members {
            let found = try archive.file(String(decoding: member.name, as: UTF8.self))
            #expect(try await archive.content(found) == member.content)
            guard found.isSeekable, !member.content.isEmpty else { continue }
            let first = generator.int(0...member.content.count - 1)
            let last = generator.int(first...member.content.count - 1)
            let part = try await archive.content(found, Int64(first)...Int64(last))
            #expect(part == Array(member.content[first...last]))
        }
    }

    /// Of 6 GiB: the end for the list, and of a member its own blocks.
    @Test func onlyWhatIsNeededIsRead() async throws {
        let first = ZipBuilder(members: [.init("first", [UInt8](repeating: 7, count: 1000))])
        let place: Int64 = 6 << 30
        var far = ZipBuilder.Member("far", Array("far away".utf8))
        far.packed = ZipBuilder.deflated(far.content)
        var members = first.members
        members[0].header = 0
        let tail = ZipBuilder(members: [members[0], far]).bytes(at: place)
        let source = MemorySource(
            size: place + Int64(tail.count), pieces: [(0, first.bytes()), (place, tail)])
        let archive = try await Archive(source, name: "large.zip")
        #expect(try archive.all().map(\.path) == ["first", "far"])
        #expect(source.reads.allSatisfy { $0.lowerBound >= place })
        #expect(source.reads.count == 1)
        #expect(try await archive.content(try archive.file("far")) == far.content)
        #expect(try await archive.content(try archive.file("first")) == members[0].content)
        let atFront = source.reads.filter { $0.lowerBound < place }
        #expect(atFront.allSatisfy { $0.upperBound <= Self.block })
    }

    @Test func aDamagedMemberEndsAsAnErrorBeforeItsLastBytes() async throws {
        for packed in [false, true] {
            let content = [UInt8](repeating: 9, count: 600_000)
            var member = ZipBuilder.Member("a", content, packed: packed ? ZipBuilder.deflated(content) : nil)
            member.crc = 1
            let archive = try await open(ZipBuilder(members: [member]))
            let count = Count()
            let code = try await archiveError {
                try await archive.read(try archive.file("a"), range: nil) { count.add($0.count) }
            }
            #expect(code == .damaged)
            #expect(count.value < content.count)
        }
    }

    /// What is said of a member is what it may take.
    @Test func aBombStopsAtTheSizeThatItAnnounces() async throws {
        let content = [UInt8](repeating: 0, count: 3 << 20)
        var bomb = ZipBuilder.Member("bomb", content, packed: ZipBuilder.deflated(content))
        bomb.size = 1000
        let archive = try await open(ZipBuilder(members: [bomb]))
        let count = Count()
        let code = try await archiveError {
            try await archive.read(try archive.file("bomb"), range: nil) { count.add($0.count) }
        }
        #expect(code == .damaged)
        #expect(count.value <= 1000)
        bomb.size = 0xFFFF_FFF0
        let other = try await open(ZipBuilder(members: [bomb]))
        #expect(try await archiveError { _ = try await other.content(try other.file("bomb")) } == .damaged)
    }

    @Test func membersThatLieOverEachOtherAreRefused() async throws {
        let inner = ZipBuilder.Member("inner", [UInt8](repeating: 1, count: 100))
        var outer = ZipBuilder.Member("outer", [UInt8](repeating: 2, count: 5000))
        outer.header = 0
        var builder = ZipBuilder(members: [inner, outer])
        // The first member's header is read for both: it is as long as the second one says, and covers it.
        let archive = try await open(builder)
        #expect(try await archive.content(try archive.file("inner")) == inner.content)
        #expect(try await archiveError { _ = try await archive.content(try archive.file("outer")) } == .damaged)
        builder.members[1].header = 1 << 30
        let beyond = try await open(builder)
        #expect(try await archiveError { _ = try beyond.file("outer") } == .damaged)
    }

    @Test func namesAreShownAndNoPaths() async throws {
        let names = ["../../etc/passwd", "/etc/passwd", "a\\b", "a\u{0}b", "a//b", "."]
        let archive = try await open(ZipBuilder(members: names.map { .init($0, [1]) }))
        #expect(try archive.all().map(\.path) == names)
        for name in names { #expect(try await archive.content(try archive.file(name)) == [1]) }
    }

    @Test func theLastOfSeveralOfANameIsMeant() async throws {
        let archive = try await open(ZipBuilder(members: [.init("a", [1]), .init("a", [2])]))
        #expect(try await archive.content(try archive.file("a")) == [2])
        // Bytes are compared: é in two ways are two names.
        let two = try await open(ZipBuilder(members: [.init("\u{E9}", [1]), .init("e\u{301}", [2])]))
        #expect(try await two.content(try two.file("\u{E9}")) == [1])
    }

    @Test func whatIsNoArchiveIsSaidToBeNone() async throws {
        for bytes in [[], [1], [UInt8](repeating: 0x50, count: 400_000)] as [[UInt8]] {
            #expect(try await archiveError { _ = try await Archive(MemorySource(bytes), name: "x") } == .notArchive)
        }
    }

    @Test func limitsHold() async throws {
        let long = String(repeating: "x", count: ArchiveLimits.path + 1)
        let archive = try await open(ZipBuilder(members: [.init(long, [1])]))
        #expect(try await archiveError { _ = try archive.all() } == .tooLarge)
        let few = ZipBuilder(members: [.init("a", [1])], count: 2)
        #expect(try await archiveError { _ = try await open(few) } == .damaged)
        var bytes = ZipBuilder(members: []).bytes()
        bytes.replaceSubrange(12..<16, with: ZipBuilder.number(ArchiveLimits.directory + 1, 4))
        let large = MemorySource(size: 1 << 33, pieces: [(1 << 33 - 22, bytes)])
        #expect(try await archiveError { _ = try await Archive(large, name: "x.zip") } == .tooLarge)
        // Nothing of the directory was read for that.
        #expect(large.reads.allSatisfy { $0.count <= Int(Self.block) })
    }
}

final class Count: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func add(_ more: Int) { count.withLock { $0 += more } }
}
