import Testing

@testable import FolderSync

@Suite struct WritingBoardTests {
    @Test func whatIsOpenIsNotReplacedAndWhatIsBeingReplacedIsNotOpened() throws {
        let board = WritingBoard()
        let (first, second) = (try #require(board.open("a")), try #require(board.open("a")))
        #expect(board.place(["a", "b"]) == ["a"])
        #expect(board.open("b") == nil)
        board.placed(["b"])
        #expect(board.open("b") != nil)
        #expect(board.close(first) == "a" && board.close(first) == nil)
        #expect(board.isOpen("a"))
        board.close(second)
        #expect(!board.isOpen("a") && board.place(["a"]).isEmpty)
    }

    /// Names that differ in normalization alone are those of two files.
    @Test func anotherSpellingIsAnotherFile() throws {
        let board = WritingBoard()
        let held = try #require(board.open("e\u{301}"))
        #expect(board.isOpen("e\u{301}") && !board.isOpen("\u{E9}"))
        #expect(board.place(["\u{E9}"]) == [])
        let other = try #require(board.open("\u{E8}"))
        #expect(board.announceOnce([held, other]) == ["e\u{301}", "\u{E8}"])
        board.close(held)
        #expect(!board.isOpen("e\u{301}") && board.open("\u{E9}") == nil)
    }

    @Test func whatIsOpenGoesAlongWithItsDirectory() throws {
        let board = WritingBoard()
        let held = try #require(board.open("d/a"))
        #expect(board.open("dx") != nil && board.open("e/f/a") != nil)
        board.rename("d", to: "e/f")
        #expect(board.isOpen("e/f/a") && !board.isOpen("d/a") && board.isOpen("dx"))
        #expect(board.close(held) == "e/f/a" && board.isOpen("e/f/a"), "another has it open")
        board.rename("e", to: "d")
        #expect(board.isOpen("d/f/a") && !board.isOpen("e/f/a"))
    }

    @Test func whatIsOpenIsAnnouncedOnceWhenItIsSaid() throws {
        let board = WritingBoard()
        let (first, second) = (try #require(board.open("a")), try #require(board.open("a")))
        #expect(!board.takeAnnouncement(of: "a", at: .zero))
        #expect(board.announceOnce([first, second]) == ["a"])
        board.close(first)
        board.rename("a", to: "b")
        #expect(!board.takeAnnouncement(of: "b", at: .zero), "its new name is as any that was just opened")
        #expect(board.announceOnce([first, second]) == ["b"])
        #expect(board.takeAnnouncement(of: "b", at: .zero))
        #expect(!board.takeAnnouncement(of: "b", at: .zero), "what is written after that is announced later")
        board.close(second)
        #expect(board.announceOnce([second]) == [])
        let unfinished = try #require(board.open("tmp"))
        #expect(board.announceOnce([unfinished]) { $0 == "tmp" } == [] && !board.takeAnnouncement(of: "tmp", at: .zero))
        #expect(board.takeAnnouncement(of: "b", at: .zero))
        #expect(board.open("b") != nil && !board.takeAnnouncement(of: "b", at: .zero))
    }

    @Test func namesOfEditorsAreAnnouncedLater() {
        let board = WritingBoard()
        let start = Duration.zero
        board.quiet(".a.swp", until: start + .seconds(10), at: start)
        #expect(!board.takeAnnouncement(of: ".a.swp", at: start + .seconds(9)))
        #expect(board.takeAnnouncement(of: "a", at: start))
        #expect(board.takeAnnouncement(of: ".a.swp", at: start + .seconds(10)))
        board.quiet("a.tmp", until: start + .seconds(10), at: start)
        board.rename("a.tmp", to: "a")
        #expect(board.takeAnnouncement(of: "a.tmp", at: start) && board.takeAnnouncement(of: "a", at: start))
    }

    @Test func quietNamesThatExpiredMakeRoom() {
        let board = WritingBoard()
        for number in 0..<10_000 { board.quiet(".\(number).swp", until: .seconds(10), at: .zero) }
        board.quiet(".a.swp", until: .seconds(15), at: .seconds(5))
        #expect(board.takeAnnouncement(of: ".a.swp", at: .seconds(5)), "there is no room")
        board.quiet(".a.swp", until: .seconds(20), at: .seconds(10))
        #expect(!board.takeAnnouncement(of: ".a.swp", at: .seconds(11)))
    }
}
