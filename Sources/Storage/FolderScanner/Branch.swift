import FileAccess

/// The part of a tree that a scan is restricted to: a name and what is wanted of it.
struct Branch: Sendable, Equatable {
    let name: String
    /// What is wanted below; nil for all of it.
    let below: [Branch]?

    /// The tree that leads to `paths`, in the order in which a walk meets the names.
    static func tree(to paths: [RelativePath]) -> [Branch] {
        let sorted = paths.map(\.components).sorted { left, right in
            left.lexicographicallyPrecedes(right) { $0.order(to: $1) < 0 }
        }
        return tree(sorted.map { $0[...] }[...])
    }

    /// - Parameter paths: In order, each with a component at least.
    private static func tree(_ paths: ArraySlice<ArraySlice<Substring>>) -> [Branch] {
        var branches: [Branch] = []
        var rest = paths
        while let name = rest.first?.first {
            let same = rest.prefix { $0.first.map { $0.order(to: name) == 0 } ?? false }
            rest = rest.dropFirst(same.count)
            let below = same.map { $0.dropFirst() }
            // The shortest comes first: if it ends here, all of this is wanted.
            let isWhole = below.first?.isEmpty ?? true
            branches.append(Branch(name: String(name), below: isWhole ? nil : tree(below[...])))
        }
        return branches
    }
}

extension [Branch] {
    /// The branch of this name; they are in the order of names.
    func branch(named name: Substring) -> Branch? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = self[middle].name[...].order(to: name)
            if order == 0 { return self[middle] }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}
