import BlockExchange
import FileAccess
import Reconciliation

/// In which order a plan is carried out. Pure.
struct PlanCourse: Equatable {
    enum Stage: Equatable {
        /// A group is fetched, and what of it is to go goes.
        case group(GroupChange)
        case fetch(FileInfo, Occupant)
        /// Not once something is to be fetched: what comes after that is planned again when it is here.
        case step(Action)
    }

    /// Each group comes behind as many fetches as it says, and before the first step behind those.
    private(set) var stages: [Stage] = []
    /// The files and links that the steps before the first fetch put into a place.
    let placed: [FileInfo]

    init(_ plan: Plan) { self.init(plan.steps, fetchPosition: plan.fetchPosition, groups: plan.groups) }

    /// - Parameters: as `Plan` has them.
    init(_ steps: [Action], fetchPosition: Int, groups: [GroupChange]) {
        let first = groups.isEmpty ? steps.prefix { !$0.isFetch } : steps.prefix(fetchPosition)
        placed = first.compactMap(\.placedFile)
        var groups = groups[...]
        var fetches = 0
        for (position, step) in steps.enumerated() {
            while position >= fetchPosition, let change = groups.first,
                change.precedingFetches <= fetches || !step.isFetch
            {
                stages.append(.group(change))
                groups.removeFirst()
            }
            if case .fetch(let file, let occupant) = step {
                stages.append(.fetch(file, occupant))
                fetches += 1
            } else {
                stages.append(.step(step))
            }
        }
        stages += groups.map { .group($0) }
    }
}

extension Action {
    fileprivate var isFetch: Bool { if case .fetch = self { true } else { false } }

    /// The file or link that the step puts into a place, without fetching it.
    fileprivate var placedFile: FileInfo? {
        switch self {
        case .rename(_, _, let file, _), .adopt(let file, _, _), .makeSymlink(let file, _): file
        case .nothing, .blocked, .record, .forget, .fetch, .makeDirectory, .delete: nil
        }
    }

    /// The names under which the step changes or removes what is there.
    var changedNames: [String] {
        switch self {
        case .nothing, .blocked, .fetch, .record, .forget: []
        case .adopt(let file, _, _), .makeDirectory(let file, _), .makeSymlink(let file, _): [file.name]
        case .rename(let from, _, let file, _): [from.file.name, file.name]
        case .delete(let local, _, _): [local.file.name]
        }
    }

    /// The file whose place the step takes or empties, without fetching anything, and what it does to it.
    var replacedFile: (path: RelativePath, operation: FileAccessError.Operation)? {
        let (local, operation): (LocalVersion?, FileAccessError.Operation) =
            switch self {
            case .rename(_, _, _, let occupant), .makeDirectory(_, let occupant), .makeSymlink(_, let occupant):
                (occupant.local, .rename)
            case .delete(let local, _, _): (local, .remove)
            case .nothing, .blocked, .fetch, .record, .forget, .adopt: (nil, .remove)
            }
        guard let local, local.file.kind == .file, let path = RelativePath(local.file.name) else { return nil }
        return (path, operation)
    }

    /// Whether the step puts something under its name that needs the directory above it.
    var putsSomething: Bool {
        switch self {
        case .fetch, .rename, .makeSymlink, .makeDirectory: true
        case .nothing, .blocked, .record, .forget, .adopt, .delete: false
        }
    }

    /// What the step puts where nothing is known to be, without fetching it.
    var newcomer: (file: FileInfo, arrival: Newcomers.Arrival)? {
        switch self {
        case .rename(let from, _, let file, .nothing): (file, .renamed(from: from.file.name))
        case .makeSymlink(let file, .nothing): (file, .downloaded)
        case .makeDirectory(let file, .nothing): (file, .directory)
        case .rename, .makeSymlink, .makeDirectory, .nothing, .blocked, .record, .forget, .fetch, .adopt, .delete: nil
        }
    }
}
