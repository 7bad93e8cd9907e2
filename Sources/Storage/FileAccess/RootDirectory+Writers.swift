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
        return file.isBeingWritten
    }

    /// Those of `paths` that some program is known to have open for writing. Of what cannot be opened, nothing is known.
    package func beingWritten(among paths: [RelativePath]) -> Set<RelativePath> {
        Set(paths.filter { (try? isBeingWritten($0)) == true })
    }
}

extension Directory {
    /// The same of one name in here.
    func isBeingWritten(_ name: String) -> Bool {
        (try? OpenFile.open(reading: name, in: descriptor, path: displayPath(of: name)))?.isBeingWritten ?? false
    }
}

extension OpenFile {
    fileprivate var isBeingWritten: Bool { clinux_has_writers(descriptor.number) == 1 }
}
