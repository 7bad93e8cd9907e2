import Testing

@testable import BlockExchange

/// Platform data as Syncthing's schema has it, written by hand.
@Suite struct FileAttributesTests {
    /// 14: { 1: { 1: "al", 2: "st", 3: 1000, 4: 50 }, 3: { 1: { 1: "user.a", 2: 01 FF }, 1: { 1: "user.b" } } }
    private static let golden: [UInt8] = [
        0x72, 0x29,
        0x0A, 0x0D, 0x0A, 0x02, 0x61, 0x6C, 0x12, 0x02, 0x73, 0x74, 0x18, 0xE8, 0x07, 0x20, 0x32,
        0x1A, 0x18,
        0x0A, 0x0C, 0x0A, 0x06, 0x75, 0x73, 0x65, 0x72, 0x2E, 0x61, 0x12, 0x02, 0x01, 0xFF,
        0x0A, 0x08, 0x0A, 0x06, 0x75, 0x73, 0x65, 0x72, 0x2E, 0x62,
    ]
    private static let attributes = FileAttributes(
        owner: UnixOwner(ownerName: "al", groupName: "st", uid: 1000, gid: 50),
        extended: [ExtendedAttribute(name: "user.b", value: []), ExtendedAttribute(name: "user.a", value: [1, 255])])

    @Test func readsAndWritesSyncthingsBytes() {
        var file = FileInfo(name: "f")
        file.carriedFields = Self.golden
        #expect(file.attributes == Self.attributes)
        var written = FileInfo(name: "f")
        written.setAttributes(Self.attributes, onDisk: nil)
        #expect(written.carriedFields == Self.golden)
    }

    @Test func noneIsNotUnsaid() {
        var file = FileInfo(name: "f")
        #expect(file.attributes.extended == nil)
        file.setAttributes(FileAttributes(extended: []), onDisk: nil)
        #expect(file.carriedFields == [0x72, 0x02, 0x1A, 0x00])
        #expect(file.attributes.extended == [])
        file.setAttributes(FileAttributes(), onDisk: nil)
        #expect(file.carriedFields == [])
    }

    @Test func negativeNumbersArePossible() {
        var file = FileInfo(name: "f")
        let owner = UnixOwner(uid: -2, gid: .min)
        file.setAttributes(FileAttributes(owner: owner), onDisk: nil)
        #expect(file.attributes.owner == owner)
    }

    @Test func otherSystemsDataAndOtherFieldsStay() {
        let windows: [UInt8] = [0x12, 0x03, 0x0A, 0x01, 0x77]
        let darwin: [UInt8] = [0x22, 0x02, 0x0A, 0x00]
        let other: [UInt8] = [0xA8, 0x01, 0x07]
        var file = FileInfo(name: "f")
        file.carriedFields = [0x72, 0x0B] + [0x1A, 0x00] + windows + darwin + other
        file.setAttributes(FileAttributes(owner: UnixOwner(uid: 1, gid: 0)), onDisk: FileAttributes(extended: []))
        #expect(file.carriedFields.starts(with: [0x72, 0x0D, 0x0A, 0x02, 0x18, 0x01] + windows + darwin + other))
        #expect(file.diskAttributes == FileAttributes(extended: []))
    }

