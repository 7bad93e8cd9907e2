import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Foundation
import GhostDrop
import SyncTestKit
import Synchronization
import Testing

@testable import AgentContext
@testable import FileDrop
@testable import SyncDecisions

/// A directory of one test's own.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("drop-\(UUID())").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Names and contents.
    var files: [String: [UInt8]] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return Dictionary(uniqueKeysWithValues: names.map { ($0, contents($0)) })
    }

    func contents(_ name: String) -> [UInt8] {
        FileManager.default.contents(atPath: path + "/" + name).map(Array.init) ?? []
    }

    func put(_ name: String, _ bytes: [UInt8]) -> String {
        _ = FileManager.default.createFile(atPath: path + "/" + name, contents: Data(bytes))
        return path + "/" + name
    }
}

@Suite struct DeviceDropMessageTests {
    static let id = UniqueID("FABEB6EC-6DDB-475C-AF5D-8A85DDD4E49A").unsafelyUnwrapped

    @Test func messagesComeBack() {
        for kind in [DeviceDropMessage.Kind.offer, .cancel, .about, .data] {
            #expect(DeviceDropMessage(DeviceDropMessage(kind, Self.id).name) == DeviceDropMessage(kind, Self.id))
        }
        for end in DeviceDropMessage.End.allCases {
            let message = DeviceDropMessage(.end, Self.id, end: end)
            #expect(DeviceDropMessage(message.name) == message)
        }
    }

    @Test(arguments: [
        "", "offer", "offer/", "offer/x", "offer/\(id)/done", "end/\(id)", "end/\(id)/perhaps", "end/\(id)/done/",
        "Offer/\(id)", "/offer/\(id)", "about/\(id)/", "data/\(id)\u{0}",
    ])
    func othersAreNone(_ name: String) { #expect(DeviceDropMessage(name) == nil) }

    @Test func aboutComesBack() throws {
        let about = DeviceDropAbout(size: .max, digest: SHA256.digest([1]), name: "für dich.txt")
        #expect(DeviceDropAbout(about.bytes) == about)
        #expect(DeviceDropAbout(Array(about.bytes.prefix(39))) == nil)
        #expect(DeviceDropAbout([UInt8](repeating: 0xFF, count: 50)) == nil, "more than any file has")
        #expect(DeviceDropAbout([UInt8](repeating: 0, count: 9000)) == nil)
        let long = DeviceDropAbout(size: 1, digest: SHA256.digest([1]), name: String(repeating: "ä", count: 9000))
        #expect(long.bytes.count <= DeviceDropMessage.aboutByteCount && DeviceDropAbout(long.bytes) != nil)
    }
}

@Suite struct DropTargetTests {
    private static let one = DeviceID(digest: SHA256.digest([1]))
    private static let two = DeviceID(digest: SHA256.digest([2]))
    private static let known = [
        DeviceConfiguration(id: one, name: "nas", addresses: ["dynamic", "ble://AA:BB:CC:DD:EE:FF"])
    ]

    @Test(
        arguments: [
            ("nas", .device(one)), (one.description, .device(one)), ("ble://aa:bb:cc:dd:ee:ff", .device(one)),
            ("ble://00:00:00:00:00:01", .address(.bluetooth("00:00:00:00:00:01"))),
            ("virtual://phone", .address(.virtual("phone"))), ("phone", nil), ("NAS", nil), ("", nil),
        ] as [(String, DropSendSession.Target?)])
    func aNameStandsForADevice(_ name: String, _ target: DropSendSession.Target?) throws {
        #expect(try DropSendSession.target(named: name, known: Self.known) == target)
    }

