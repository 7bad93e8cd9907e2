import CLinux
import Glibc

extension RootDirectory {
    /// The status of what is at `path`, a link not followed, and when it was made; nil if nothing is there. No time if the
    /// disk does not keep it.
    package func birth(of path: RelativePath) throws(FileAccessError) -> (status: FileStatus, time: FileTime?)? {
        switch Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        case .success(let file):
            let status = try file.status().orThrow(.inspect, path: path.text)
            var (seconds, nanoseconds) = (Int64(0), UInt32(0))
            switch system({ clinux_birth_time(file.number, &seconds, &nanoseconds) }) {
            case .success:
                return (status, FileTime(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds)))
            case .failure: return (status, nil)
            }
        case .failure(let error) where error.number == ENOENT || error.number == ENOTDIR: return nil
        case .failure(let error): throw FileAccessError(error, .inspect, path: path.text)
        }
    }
}
