import SyncTestKit
import Testing

@testable import MountProtocol

@Suite struct WatcherCommandTests {
    static let commands: [WatcherCommand] = [
        .begin(directory: "/home/a/Films ü", word: Array(repeating: 7, count: WatcherCommand.wordByteCount)),
        .make(.file, path: "a\nb"), .make(.directory, path: "d/ä"), .make(.symlink, path: "l"), .touch(path: ""),
        .touch(path: "a"), .remove(isDirectory: true, path: "d"), .remove(isDirectory: false, path: "d/a"),
    ]

    @Test(arguments: commands) func commandsComeBack(_ command: WatcherCommand) throws {
        let frame = command.frame(number: 3)
        #expect(frame.number == 3 && frame.content.count <= WatcherCommand.limit)
        #expect(try WatcherCommand(frame) == command)
    }

    @Test(arguments: [0, 2, .max, .min] as [Int32]) func answersComeBack(_ number: Int32) throws {
        let frame = WatcherAnswer(number).frame(number: 9)
        #expect(frame.content.count <= WatcherAnswer.limit)
        #expect(try WatcherAnswer(frame) == WatcherAnswer(number))
    }

    @Test func limitsAreKept() {
        let long = String(repeating: "x", count: MountLimits.pathByteCount)
        #expect(WatcherCommand.make(.file, path: long).frame(number: 1).content.count <= WatcherCommand.limit)
        #expect(throws: MountProtocolError(.limit)) {
            try WatcherCommand(WatcherCommand.touch(path: long + "x").frame(number: 1))
        }
        #expect(throws: MountProtocolError(.invalidText)) {
            try WatcherCommand(WatcherCommand.touch(path: "a\0b").frame(number: 1))
        }
        #expect(throws: MountProtocolError(.unknownKind)) {
            try WatcherAnswer(WatcherCommand.touch(path: "").frame(number: 1))
        }
    }

    /// Whatever bytes come, they are a command or an error.
    @Test func hostileBytesAreCommandsOrErrors() {
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<5000 {
            var frame = Self.commands.randomElement(using: &generator)!.frame(number: 1)
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0..<frame.content.count, using: &generator)
                frame.content[place] = UInt8.random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) { frame.kind = .random(in: 199...212, using: &generator) }
            if let command = try? WatcherCommand(frame) {
                #expect((try? WatcherCommand(command.frame(number: 1))) == command)
            }
        }
    }
}
