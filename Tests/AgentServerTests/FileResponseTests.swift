import ControlAPI
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FileResponseTests {
    static let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let target = "/v1/file?path=docs:f.bin"
    let path = PathReference(text: "docs:f.bin", workingDirectory: "/")

    struct Case: Sendable, CustomTestStringConvertible {
        var range: String?
        var status: Int
        /// What comes; nil where the body is an error.
        var bytes: Range<Int>?
        var testDescription: String { range ?? "no range" }
    }

    @Test(arguments: [
        Case(range: nil, status: 200, bytes: 0..<10_000), Case(range: "bytes=0-9", status: 206, bytes: 0..<10),
        Case(range: "bytes=9999-", status: 206, bytes: 9999..<10_000),
        Case(range: "bytes=5000-99999", status: 206, bytes: 5000..<10_000),
        Case(range: "bytes=-10", status: 206, bytes: 9990..<10_000),
        Case(range: "bytes=-99999", status: 206, bytes: 0..<10_000), Case(range: "bytes=10000-", status: 416),
        Case(range: "bytes=-0", status: 416), Case(range: "bytes=9-1", status: 200, bytes: 0..<10_000),
        Case(range: "bytes=x-1", status: 200, bytes: 0..<10_000),
        Case(range: "bytes=0-1,4-5", status: 200, bytes: 0..<10_000),
        Case(range: "furlongs=0-1", status: 200, bytes: 0..<10_000),
    ])
    func rangesAreAnsweredAsRFC9110Says(_ test: Case) async throws {
        let target = target
        try await ServerHarness.run(ScriptedControl(content: Self.content)) { harness in
            let response = try await harness.get(target, headers: test.range.map { "Range: \($0)\r\n" } ?? "")
            #expect(response.status == test.status)
            #expect(response.headers["accept-ranges"] == "bytes")
            guard let bytes = test.bytes else {
                #expect(response.headers["content-range"] == "bytes */10000")
                #expect(response.error?.code == .rangeNotSatisfiable)
                return
            }
            #expect(response.body == Array(Self.content[bytes]))
            #expect(response.headers["content-length"] == String(bytes.count))
            let isPart = test.status == 206
            #expect(
                response.headers["content-range"]
                    == (isPart ? "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/10000" : nil))
        }
    }

    @Test func ifRangeAsksForTheWhole() async throws {
        let target = target
        try await ServerHarness.run(ScriptedControl(content: Self.content)) { harness in
            let response = try await harness.get(target, headers: "Range: bytes=0-1\r\nIf-Range: \"x\"\r\n")
            #expect(response.status == 200)
            #expect(response.body.count == 10_000)
        }
    }

    @Test func anEmptyFileIsEmpty() async throws {
        let (target, path) = (target, path)
        try await ServerHarness.run(ScriptedControl()) { harness in
            let whole = try await harness.get(target)
            #expect(whole.status == 200)
            #expect(whole.headers["content-length"] == "0")
            #expect(whole.body.isEmpty)
            #expect(try await harness.get(target, headers: "Range: bytes=0-\r\n").status == 416)
            #expect(try await harness.get(target, headers: "Range: bytes=-5\r\n").status == 416)
            let started = Box(false)
            try await harness.client.read(path, range: nil) { entry, part in
                #expect(entry.size == 0)
                #expect(part == nil)
                started.change { $0 = true }
            } emit: { _ in
                Issue.record("an empty file has no bytes")
            }
            #expect(started.current)
        }
    }

    @Test func headSaysHowLong() async throws {
        let target = target
        try await ServerHarness.run(ScriptedControl(content: Self.content)) { harness in
            let response = try await harness.get(target, method: "HEAD")
            #expect(response.status == 200)
            #expect(response.headers["content-length"] == "10000")
            #expect(response.body.isEmpty)
        }
    }

    @Test(arguments: [nil, .bytes(from: 0, through: 0), .bytes(from: 1500, through: 7499), .suffix(1)] as [ByteRange?])
    func theClientReadsTheSameBytes(_ range: ByteRange?) async throws {
        let path = path
        try await ServerHarness.run(ScriptedControl(content: Self.content)) { harness in
            let got = Box<[UInt8]>([])
            let announced = Box<ClosedRange<Int64>?>(nil)
            try await harness.client.read(path, range: range) { _, part in
                announced.change { $0 = part }
            } emit: { chunk in
                got.change { $0 += chunk }
            }
            let part = try #require(announced.current)
            #expect(part == (range ?? .bytes(from: 0, through: nil)).resolved(size: 10_000))
            #expect(got.current == Array(Self.content[Int(part.lowerBound)...Int(part.upperBound)]))
        }
    }

    @Test func anErrorBeforeTheFirstByteHasItsStatus() async throws {
        let (target, path) = (target, path)
        let error = ControlError(.noHolder, "Nobody has it.", isRetryable: true)
        try await ServerHarness.run(ScriptedControl(content: Self.content, failure: error)) { harness in
            let response = try await harness.get(target)
            #expect(response.status == 503)
            #expect(response.error == error)
            #expect(
                await controlError {
                    try await harness.client.read(path, range: nil) { _, _ in
                    } emit: { _ in
                    }
                } == error)
        }
    }

    @Test func anErrorInTheMiddleCutsTheBody() async throws {
        let (target, path) = (target, path)
        let control = ScriptedControl(
            content: Self.content, readFailure: (afterBytes: 4000, error: ControlError(.noHolder, "gone")))
        try await ServerHarness.run(control) { harness in
            let response = try await harness.get(target)
            #expect(response.status == 200)
            #expect(response.headers["content-length"] == "10000")
            #expect(response.body == Array(Self.content[..<4000]))
            let error = await controlError {
                try await harness.client.read(path, range: nil) { _, _ in
                } emit: { _ in
                }
            }
            #expect(error?.code == .interrupted)
        }
    }
}
