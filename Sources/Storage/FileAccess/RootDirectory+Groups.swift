import Glibc

/// Groups of files that change together or not at all.
///
/// In this order: all contents and their temporary names are made durable (`seal`); the caller writes the steps down,
/// durably; what takes a place is moved to its swap name, then each swaps names with what is there, one right after the
/// other (`place`); the directory is made durable; then what was replaced goes. Until then each step can be taken back.
/// So whoever finds the steps after a crash knows: as long as anything new is not in its place, nothing old is gone, and
/// all is undone; else all is finished.
extension RootDirectory {
    /// Gives the files of each group their permissions and times, and makes them durable under their temporary names. The
    /// files of a group are in one directory.
    package func seal(_ groups: [[GroupMember]]) -> [Result<SealedGroup, FileAccessError>] {
        let isTogether = groups.reduce(0) { $0 + $1.count } >= Self.groupThreshold
        var sealed = groups.map { members in
            Result { () throws(FileAccessError) in try seal(members, isDurable: !isTogether) }
        }
        guard isTogether else { return sealed }
        do throws(FileAccessError) {
            try synchronizeFileSystem()
        } catch {
            // Each by itself, which also tells which of them the disk has trouble with.
            for (index, group) in sealed.enumerated() {
                guard case .success(let group) = group else { continue }
                do throws(FileAccessError) {
                    try Self.synchronize(group.members, in: group.directory)
                } catch {
                    cancel(group.members)
                    sealed[index] = .failure(error)
                }
            }
        }
        return sealed
    }

    private func seal(_ members: [GroupMember], isDurable: Bool) throws(FileAccessError) -> SealedGroup {
        var begun: [GroupMember] = []
        do throws(FileAccessError) {
            guard let first = members.first, members.allSatisfy({ $0.path.parent == first.path.parent }) else {
                throw FileAccessError(.invalidPath, .rename, path: members.first?.path.text ?? "")
            }
            let directory = try directory(first.path.parent)
            var steps: [GroupStep] = []
            for member in members {
                let expected = member.expected.map { SwapName.fingerprint($0) }
                guard let commit = member.commit else {
                    steps.append(GroupStep(target: member.path, source: 0, sealed: 0, expected: expected))
                    continue
                }
                try commit.file.beginCommit()
                begun.append(member)
                try commit.file.seal(
                    permissions: commit.permissions, modified: commit.modified, attributes: commit.attributes)
                let status = try commit.file.status()
                steps.append(
                    GroupStep(
                        target: member.path, source: status.inode, sealed: SwapName.fingerprint(status),
                        expected: expected))
            }
            if isDurable { try Self.synchronize(members, in: directory) }
            return SealedGroup(members: members, directory: directory, steps: steps)
        } catch {
            cancel(begun)
            throw error
        }
    }

    private static func synchronize(_ members: [GroupMember], in directory: Directory) throws(FileAccessError) {
        for member in members { try member.commit?.file.synchronize() }
        try directory.synchronize()
    }

    private func cancel(_ members: [GroupMember]) {
        for member in members { member.commit?.file.cancelCommit() }
    }

    /// Puts all files of each group into their places. The steps have been written down.
    package func place(_ groups: [SealedGroup]) -> [GroupOutcome] {
        var outcomes: [GroupOutcome?] = groups.map { swap($0) }
        let swapped = groups.indices.filter { outcomes[$0] == nil }
        let count = swapped.reduce(0) { $0 + groups[$1].members.count }
        var isDurable = false
        if count >= Self.groupThreshold { isDurable = (try? synchronizeFileSystem()) != nil }
        for index in swapped {
            let group = groups[index]
            do throws(FileAccessError) {
                if !isDurable { try group.directory.synchronize() }
                outcomes[index] = .placed(try clear(group))
            } catch {
                outcomes[index] = undo(group, error, at: 0)
            }
        }
        for (group, outcome) in zip(groups, outcomes) {
            if case .placed = outcome {
                for member in group.members { member.commit?.file.finishCommit() }
            } else {
                cancel(group.members)
            }
        }
        return outcomes.map { $0 ?? .unsettled(FileAccessError(.finished, .rename, path: path)) }
    }

