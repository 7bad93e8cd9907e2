/// A staged file and what is to become of it.
package struct StagedCommit: Sendable {
    package let file: StagedFile
    package let replacement: Replacement
    /// The low nine bits of the mode; nil for those of the file that is replaced, else 0644.
    package let permissions: UInt32?
    /// nil for the time of the last write.
    package let modified: FileTime?
    package let attributes: AttributeChange?

    package init(
        _ file: StagedFile, replacing replacement: Replacement, permissions: UInt32?, modified: FileTime?,
        attributes: AttributeChange? = nil
    ) {
        self.file = file
        self.replacement = replacement
        self.permissions = permissions
        self.modified = modified
        self.attributes = attributes
    }

    /// The same in the place of something else.
    package func replacing(_ replacement: Replacement) -> StagedCommit {
        StagedCommit(
            file, replacing: replacement, permissions: permissions, modified: modified, attributes: attributes)
    }

    /// The same with attributes that the file is to get.
    package func setting(_ attributes: AttributeChange) -> StagedCommit {
        StagedCommit(
            file, replacing: replacement, permissions: permissions, modified: modified, attributes: attributes)
    }
}

extension RootDirectory {
    /// From how many files on one call for the whole file system is cheaper than one for each file: writing a journal
    /// out twice costs about as much as a few single calls.
    static let groupThreshold = 8

    /// Moves many staged files into place, made durable together: all contents, then all moves, then all directories.
    ///
    /// All were staged by this root. Gives one result for each file, in order. A success is durable when the call
    /// returns. A failure of one file leaves the others alone; its staged bytes are kept unless the failed operation is
    /// `synchronize` and the file is in place already.
    package func commit(_ group: [StagedCommit]) -> [Result<FileStatus, FileAccessError>] {
        var failures = [FileAccessError?](repeating: nil, count: group.count)
        func attempt(_ index: Int, _ step: (StagedCommit) throws(FileAccessError) -> Void) {
            guard failures[index] == nil else { return }
            do throws(FileAccessError) { try step(group[index]) } catch { failures[index] = error }
        }

        var begun: [Int] = []
        for index in group.indices {
            attempt(index) { item throws(FileAccessError) in
                try item.file.beginCommit()
                begun.append(index)
                try item.file.seal(permissions: item.permissions, modified: item.modified, attributes: item.attributes)
            }
        }
        let sealed = begun.filter { failures[$0] == nil }
        let contentsAreDurable = synchronizeTogether(count: sealed.count)
        for index in sealed {
            attempt(index) { item throws(FileAccessError) in
                if !(contentsAreDurable && item.file.opened.device == device) { try item.file.synchronize() }
                try item.file.moveIntoPlace(item.replacement)
            }
        }

        let moved = sealed.filter { failures[$0] == nil }
        for index in begun {
            if failures[index] == nil { group[index].file.finishCommit() } else { group[index].file.cancelCommit() }
        }
        let namesAreDurable = synchronizeTogether(count: moved.count)
        var outcomes: [RelativePath?: FileAccessError?] = [:]
        for index in moved {
            let file = group[index].file
            if namesAreDurable, file.opened.device == device { continue }
            let parent = file.target.parent
            if outcomes[parent] == nil {
                do throws(FileAccessError) {
                    try file.directory.synchronize()
                    outcomes[parent] = .some(nil)
                } catch {
                    outcomes[parent] = error
                }
            }
            failures[index] = outcomes[parent] ?? nil
        }

        return group.indices.map { index in
            if let failure = failures[index] { return .failure(failure) }
            return Result { () throws(FileAccessError) in try group[index].file.statusInPlace() }
        }
    }

    /// Whether one call made everything on the root's file system durable; if not, each file has to be made so, which
    /// also tells which of them the disk has trouble with.
    private func synchronizeTogether(count: Int) -> Bool {
        guard count >= Self.groupThreshold else { return false }
        do throws(FileAccessError) {
            try synchronizeFileSystem()
            return true
        } catch {
            return false
        }
    }
}
