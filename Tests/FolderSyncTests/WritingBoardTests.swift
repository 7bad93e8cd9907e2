import Testing

@testable import FolderSync

@Suite struct WritingBoardTests {
    @Test func whatIsOpenIsNotReplacedAndWhatIsBeingReplacedIsNotOpened() {
        let board = WritingBoard()
        #expect(board.open("a") && board.open("a"))
        #expect(board.place(["a", "b"]) == ["a"])
        #expect(!board.open("b"))
        board.placed(["b"])
        #expect(board.open("b"))
        board.close("a")
        #expect(board.isOpen("a"))
        board.close("a")
        #expect(!board.isOpen("a") && board.place(["a"]).isEmpty)
        board.close("never opened")
    }

    @Test func whatIsOpenGoesAlongWithItsDirectory() {
        let board = WritingBoard()
        #expect(board.open("d/a") && board.open("dx"))
        #expect(board.renamed("d", to: "e/f") == ["d/a": "e/f/a"])
        #expect(board.isOpen("e/f/a") && !board.isOpen("d/a") && board.isOpen("dx"))
    }

    @Test func whatIsOpenIsToldOnceWhenItIsSaid() {
        let board = WritingBoard()
        #expect(board.open("a") && board.open("a"))
        #expect(board.isUntold("a", at: .zero))
        board.tell("a")
        board.close("a")
        _ = board.renamed("a", to: "b")
        #expect(board.isUntold("b", at: .zero), "its new name is as any that was just opened")
        board.tell("b")
        #expect(!board.isUntold("b", at: .zero))
        #expect(board.isUntold("b", at: .zero), "what is written after that is told later")
        board.close("b")
        board.tell("b")
        #expect(!board.isUntold("b", at: .zero) && board.open("b") && board.isUntold("b", at: .zero))
    }

    @Test func namesOfEditorsAreToldLater() {
        let board = WritingBoard()
        let start = Duration.zero
        board.quiet(".a.swp", until: start + .seconds(10), at: start)
        #expect(board.isUntold(".a.swp", at: start + .seconds(9)))
        #expect(!board.isUntold("a", at: start))
        #expect(!board.isUntold(".a.swp", at: start + .seconds(10)))
        board.quiet("a.tmp", until: start + .seconds(10), at: start)
        _ = board.renamed("a.tmp", to: "a")
        #expect(!board.isUntold("a.tmp", at: start) && !board.isUntold("a", at: start))
    }
    @Test func quietNamesThatExpiredMakeRoom() {
        let board = WritingBoard()
        for number in 0..<10_000 { board.quiet(".\(number).swp", until: .seconds(10), at: .zero) }
        board.quiet(".a.swp", until: .seconds(15), at: .seconds(5))
        #expect(!board.isUntold(".a.swp", at: .seconds(5)), "there is no room")
        board.quiet(".a.swp", until: .seconds(20), at: .seconds(10))
        #expect(board.isUntold(".a.swp", at: .seconds(11)))
    }

}
