import Testing

@testable import MountRules

/// A thumbnail program is refused a file, and the file manager that started it tries itself.
@Suite struct SecondAttemptsTests {
    private final class Board {
        var attempts = SecondAttempts()

        var isEmpty: Bool { attempts.isEmpty }

        func refuse(_ file: UInt64, startedBy process: Int32 = 100, at seconds: Int = 0) {
            attempts.noteScanner(of: file, startedBy: process, at: .seconds(seconds))
        }

        func take(_ file: UInt64, by process: Int32 = 100, at seconds: Int = 0) -> Bool {
            attempts.take(file, by: process, at: .seconds(seconds))
        }
    }

    private let board = Board()

    @Test func whoStartedTheProgramIsRefusedOnce() {
        board.refuse(7, at: 10)
        #expect(!board.isEmpty)
        #expect(!board.take(7, by: 101, at: 11), "another program")
        #expect(!board.take(8, at: 11), "another file")
        #expect(board.take(7, at: 11))
        #expect(!board.take(7, at: 11), "who opens it again wants it")
        #expect(board.isEmpty)
    }

    @Test func itIsNoSecondAttemptLater() {
        board.refuse(7, at: 10)
        board.refuse(7, at: 11)
        #expect(!board.take(7, at: 16))
        #expect(board.isEmpty)
    }

    @Test func nobodyIsNoProgram() {
        for process: Int32 in [-1, 0, 1] { board.refuse(7, startedBy: process) }
        #expect(board.isEmpty)
        #expect(!board.take(7, by: 1))
    }

    @Test func itsMemoryIsBounded() {
        let count = UInt64(SecondAttempts.limit + 1)
        for file in 0..<count { board.refuse(file) }
        #expect(!board.take(0), "the oldest is forgotten")
        #expect(board.take(1) && board.take(count - 1))
    }
}