    /// A file goes to no device that was not meant.
    @Test func aNameOfTwoDevicesStandsForNeither() throws {
        let other = DeviceID(digest: SHA256.digest([3]))
        let known =
            [DeviceConfiguration(id: other, name: Self.one.description)] + Self.known
            + [DeviceConfiguration(id: Self.two, name: "nas")]
        let error = #expect(throws: ControlError.self) { try DropSendSession.target(named: "nas", known: known) }
        #expect(error?.code == .noSuchDevice && error?.message.contains("use a device id") == true)
        for id in [Self.one, Self.two] {
            #expect(try DropSendSession.target(named: id.description, known: known) == .device(id))
        }
    }

    @Test func strangersIDsAndBadAddressesAreErrors() {
        for (name, code) in [(Self.two.description, ControlError.Code.noSuchDevice), ("ble://x", .invalidRequest)] {
            let error = #expect(throws: ControlError.self) {
                try DropSendSession.target(named: name, known: Self.known)
            }
            #expect(error?.code == code)
        }
    }
}

@Suite struct DropQuestionTests {
    private static func answer(_ action: DropAnswer.Action, _ question: Int?) -> DropAnswer {
        DropAnswer(session: 1, action: action, question: question)
    }

    /// A yes that was on its way when its offer was withdrawn does not take the next one.
    @Test func anAnswerIsToItsOwnOffer() throws {
        let conversation = DropConversation(number: 1)
        let first = conversation.ask()
        let second = conversation.ask()
        try conversation.put(Self.answer(.accept, first))
        #expect(conversation.takeAnswer() == nil)
        try conversation.put(Self.answer(.accept, first))
        try conversation.put(Self.answer(.decline, second))
        #expect(conversation.takeAnswer() == Self.answer(.decline, second))
        // Who names none means the last.
        try conversation.put(Self.answer(.accept, nil))
        #expect(conversation.takeAnswer() == Self.answer(.accept, nil))
        try conversation.put(Self.answer(.accept, nil))
        _ = conversation.ask()
        #expect(conversation.takeAnswer() == nil, "it was given before the offer")
    }
}

