import Foundation
import Glibc
import Testing

@testable import FolderWatcher

/// The watch program itself, spoken to in frames.
@Suite(.timeLimit(.minutes(2))) struct WatchProgramTests {
    /// Runs the program on a new directory, sends `bytes`, and reads its frames until it ends or `isEnough`.
    private func converse(
        _ bytes: [UInt8], isEnough: ([WatchFrame]) -> Bool = { _ in false },
        prepare: (String) throws -> Void = { _ in },
        meanwhile: (String) throws -> Void = { _ in }
    ) throws -> (frames: [WatchFrame], status: CInt?) {
        let url = FileManager.default.temporaryDirectory.appending(path: "WatchProgramTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url.appending(path: "d"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        try prepare(url.path)
        let child = try WatchChild(program: WatchedFolder.program, root: url.path)
        let socket = child.socket
        var decoder = WatchFrameDecoder()
        var frames: [WatchFrame] = []
        var hasEnded = false
        func read() throws {
            var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            _ = poll(&polled, 1, -1)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = Glibc.read(socket, &buffer, buffer.count)
            guard count > 0 else {
                hasEnded = true
                return
            }
            decoder.feed(buffer[..<count])
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
        try read()
        try meanwhile(url.path)
        while !hasEnded, !isEnough(frames) { try read() }
        // Ended by itself and not by us, if its end was seen.
        let status = child.end()
        return (frames, hasEnded ? status : nil)
    }

    private func watch(_ request: UInt32, _ path: String) -> [UInt8] {
        var bytes: [UInt8] = []
        WatchCommand.watch(request: request, path: path).encode(into: &bytes)
        return bytes
    }

    @Test(arguments: ["..", "d/..", "../x", "/etc", ".", "d/.", "d//e", "d/", "a\0b"])
    func refusesPathsThatAreNotBelowTheRoot(_ path: String) throws {
        let (frames, _) = try converse(watch(1, path))
        #expect(frames.dropFirst() == [.fatal(stage: .command, error: EINVAL)])
    }

    @Test(arguments: [
        [0, 0], [255, 255, 0], [0, 1, UInt8(ascii: "z")], [0, 1, UInt8(ascii: "w")],
        [0, 4, UInt8(ascii: "u"), 0, 0, 1],
    ])
    func refusesMalformedCommands(_ bytes: [UInt8]) throws {
        let (frames, _) = try converse(bytes)
        #expect(frames.dropFirst() == [.fatal(stage: .command, error: EINVAL)])
    }

    @Test func doesNotFollowLinks() throws {
        let (frames, _) = try converse(
            watch(1, "link") + watch(2, "link/below") + watch(3, "d"), isEnough: { $0.count == 4 },
            prepare: { root in
                try FileManager.default.createDirectory(
                    atPath: "\(root)/d/below", withIntermediateDirectories: true)
                #expect(symlink("d", "\(root)/link") == 0)
            })
        #expect(
            frames.dropFirst() == [
                .failed(request: 1, error: ELOOP), .failed(request: 2, error: ELOOP),
                .watching(request: 3, watch: 1, wasWatched: false),
            ])
    }

    @Test func endsWhenItIsToldTo() throws {
        let (frames, status) = try converse(watch(1, "") + watch(2, "none") + [0, 1, UInt8(ascii: "q")])
        #expect(
            frames.dropFirst() == [
                .watching(request: 1, watch: 1, wasWatched: false), .failed(request: 2, error: ENOENT),
            ])
        #expect(status != nil)
    }

    @Test func saysThatADirectoryIsWatchedAlready() throws {
        let (frames, _) = try converse(
            watch(1, "d") + watch(2, "d") + [0, 5, UInt8(ascii: "u"), 0, 0, 0, 1] + watch(3, "d"),
            isEnough: { $0.count == 5 })
        #expect(
            frames.dropFirst() == [
                .watching(request: 1, watch: 1, wasWatched: false), .watching(request: 2, watch: 1, wasWatched: true),
                .watching(request: 3, watch: 2, wasWatched: false), .gone(watch: 1),
            ])
    }

    /// Nobody reads: the queue of the program is bounded, and that something was lost is said in its place.
    @Test func saysWhenItHadToDropEvents() throws {
        func churn(_ root: String) {
            let name = String(repeating: "n", count: 250)
            for index in 0..<20_000 {
                let file = open("\(root)/d/\(name)\(index % 3)", O_WRONLY | O_CREAT, 0o644)
                close(file)
                unlink("\(root)/d/\(name)\(index % 3)")
            }
        }
        let (frames, _) = try converse(watch(1, "d"), isEnough: { $0.contains(.overflow) }, meanwhile: churn)
        #expect(frames.count > 1000)
        #expect(frames.contains(.overflow))
    }
}

struct WatchImpairmentTests {
    /// A program that is not there is to be installed; a limit that is reached passes, or is raised elsewhere.
    @Test(
        arguments: [
            (ENOENT, .programMissing, "Install synctrain again"), (EACCES, .programMissing, "Install synctrain again"),
            (EMFILE, .programEnded, "Too many open files. It is restarted."),
            (ENFILE, .programEnded, "It is restarted."), (ENOMEM, .programEnded, "It is restarted."),
            (EAGAIN, .programEnded, "It is restarted."),
        ] as [(Int32, WatchImpairment.Code, String)])
    func whyTheProgramDidNotStart(_ error: Int32, _ code: WatchImpairment.Code, _ words: String) throws {
        let impairment = try #require(WatchImpairment(.cannotStart(errno: error), program: "/p"))
        #expect(impairment.code == code && impairment.description.contains(words), "\(impairment)")
    }
}
