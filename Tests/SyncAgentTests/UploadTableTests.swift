import ControlAPI
import Testing

@testable import SyncAgent

/// Which uploads there are, and when they are over.
struct UploadTableTests {
    private static func id(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    private static func record(
        _ digit: Character, session: String? = "s", path: String = "a", size: Int64 = 10, touched: Int64 = 100
    ) -> UploadTable.Record {
        UploadTable.Record(
            id: id(digit), session: session, folder: "docs", wanted: path, path: path, size: size, clash: .refuse,
            touched: touched)
    }

    @Test func anUploadIsFoundAgainByTheSameSessionAndFileOnly() throws {
        var table = UploadTable()
        try table.add(Self.record("a"))
        func earlier(_ size: Int64, _ modified: Int64?, _ session: String?, _ path: String = "a") -> String? {
            table.earlier(
                UploadRequest(
                    path: PathReference(text: "docs:a", workingDirectory: "/"), size: size, modified: modified,
                    session: session), folder: "docs", path: path)?.id
        }
        #expect(earlier(10, nil, "s") == Self.id("a"))
        #expect(earlier(11, nil, "s") == nil && earlier(10, 1, "s") == nil && earlier(10, nil, "s", "b") == nil)
        #expect(earlier(10, nil, "t") == nil && earlier(10, nil, nil) == nil)
        #expect(throws: ControlError.self) { try table.record(Self.id("a"), of: "t") }
        #expect(throws: ControlError.self) { try table.record(Self.id("a"), of: nil) }
        #expect(throws: ControlError.self) { try table.record("a", of: "s") }
    }

    @Test func anUploadExpiresADayAfterItsLastPart() throws {
        var table = UploadTable()
        try table.add(Self.record("a"))
        try table.add(Self.record("b"))
        let isStored = [500, 700].map { table.touch(Self.id("b"), received: 4, at: $0) }
        #expect(isStored == [false, true])
        #expect(table.expired(at: 100 + 86_399).isEmpty)
        #expect(table.expired(at: 100 + 86_400).map(\.id) == [Self.id("a")])
        #expect(table.expired(at: .max).count == 2 && table.expired(at: .min).isEmpty)
    }

    @Test func thereAreSoManyAtOnce() throws {
        var table = UploadTable()
        for number in 0..<UploadLimits.count {
            var record = Self.record("a")
            record.id = String(repeating: "0", count: 64 - String(number).count) + String(number)
            try table.add(record)
        }
        let error = #expect(throws: ControlError.self) { try table.add(Self.record("f")) }
        #expect(error?.code == .busy)
        #expect(table.remaining(in: "docs") == 640 && table.remaining(in: "other") == 0)
    }

    @Test func whatIsLeftOfSizesNeverOverflows() throws {
        var table = UploadTable()
        try table.add(Self.record("a", size: .max))
        try table.add(Self.record("b", size: .max))
        #expect(table.remaining(in: "docs") == .max)
        _ = table.touch(Self.id("a"), received: .max, at: 1)
        #expect(table.remaining(in: "docs") == .max)
    }

    @Test func whatMakesNoSenseIsNotRestored() {
        var negative = Self.record("b")
        negative.size = -1
        var beyond = Self.record("c")
        beyond.received = 11
        var odd = Self.record("d")
        odd.id = "../../x"
        let table = UploadTable(restoring: [Self.record("a"), negative, beyond, odd])
        #expect(table.storable.map(\.id) == [Self.id("a")])
    }
}
