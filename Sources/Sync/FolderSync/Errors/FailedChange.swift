import FileAccess

/// What follows from a change of the disk that failed. Pure.
struct FailedChange: Equatable {
    /// The disk has something else than the index says.
    var needsScan: Bool
    /// A person is told.
    var isProblem: Bool
    var isShortOfSpace: Bool

    init(_ code: FileAccessError.Code) {
        switch code {
        case .changedOnDisk, .exists, .notFound, .isADirectory, .notADirectory: (needsScan, isProblem) = (true, false)
        case .directoryNotEmpty: (needsScan, isProblem) = (true, true)
        default: (needsScan, isProblem) = (false, true)
        }
        isShortOfSpace = code == .noSpace || code == .quota
    }
}