    /// Swaps names; nil if all went well.
    private func swap(_ group: SealedGroup) -> GroupOutcome? {
        let directory = group.directory
        var position = 0
        do throws(FileAccessError) {
            for (index, member) in group.members.enumerated() {
                position = index
                try check(member, directory)
            }
            for (index, step) in group.steps.enumerated() where step.source != 0 && step.expected != nil {
                position = index
                try directory.move(step.temporary, to: step.swap, in: directory, replacing: .nothing)
            }
            for (index, step) in group.steps.enumerated() {
                position = index
                try directory.take(step)
                group.members[index].commit?.file.notePlace()
            }
            // Nobody can change what is there now by its name any more.
            for (index, member) in group.members.enumerated() {
                guard let expected = member.expected else { continue }
                position = index
                let step = group.steps[index]
                let old = try directory.oldOccupant(of: step)
                guard let old, old.status.isUnchanged(since: expected.beforeRenaming) else {
                    throw FileAccessError(.changedOnDisk, .rename, path: member.path.text)
                }
                guard !directory.isBeingWritten(old.name) else {
                    throw FileAccessError(.busy, .rename, path: member.path.text)
                }
            }
            return nil
        } catch {
            return undo(group, error, at: position)
        }
    }

    private func check(_ member: GroupMember, _ directory: Directory) throws(FileAccessError) {
        let name = member.path.name
        if let expected = member.expected {
            try directory.check(name, isStill: expected)
        } else if try directory.status(ofName: name) != nil {
            throw FileAccessError(.exists, .rename, path: member.path.text)
        }
        guard let commit = member.commit else { return }
        guard let now = try directory.status(ofName: commit.file.temporaryName),
            now.isSameFile(as: commit.file.opened)
        else { throw FileAccessError(.notFound, .rename, path: member.path.text) }
    }

    /// Lets what was replaced go; gives the status of what took the places.
    private func clear(_ group: SealedGroup) throws(FileAccessError) -> [FileStatus?] {
        for step in group.steps where step.expected != nil {
            // What cannot be removed is found by a look, which knows by its name that it may go.
            if let name = try? group.directory.oldOccupant(of: step)?.name { _ = group.directory.unlink(name) }
        }
        return try group.members.map { member throws(FileAccessError) in try member.commit?.file.statusInPlace() }
    }

    private func undo(_ group: SealedGroup, _ error: FileAccessError, at position: Int) -> GroupOutcome {
        do throws(FileAccessError) {
            try group.directory.undo(group.steps)
            return .undone(error, position: position)
        } catch let failure {
            return .unsettled(failure)
        }
    }

    /// Finishes or undoes what was to be done to a group when a process died: nothing if it never began. All steps are of one
    /// directory. Nothing that anybody wrote since is touched.
    package func settle(_ steps: [GroupStep]) throws(FileAccessError) -> GroupSettlement {
        guard let first = steps.first, let directory = try parentDirectory(of: first.target) else { return .finished }
        var isPending = false
        for step in steps where !isPending { isPending = try directory.isPending(step) }
        if isPending {
            try directory.undo(steps)
            return .undone
        }
        try directory.synchronize()
        for step in steps where step.expected != nil {
            guard let old = try directory.oldOccupant(of: step), step.isExpected(old.status) else { continue }
            let removed = directory.unlink(old.name)
            if case .failure(let error) = removed, error.number != ENOENT {
                throw FileAccessError(error, .remove, path: directory.displayPath(of: old.name))
            }
        }
        return .finished
    }
}

