import CLinux
import Glibc
import MountProtocol
import MountRules

/// `synctrain-mount --call-for-watchers`: the process that a mount starts so that programs which watch its directories hear of changes.
/// It makes the system calls that it is told on its standard input, and ends with that. The mount answers them without doing anything.
///
/// A process of its own, since a thread of the mount's that waits for the mount would keep it from ending. It holds nothing between calls,
/// or unmounting would find the mount in use.
struct WatcherCalls {
    private let directory: String
    private let word: [UInt8]

    /// Returns when the input has ended.
    static func run() -> CInt {
        // It was started as /proc/self/exe.
        clinux_name_thread("synctrain-mount")
        var decoder = MountFrame.Decoder(limit: WatcherCommand.limit)
        var calls: WatcherCalls?
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return 0 }
            decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            do throws(MountProtocolError) {
                while let frame = try decoder.next() {
                    let command = try WatcherCommand(frame)
                    if case .begin(let directory, let word) = command {
                        calls = WatcherCalls(directory: directory, word: word)
                        continue
                    }
                    guard let calls else { return 1 }
                    let answer = WatcherAnswer(calls.make(command)).frame(number: frame.number).bytes
                    guard write(STDOUT_FILENO, answer, answer.count) == answer.count else { return 0 }
                }
            } catch {
                return 1
            }
        }
    }

    /// The errno of the call, 0 for none.
    private func make(_ command: WatcherCommand) -> CInt {
        let (path, isTouch): (String, Bool) =
            switch command {
            case .begin: ("", false)
            case .make(_, let path), .remove(_, let path): (path, false)
            case .touch(let path): (path, true)
            }
        let root = open(directory, CLINUX_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return errno }
        defer { close(root) }
        // Another file system would make and delete real names. The descriptor stays in the one that has said the word.
        guard isOwn(root) else { return ENODEV }
        guard let (parent, name) = NodeTable.split(path) else {
            return !isTouch ? EINVAL : touch(root, ".") == 0 ? 0 : errno
        }
        guard name != ".", name != "..", !name.isEmpty else { return EINVAL }
        let place = clinux_openat2(
            root, parent.isEmpty ? "." : parent, CLINUX_O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
            CLINUX_RESOLVE_HELD | UInt64(RESOLVE_NO_XDEV))
        guard place >= 0 else { return errno }
        defer { close(place) }
        let result =
            switch command {
            case .begin: CInt(-1)
            case .make(.file, _): mknodat(place, name, S_IFREG | 0o644, 0)
            case .make(.directory, _): mkdirat(place, name, 0o755)
            // Its target is what the mount answers.
            case .make(.symlink, _): symlinkat("-", place, name)
            case .remove(let isDirectory, _): unlinkat(place, name, isDirectory ? AT_REMOVEDIR : 0)
            case .touch: touch(place, name)
            }
        return result == 0 ? 0 : errno
    }

    private func isOwn(_ root: CInt) -> Bool {
        var value = [UInt8](repeating: 0, count: WatcherCommand.wordByteCount + 1)
        // fgetxattr(2) takes no descriptor of O_PATH.
        let count = getxattr(
            "/proc/self/fd/\(root)", AttributeName.prefix + AttributeName.watchers, &value, value.count)
        return count == word.count && !word.isEmpty && value.prefix(count).elementsEqual(word)
    }

    /// As the system call: -1 and errno on failure.
    private func touch(_ directory: CInt, _ name: String) -> CInt {
        // UTIME_OMIT and UTIME_NOW of utimensat(2), which are no constants to Swift.
        let (omitted, now) = ((1 << 30) - 2, (1 << 30) - 1)
        let times = [timespec(tv_sec: 0, tv_nsec: omitted), timespec(tv_sec: 0, tv_nsec: now)]
        return utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW)
    }
}
