import FileAccess
import Testing

@testable import FolderSync

@Suite struct FailedChangeTests {
    @Test(
        arguments: [
            (.changedOnDisk, true, false, false), (.exists, true, false, false), (.notFound, true, false, false),
            (.isADirectory, true, false, false), (.notADirectory, true, false, false),
            (.directoryNotEmpty, true, true, false), (.noSpace, false, true, true), (.quota, false, true, true),
            (.nameRefused, false, true, false), (.noArchive, false, true, false),
        ] as [(FileAccessError.Code, Bool, Bool, Bool)])
    func whatFollows(_ code: FileAccessError.Code, needsScan: Bool, isProblem: Bool, isShortOfSpace: Bool) {
        let failure = FailedChange(code)
        #expect(failure.needsScan == needsScan)
        #expect(failure.isProblem == isProblem)
        #expect(failure.isShortOfSpace == isShortOfSpace)
    }
}