/// What a client provides, without a device that it goes to.
@Suite(.timeLimit(.minutes(1))) struct ProvidedDropSourceTests {
    private static let longest = Int64(DropPart.longest)
    private static let content: [UInt8] = {
        var random = SeededGenerator(seed: 3)
        return random.bytes(10 * DropPart.longest + 5)
    }()

    private let clock = ManualClock()
    private let conversation = DropConversation(number: 1)

    private func source(_ byteCount: Int = content.count) -> ProvidedDropSource {
        let clock = clock
        let time = AgentTime(
            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0 })
        return ProvidedDropSource(
            ProvidedFile(name: "a", size: Int64(byteCount)), at: 0, conversation: conversation, time: time)
    }

    private func put(_ offset: Int64, _ count: Int, place: Int = 0) throws {
        let bytes = Array(Self.content[Int(offset)..<Int(offset) + count])
        try conversation.put(DropPart(session: 1, place: place, offset: offset, bytes: bytes))
    }

    private func refusal(_ body: () throws -> Void) -> ControlError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ControlError)?.code
        }
    }

    /// Answers what is asked for until the request is over; gives the offsets, in their order.
    private func answering() async -> [Int64] {
        var offsets: [Int64] = []
        for await notice in conversation.notices {
            guard case .wanted(_, let offset, let count) = notice else { continue }
            offsets.append(offset)
            // The reader may have gone elsewhere meanwhile.
            #expect([nil, .rangeNotSatisfiable].contains(refusal { try put(offset, count) }))
        }
        return offsets
    }

    @Test func anyRangeIsReadWhateverItsPlace() async throws {
        async let offsets = answering()
        let source = source()
        #expect(try await source.digest() == SHA256.digest(Self.content))
        let end = Self.content.count
        for range in [
            0..<1, 3..<3, DropPart.longest - 1..<DropPart.longest + 1, end - 2 * DropPart.longest..<end, 0..<end,
        ] {
            let bytes = try await source.read(Int64(range.lowerBound)..<Int64(range.upperBound))
            #expect(bytes == Array(Self.content[range]), "\(range)")
        }
        conversation.finish()
        // For the digest, each part once and in order.
        let asked = await offsets
        #expect(Array(asked.prefix(11)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map { $0 * Self.longest })
    }

    @Test func onlyTheBytesThatAreAskedForAreTaken() async throws {
        #expect(refusal { try put(0, 1) } == .rangeNotSatisfiable, "nothing is asked for")
        let source = source()
        async let read = source.read(0..<2)
        var notices = conversation.notices.makeAsyncIterator()
        // The one that is read, and a few behind it.
        for place in 0..<4 {
            let notice = await notices.next()
            #expect(notice == .wanted(place: 0, offset: Int64(place) * Self.longest, count: DropPart.longest))
        }
        #expect(refusal { try put(4 * Self.longest, DropPart.longest) } == .rangeNotSatisfiable)
        #expect(refusal { try put(1, DropPart.longest) } == .rangeNotSatisfiable)
        #expect(refusal { try put(0, DropPart.longest, place: 1) } == .rangeNotSatisfiable)
        #expect(refusal { try put(0, DropPart.longest - 1) } == .invalidRequest)
        #expect(refusal { try put(0, DropPart.longest + 1) } == .invalidRequest)
        #expect(refusal { try put(0, DropPart.longest) } == nil)
        #expect(try await read == Array(Self.content[..<2]))
        #expect(refusal { try put(0, DropPart.longest) } == .rangeNotSatisfiable, "it is here")
        // A reader that goes on elsewhere needs nothing of before.
        async let last = source.read(10 * Self.longest..<10 * Self.longest + 5)
        let notice = await notices.next()
        #expect(notice == .wanted(place: 0, offset: 10 * Self.longest, count: 5))
        #expect(refusal { try put(Self.longest, DropPart.longest) } == .rangeNotSatisfiable)
        try put(10 * Self.longest, 5)
        #expect(try await last == Array(Self.content.suffix(5)))
        conversation.finish()
        #expect(refusal { try put(0, DropPart.longest) } == .rangeNotSatisfiable, "the request is over")
    }

    @Test func aClientThatSendsNothingIsNotWaitedForForEver() async throws {
        let source = source()
        let digest = Task { try await source.digest() }
        while clock.sleeperCount < 1 { await Task.yield() }
        let patience = try #require(clock.nextDeadline).offset
        // A client that sends another part meanwhile is slow, and not gone.
        clock.advance(by: patience - .seconds(1))
        try put(Self.longest, DropPart.longest)
        while clock.nextDeadline?.offset != patience * 2 - .seconds(1) { await Task.yield() }
        await clock.advance(whenAsleep: 1)
        let error = await #expect(throws: ControlError.self) { _ = try await digest.value }
        #expect(error?.code == .timeout && error?.isRetryable == true)
        // What comes afterwards is too late.
        #expect(refusal { try put(0, DropPart.longest) } == .rangeNotSatisfiable)
    }

    @Test func aReadEndsWithItsRequest() async throws {
        let source = source()
        let read = Task { try await source.read(0..<1) }
        var notices = conversation.notices.makeAsyncIterator()
        _ = await notices.next()
        conversation.finish()
        await #expect(throws: CancellationError.self) { _ = try await read.value }
        await #expect(throws: CancellationError.self) { _ = try await source.digest() }
    }
}

@Suite struct FolderFileTests {
    private let directory = TemporaryDirectory()

    private func entry(_ path: String, _ kind: Entry.Kind = .file, _ state: Entry.State = .present) -> Entry {
        Entry(kind: kind, folder: "lab", path: path, size: 1, modified: nil, state: state, selected: .no)
    }