extension Directory {
    /// Fills or empties the place; what was there has another name then.
    fileprivate func take(_ step: GroupStep) throws(FileAccessError) {
        let target = step.target.name
        guard step.source != 0 else { return try move(target, to: step.aside, in: self, replacing: .nothing) }
        guard step.expected != nil else {
            return try move(step.temporary, to: target, in: self, replacing: .nothing)
        }
        switch exchange(step.swap, with: target) {
        case .success: break
        case .failure(let error) where error.number == EINVAL || error.number == ENOSYS:
            // The one way in which the name is without a file for a moment; the steps that are written down end it.
            try move(target, to: step.aside, in: self, replacing: .nothing)
            try move(step.swap, to: target, in: self, replacing: .nothing)
        case .failure(let error) where error.number == ENOENT:
            throw FileAccessError(.changedOnDisk, .rename, path: step.target.text, errno: error.number)
        case .failure(let error): throw FileAccessError(error, .rename, path: step.target.text)
        }
    }

    /// What was in the place, once it is there no more.
    fileprivate func oldOccupant(
        of step: GroupStep
    ) throws(FileAccessError) -> (name: String, status: FileStatus)? {
        if let status = try status(ofName: step.aside) { return (step.aside, status) }
        guard step.source != 0, let status = try status(ofName: step.swap), status.inode != step.source else {
            return nil
        }
        return (step.swap, status)
    }

    /// Whether what is to take the place waits yet, or what is to go is there.
    fileprivate func isPending(_ step: GroupStep) throws(FileAccessError) -> Bool {
        guard step.source != 0 else {
            guard try status(ofName: step.aside) == nil else { return false }
            return step.isExpected(try status(ofName: step.target.name))
        }
        if step.isSealed(try status(ofName: step.temporary)) { return true }
        guard step.expected != nil else { return false }
        return step.isSealed(try status(ofName: step.swap))
    }

    /// Gives each place back to what was there, durably, and each new version its temporary name. What somebody has written
    /// since stays in its place.
    fileprivate func undo(_ steps: [GroupStep]) throws(FileAccessError) {
        for step in steps.reversed() { try undo(step) }
        try synchronize()
    }

    private func undo(_ step: GroupStep) throws(FileAccessError) {
        let target = step.target.name
        if step.source == 0 || step.expected == nil {
            if step.source != 0 {
                guard step.isSealed(try status(ofName: target)) else { return }
                return try giveBack(target, as: step.temporary)
            }
            guard try status(ofName: step.aside) != nil, try status(ofName: target) == nil else { return }
            return try move(step.aside, to: target, in: self, replacing: .nothing)
        }
        let old = try oldOccupant(of: step)
        if step.isSealed(try status(ofName: target)) {
            guard let old else { return }
            if old.name == step.swap {
                try exchange(step.swap, with: target).orThrow(.rename, path: step.target.text)
                guard step.isSealed(try status(ofName: step.swap)) else {
                    // Somebody wrote to it at this instant.
                    return try exchange(step.swap, with: target).orThrow(.rename, path: step.target.text)
                }
            } else {
                try move(target, to: step.swap, in: self, replacing: .nothing)
                try move(step.aside, to: target, in: self, replacing: .nothing)
            }
        } else if let old, old.name == step.aside, try status(ofName: target) == nil {
            try move(step.aside, to: target, in: self, replacing: .nothing)
        }
        guard step.isSealed(try status(ofName: step.swap)) else { return }
        try giveBack(step.swap, as: step.temporary)
    }

    /// Moves `name` to `other`, which may be a second name of the same file already where names cannot be moved at once.
    private func giveBack(_ name: String, as other: String) throws(FileAccessError) {
        if let now = try status(ofName: name), try status(ofName: other)?.isSameFile(as: now) == true {
            return try unlink(name).orThrow(.remove, path: displayPath(of: name))
        }
        try move(name, to: other, in: self, replacing: .nothing)
    }
}
