/// What programs have open, by the numbers that the kernel was given for it.
struct Handles: Sendable {
    enum File: Sendable {
        case here(OpenFile)
        case absent(AbsentFile)
    }

    var files: [UInt64: File] = [:]
    var directories: [UInt64: OpenDirectory] = [:]
    var next: UInt64 = 1
}