    @Test func whatTheDiskHasIsNotSentNorTaken() throws {
        var file = FileInfo(
            name: "f", version: VersionVector([.init(id: ShortID(rawValue: 1), value: 1)]), sequence: 1,
            blockSize: 131_072,
            blocks: [BlockInfo(offset: 0, size: 0, hash: .init([UInt8](repeating: 1, count: 32))!)])
        file.setAttributes(Self.attributes, onDisk: FileAttributes(extended: []))
        var sent = WireWriter()
        file.encode(into: &sent)
        #expect(sent.bytes.suffix(Self.golden.count) == Self.golden[...])
        let got = try sent.bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            return try FileInfo(decoding: &reader, limits: ExchangeLimits())
        }
        #expect(got.carriedFields == Self.golden)
        // A peer that sends such a field says nothing by it.
        var hostile = WireWriter()
        file.carriedFields = []
        file.encode(into: &hostile)
        hostile.field(1010, bytes: [0x1A, 0x00])
        let taken = try hostile.bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            return try FileInfo(decoding: &reader, limits: ExchangeLimits())
        }
        #expect(taken.diskAttributes == nil)
    }

    @Test func whyThisDeviceDeletedANameIsNotSentNorTaken() throws {
        var file = FileInfo(
            name: "f", isDeleted: true, version: VersionVector([.init(id: ShortID(rawValue: 1), value: 1)]), sequence: 1
        )
        var plain = WireWriter()
        file.encode(into: &plain)
        #expect(!file.isRenamedAway)
        file.noteRenamedAway()
        file.noteRenamedAway()
        #expect(file.isRenamedAway)
        var sent = WireWriter()
        file.encode(into: &sent)
        #expect(sent.bytes == plain.bytes)
        plain.field(1011, unsigned: 1)
        let taken = try plain.bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            return try FileInfo(decoding: &reader, limits: ExchangeLimits())
        }
        #expect(!taken.isRenamedAway)
    }

    @Test(
        arguments: [
            // Names that no file can have, twice the same name, bytes that are no protobuf.
            [0x0A, 0x02, 0x0A, 0x00], [0x0A, 0x00], [0x0A, 0x04, 0x0A, 0x02, 0x61, 0x00],
            [0x0A, 0x03, 0x0A, 0x01, 0x61, 0x0A, 0x03, 0x0A, 0x01, 0x61], [0x0A, 0x03, 0x0A, 0x01, 0xFF],
            [0x0A, 0x7F], [0xFF, 0xFF, 0xFF],
        ] as [[UInt8]])
    func whatIsImpossibleSaysNothing(linux: [UInt8]) {
        var writer = WireWriter()
        writer.message(14) { $0.field(3, bytes: linux) }
        var file = FileInfo(name: "f")
        file.carriedFields = writer.bytes
        #expect(file.attributes == FileAttributes())
    }

    @Test func whatIsTooLongSaysNothing() {
        func isRead(name: Int, value: Int, count: Int = 1) -> Bool {
            let list = (0..<count).map { index in
                let text = String(index)
                return ExtendedAttribute(
                    name: text + String(repeating: "n", count: name - text.utf8.count),
                    value: [UInt8](repeating: 7, count: value))
            }
            var file = FileInfo(name: "f")
            file.setAttributes(FileAttributes(extended: list), onDisk: nil)
            return file.attributes.extended?.count == count
        }
        #expect(isRead(name: 255, value: 65_536))
        #expect(!isRead(name: 256, value: 0))
        #expect(!isRead(name: 10, value: 65_537))
        #expect(isRead(name: 5, value: 0, count: 4096))
        #expect(!isRead(name: 5, value: 0, count: 4097))
    }

    @Test func anyDamageIsSurvived() {
        for position in Self.golden.indices {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var file = FileInfo(name: "f")
                file.carriedFields = Self.golden
                file.carriedFields[position] = byte
                file.setAttributes(file.attributes, onDisk: file.diskAttributes)
                let once = file.attributes
                file.setAttributes(once, onDisk: nil)
                #expect(file.attributes == once)
            }
        }
    }

    @Test(
        arguments: [
            ((1, 1, "a", "a"), (1, 1, "b", "b"), true), ((1, 1, "a", "g"), (2, 9, "a", "g"), true),
            ((1, 1, "a", "g"), (2, 1, "b", "g"), false), ((1, 1, "", ""), (2, 2, "", ""), false),
            ((1, 1, "a", "g"), (2, 1, "a", "h"), false),
        ] as [((Int32, Int32, String, String), (Int32, Int32, String, String), Bool)])
    func ownersAreTheSameByNumbersOrNames(
        left: (Int32, Int32, String, String), right: (Int32, Int32, String, String), isSame: Bool
    ) {
        let (a, b) = (
            UnixOwner(ownerName: left.2, groupName: left.3, uid: left.0, gid: left.1),
            UnixOwner(ownerName: right.2, groupName: right.3, uid: right.0, gid: right.1)
        )
        #expect(a.isSame(as: b) == isSame)
        #expect(b.isSame(as: a) == isSame)
    }
}

@Suite struct AttributeFilterTests {
    @Test(
        arguments: [
            (["user.*"], "user.a", true), (["user.*"], "user.", true), (["user.*"], "users", false),
            (["*"], "security.selinux", true), ([], "user.a", false),
            (["!user.cache.*", "user.*"], "user.cache.x", false),
            (["!user.cache.*", "user.*"], "user.cach", true), (["user.*", "!user.a"], "user.a", true),
            (["user.?"], "user.a", true), (["user.?"], "user.ab", false), (["u*r.*b"], "user.aab", true),
            (["a\\*b"], "a*b", true), (["a\\*b"], "axb", false),
            (["*a*a*a*a*b"], String(repeating: "a", count: 200), false),
            (["user.é"], "user.é", true),
        ] as [([String], String, Bool)])
    func theFirstPatternDecides(patterns: [String], name: String, isPermitted: Bool) {
        #expect(AttributeFilter(patterns: patterns).permits(name) == isPermitted)
    }

    @Test func theDefaultTakesWhatIsTheUsers() {
        let filter = AttributeFilter()
        #expect(filter.permits("user.comment") && filter.permits("system.posix_acl_access"))
        #expect(
            !filter.permits("security.selinux") && !filter.permits("trusted.x") && !filter.permits("system.nfs4_acl"))
    }

    @Test func whatIsTooLargeIsLeftOutAndTheRestIsNot() {
        let list = ["a", "b", "c", "d"].map { name in
            ExtendedAttribute(name: name, value: [UInt8](repeating: 0, count: ["a": 3, "b": 9, "c": 4, "d": 1][name]!))
        }
        func names(_ entry: Int, _ total: Int) -> String {
            AttributeFilter(patterns: ["*"], entryByteLimit: entry, totalByteLimit: total).permitted(list).map(\.name)
                .joined()
        }
        #expect(names(0, 0) == "abcd")
        #expect(names(9, 0) == "acd")
        #expect(names(10, 0) == "abcd")
        #expect(names(0, 6) == "ad")
        #expect(names(0, 9) == "ac")
        #expect(names(1, 1) == "")
    }

    @Test func nonsenseIsRefusedWithAWordOfWhatToWrite() {
        #expect(AttributeFilter.problem(with: ["user.*", "!a\\\\", "!*"]) == nil)
        for pattern in ["", "!", "a\nb", "a\\", String(repeating: "x", count: 256)] {
            #expect(AttributeFilter.problem(with: [pattern])?.contains("user.*") == true)
        }
        #expect(AttributeFilter.problem(with: Array(repeating: "a", count: 101)) != nil)
    }
}
