import ControlAPI
import SyncTestKit
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
        Case(range: "bytes=0-1,4-1", status: 200, bytes: 0..<10_000),
        Case(range: "bytes=0-,0-0", status: 200, bytes: 0..<10_000),
        Case(range: "bytes=5-6,10000-", status: 206, bytes: 5..<7),
        Case(range: "bytes=10000-,20000-", status: 416),
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

    /// The parts of an answer with several ranges, as they say what they are.
    private func parts(of response: RawResponse) throws -> [(range: String, bytes: [UInt8])] {
        let type = try #require(response.headers["content-type"])
        let boundary = try #require(type.split(separator: "boundary=").last)
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        #expect(response.headers["content-length"] == String(response.body.count))
        var rest = response.body[...]
        var parts: [(String, [UInt8])] = []
        func take(_ text: String) throws {
            try #require(rest.starts(with: text.utf8), "\(text)")
            rest = rest.dropFirst(text.utf8.count)
        }
        func line() -> String {
            let line = rest.prefix { $0 != UInt8(ascii: "\r") }
            rest = rest.dropFirst(line.count + 2)
            return String(decoding: line, as: UTF8.self)
        }
        while true {
            try take("\r\n--\(boundary)")
            if rest.elementsEqual("--\r\n".utf8) { return parts }
            try take("\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ")
            let range = line()
            try take("\r\n")
            let ends = range.split(separator: "/")[0].split(separator: "-").compactMap { Int($0) }
            try #require(ends.count == 2 && ends[1] - ends[0] < rest.count)
            parts.append((range, Array(rest.prefix(ends[1] - ends[0] + 1))))
            rest = rest.dropFirst(ends[1] - ends[0] + 1)
        }
    }

    @Test(arguments: 1...20) func anySetOfRangesIsThoseSlicesOfTheFile(seed: UInt64) async throws {
        let target = target
        try await ServerHarness.run(ScriptedControl(content: Self.content)) { harness in
            var generator = SeededGenerator(seed: seed)
            var wanted: [ClosedRange<Int>] = []
            let words = (0..<generator.int(1...16)).map { _ in
                let from = generator.int(0...11_000)
                switch generator.int(0...3) {
                case 0:
                    let count = generator.int(0...400)
                    if count > 0 { wanted.append(10_000 - count...9_999) }
                    return "-\(count)"
                case 1 where from > 9_000:
                    if from < 10_000 { wanted.append(from...9_999) }
                    return "\(from)-"
                default:
                    let through = from + generator.int(0...500)
                    if from < 10_000 { wanted.append(from...min(9_999, through)) }
                    return "\(from)-\(through)"
                }
            }
            let response = try await harness.get(
                target, headers: "Range: bytes=\(words.joined(separator: generator.pick([",", ", ", " ,\t"])))\r\n")
            switch wanted.count {
            case _ where wanted.reduce(0) { $0 + $1.count } > 10_000:
                #expect(response.status == 200)
                #expect(response.body == Self.content)
            case 0: #expect(response.status == 416)
            case 1:
                #expect(response.status == 206)
                #expect(response.body == Array(Self.content[wanted[0]]))
            default:
                #expect(response.status == 206)
                let parts = try parts(of: response)
                #expect(parts.map(\.bytes) == wanted.map { Array(Self.content[$0]) })
                #expect(parts.map(\.range) == wanted.map { "\($0.lowerBound)-\($0.upperBound)/10000" })
            }
        }
    }

    /// Two parts of two versions would be a file that never was.
    @Test func aFileThatChangesBetweenTwoPartsEndsTheAnswer() async throws {
        let target = target
        let control = ScriptedControl(content: Self.content, changesAfterReads: 1)
        try await ServerHarness.run(control) { harness in
            let response = try await harness.get(target, headers: "Range: bytes=0-99,200-299\r\n")
            #expect(response.status == 206)
            let announced = try #require(response.headers["content-length"].flatMap { Int($0) })
            #expect(response.body.count < announced)
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
