import SyncTestKit
import Testing

@testable import MountProtocol

@Suite struct MountMessageTests {
    private static let entry = MountEntry(
        name: "ä b\n", kind: .file, version: .max, size: 1 << 40, modifiedSeconds: -5, modifiedNanoseconds: 999_999_999,
        permissions: 0o640, isHere: true, target: [])
    private static let link = MountEntry(
        name: "l", kind: .symlink, version: 7, size: 3, modifiedSeconds: 5, modifiedNanoseconds: 0, permissions: 0o777,
        isHere: false, target: [0xFF, 0, 1])

    static let requests: [MountRequest] = [
        .hello(
            version: MountLimits.version, folder: "films",
            MountOrigin(directory: "/home/a/Films ü", startedAt: .max, isReadOnly: true)),
        .list(directory: "", after: nil, limit: 1000),
        .list(directory: "a/b", after: "c", limit: 1), .look(path: "a"),
        .open(path: "a", version: 3, disk: 4, onlyHere: true, MountCaller(group: .max, thread: 7)),
        .read(handle: 1, offset: .max, count: 1 << 20),
        .close(handle: .max), .space, .goodbye, .attribute(path: "a/ü", name: "state"), .cancel(number: 9),
        .openWriting(path: "a", version: 3, disk: 4, [.creates, .isExclusive, .truncates], permissions: 0o600),
        .change(path: "a", MountChange(size: 1 << 40, permissions: 0, modified: .init(seconds: -1, nanoseconds: 5))),
        .change(path: "a", MountChange()), .makeDirectory(path: "d", permissions: 0o777),
        .makeSymlink(path: "l", target: [0xFF, 1]), .remove(path: "d/a", isDirectory: true),
        .rename(from: "a", to: "b", version: .max, keepsOther: true), .synchronize(directory: ""),
        .setAttribute(path: "a", name: "pin", value: [49]),
    ]
    static let answers: [MountAnswer] = [
        .welcome(space: MountSpace(total: .max, free: 1), .reader),
        .page([entry, link], isLast: true), .page([], isLast: false), .entry(entry), .opened, .openedAbsent(handle: 5),
        .bytes([1, 2, 3]), .bytes([]),
        .space(MountSpace(total: 1, free: 2)), .done, .failed(.noHolder), .changed(["a", "b/c"]),
        .everythingChanged, .access(.receivesOnly), .access(.writable),
        .openedWriting(handle: 1 << 63, entry, directory: nil),
        .openedWriting(handle: 7, entry, directory: MountChange.Time(seconds: -1, nanoseconds: 999_999_999)),
        .settings(MountSettings(patience: 600, readBudget: 1 << 40, scanners: ["a", "!b"])), .settings(MountSettings()),
    ]

    @Test(arguments: requests) func requestsComeBack(_ request: MountRequest) throws {
        let frame = request.frame(number: 77)
        #expect(frame.number == 77)
        #expect(try MountRequest(frame) == request)
    }

    @Test(arguments: answers) func answersComeBack(_ answer: MountAnswer) throws {
        #expect(try MountAnswer(answer.frame(number: 1)) == answer)
    }

    @Test(arguments: [1, 2, 3, 1000]) func framesComeBackInParts(of size: Int) throws {
        let frames = Self.answers.enumerated().map { $1.frame(number: UInt64($0)) }
        let bytes = frames.flatMap(\.bytes)
        var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)
        var decoded: [MountFrame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { decoder.append($0) }
            while let frame = try decoder.next() { decoded.append(frame) }
        }
        #expect(decoded == frames)
    }

    @Test func tooLongAFrameIsRefusedBeforeItsContent() throws {
        var decoder = MountFrame.Decoder(limit: 10)
        let head = MountFrame(kind: 1, number: 0, content: Array(repeating: 0, count: 11)).bytes.prefix(13)
        head.withUnsafeBytes { decoder.append($0) }
        #expect(throws: MountProtocolError(.tooLong)) { try decoder.next() }
        var short = MountFrame.Decoder(limit: 10)
        ([8, 0, 0, 0] + Array(repeating: 0, count: 9) as [UInt8]).withUnsafeBytes { short.append($0) }
        #expect(throws: MountProtocolError(.tooShort)) { try short.next() }
    }

    @Test func limitsAreKept() {
        let long = String(repeating: "x", count: MountLimits.pathByteCount + 1)
        #expect(throws: MountProtocolError(.limit)) { try MountRequest(MountRequest.look(path: long).frame(number: 1)) }
        let read = MountRequest.read(handle: 1, offset: 0, count: 1 << 20 + 1)
        #expect(throws: MountProtocolError(.limit)) { try MountRequest(read.frame(number: 1)) }
        var entry = Self.entry
        entry.size = -1
        #expect(throws: MountProtocolError(.limit)) { try MountAnswer(MountAnswer.entry(entry).frame(number: 1)) }
        let page = MountAnswer.page(Array(repeating: Self.link, count: 1001), isLast: true)
        #expect(throws: MountProtocolError(.limit)) { try MountAnswer(page.frame(number: 1)) }
        var frame = MountRequest.look(path: "a").frame(number: 1)
        frame.content[frame.content.count - 1] = 0xFF
        #expect(throws: MountProtocolError(.invalidText)) { try MountRequest(frame) }
        frame.content.append(1)
        #expect(throws: (any Error).self) { try MountRequest(frame) }
    }

    /// Whatever bytes come, they are a message or an error.
    @Test func hostileBytesAreMessagesOrErrors() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            var frame =
                (Bool.random(using: &generator)
                    ? Self.requests.randomElement(using: &generator)!.frame(number: 1)
                    : Self.answers.randomElement(using: &generator)!.frame(number: 1))
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !frame.content.isEmpty {
                let place = Int.random(in: 0..<frame.content.count, using: &generator)
                frame.content[place] = UInt8.random(in: 0...255, using: &generator)
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                frame.content = Array(frame.content.prefix(Int.random(in: 0...frame.content.count, using: &generator)))
            }
            if Int.random(in: 0..<8, using: &generator) == 0 { frame.kind = .random(in: 0...255, using: &generator) }
            if let request = try? MountRequest(frame) {
                #expect((try? MountRequest(request.frame(number: 1))) == request)
            }
            if let answer = try? MountAnswer(frame) { #expect((try? MountAnswer(answer.frame(number: 1))) == answer) }
        }
    }
}
