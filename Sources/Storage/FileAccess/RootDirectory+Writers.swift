import CLinux
import Glibc

extension RootDirectory {
    /// Whether some program has the regular file at `path` open for writing, as far as the kernel says; false where it does
    /// not (files of other users, network file systems) and for what is no regular file.
    ///
    /// What is written into a file that has lost its name is gone, and its time of modification says nothing before.
    package func isBeingWritten(_ path: RelativePath) throws(FileAccessError) -> Bool {
        let file: OpenFile
        do throws(FileAccessError) {
            file = try open(reading: path)
        } catch {
            // Who may not read the file is not told more; who removes it looks at it once more.
            if [.notARegularFile, .isADirectory, .permission].contains(error.code) { return false }
            throw error
        }
        return clinux_has_writers(file.descriptor.number) == 1
    }
}