    @Test(arguments: Entry.State.allCases) func onlyWhatIsWholeOnThisDiskIsSent(_ state: Entry.State) throws {
        let root = try RootDirectory(path: directory.path)
        let isSent = [.present, .modified, .conflict, .extraneous, .downloaded].contains(state)
        do throws(ControlError) {
            let file = try FolderFile(entry("a/b.txt", .file, state), in: root, named: "lab:a/b.txt")
            #expect(isSent && file.path.text == "a/b.txt")
        } catch {
            #expect(!isSent && error.code == .noSuchPath && error.message.hasSuffix("Fetch it first."))
        }
    }

    @Test(arguments: [(.directory, .failed), (.symlink, .noSuchPath)] as [(Entry.Kind, ControlError.Code)])
    func othersThanFilesAreRefused(_ kind: Entry.Kind, _ code: ControlError.Code) throws {
        let root = try RootDirectory(path: directory.path)
        let error = #expect(throws: ControlError.self) { try FolderFile(entry("a", kind), in: root, named: "lab:a") }
        #expect(error?.code == code)
    }
}

@Suite struct IncomingFileTests {
    private let directory = TemporaryDirectory()
    private let space = SpaceReservations()
    private let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    private func incoming(_ name: String = "a.txt", interposer: (any DiskInterposer)? = nil) throws -> IncomingFile {
        try IncomingFile(
            try RootDirectory(path: directory.path, interposer: interposer), name: name, size: Int64(content.count),
            digest: SHA256.digest(content), space: space)
    }

    @Test func aFileThatIsThereStays() throws {
        _ = directory.put("a.txt", [1])
        _ = directory.put("a (1).txt", [2])
        let file = try incoming()
        try file.begin(after: 0)
        try file.append(Array(content[..<6000]))
        try file.append(Array(content[6000...]))
        #expect(try file.finish() == directory.path + "/a (2).txt")
        #expect(directory.files == ["a.txt": [1], "a (1).txt": [2], "a (2).txt": content])
    }

    /// The time of a file may be any number; so may the clock's.
    @Test(
        arguments: [(.max, true), (.min, false), (IncomingFile.partialLifetime, true), (0, false)] as [(Int64, Bool)])
    func whatNobodyGoesOnWithIsRemoved(now: Int64, isRemoved: Bool) throws {
        do {
            let file = try incoming()
            try file.begin(after: 0)
            try file.append(Array(content[..<100]))
            file.suspend()
        }
        let name = try #require(directory.files.keys.first)
        // Before 1970.
        var times = [timespec(tv_sec: -5, tv_nsec: 0), timespec(tv_sec: -5, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, directory.path + "/" + name, &times, 0) == 0)
        try IncomingFile.removeExpired(from: try RootDirectory(path: directory.path), now: WallTime(seconds: now))
        #expect(directory.files.isEmpty == isRemoved)
    }

    @Test func aLinkAtTheNameIsNotFollowed() throws {
        let elsewhere = TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/a.txt", withDestinationPath: elsewhere.path + "/victim")
        let file = try incoming("../a.txt")
        try file.begin(after: 0)
        try file.append(content)
        #expect(try file.finish() == directory.path + "/a (1).txt")
        #expect(elsewhere.files.isEmpty)
    }

    @Test func anEarlierAttemptIsGoneOnWith() throws {
        do {
            let file = try incoming()
            try file.begin(after: 0)
            try file.append(Array(content[..<7000]))
            file.suspend()
        }
        // Another name of the same file.
        let file = try incoming("b.txt")
        #expect(file.presentByteCount == 7000)
        try file.begin(after: 6500)
        try file.append(Array(content[6500...]))
        #expect(try file.finish() == directory.path + "/b.txt")
        #expect(directory.files == ["b.txt": content])
    }

    @Test func anotherFileThanAnnouncedIsNotKept() throws {
        let file = try incoming()
        try file.begin(after: 0)
        try file.append([UInt8](repeating: 0, count: content.count))
        #expect(try file.finish() == nil)
        #expect(directory.files.isEmpty)
    }

    @Test func tooFewAndTooManyBytesAreNone() throws {
        let file = try incoming()
        try file.begin(after: 0)
        try file.append(content)
        #expect(throws: FileAccessError.self) { try file.append([1]) }
        let short = try IncomingFile(
            try RootDirectory(path: directory.path), name: "s", size: 5, digest: SHA256.digest([1, 2]), space: space)
        try short.begin(after: 0)
        try short.append([1, 2])
        #expect(try short.finish() == nil)
    }

    @Test func nothingStaysOfAFileOfWhichNothingCame() throws {
        let file = try incoming()
        #expect(directory.files.count == 1)
        file.suspend()
        #expect(directory.files.isEmpty)
    }

    @Test func oneAtATime() throws {
        let file = try incoming()
        let error = #expect(throws: FileAccessError.self) { try incoming() }
        #expect(error?.code == .busy)
        withExtendedLifetime(file) {}
    }

    @Test func whatDoesNotFitIsRefused() throws {
        let file = try IncomingFile(
            try RootDirectory(path: directory.path), name: "huge", size: .max, digest: SHA256.digest([1]), space: space)
        let error = #expect(throws: ControlError.self) { try file.checkSpace() }
        #expect(error?.code == .noSpace)
    }

    /// Refuses to write once so many bytes were written.
    private final class SmallDisk: DiskInterposer {
        private let left: Mutex<Int>

        init(_ byteCount: Int) { left = Mutex(byteCount) }

        func verdict(on change: DiskChange) -> DiskVerdict {
            guard case .write(_, _, let count) = change else { return .proceed }
            return left.withLock { left in
                left -= count
                return left < 0 ? .fail(ENOSPC) : .proceed
            }
        }
    }

    /// After 14 days without another attempt what came is given up; files of other names, and one that is being received,
    /// are none of it.
    @Test func whatNobodyGoesOnWithExpires() throws {
        let digest = SHA256.digest([1]).description
        let hour: Int64 = 3600
        let now = WallTime(seconds: 1_800_000_000)
        for (name, age, isKept) in [
            (".syncthing.drop-10-\(digest).tmp", 14 * 24 * hour + 1, false),
            (".syncthing.drop-11-\(digest).tmp", 14 * 24 * hour, true),
            (".syncthing.drop-12-\(digest).tmp", -hour, true),
            (".syncthing.drop-13-\(digest.dropLast()).tmp", 100 * 24 * hour, true),
            (".syncthing.drop-x-\(digest).tmp", 100 * 24 * hour, true),
            (".syncthing.letter.tmp", 100 * 24 * hour, true), ("drop-10-\(digest)", 100 * 24 * hour, true),
        ] {
            let path = directory.put(name, [7])
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(now.seconds - age))], ofItemAtPath: path)
            let root = try RootDirectory(path: directory.path)
            try IncomingFile.removeExpired(from: root, now: now)
            #expect((directory.files[name] != nil) == isKept, "\(name) after \(age) s")
        }
        let file = try incoming()
        try file.begin(after: 0)
        try file.append([1])
        try IncomingFile.removeExpired(
            from: try RootDirectory(path: directory.path),
            now: WallTime(seconds: WallTime.now.seconds + 100 * 24 * hour))
        #expect(directory.files.values.contains([1]))
        withExtendedLifetime(file) {}
    }

    @Test func aDiskThatFillsUpKeepsWhatCame() throws {
        do {
            let file = try incoming(interposer: SmallDisk(7000))
            try file.begin(after: 0)
            try file.append(Array(content[..<5000]))
            let error = #expect(throws: FileAccessError.self) { try file.append(Array(content[5000...])) }
            #expect(error?.code == .noSpace && file.writtenByteCount == 5000)
            file.suspend()
        }
        let file = try incoming()
        #expect(file.presentByteCount >= 5000)
        try file.begin(after: 5000)
        try file.append(Array(content[5000...]))
        #expect(try file.finish() != nil)
        #expect(directory.files == ["a.txt": content])
    }
}
