import FileAccess
import FolderWatcher

/// What a scanner that obeyed the reports would have looked at.
struct Coverage {
    private var items: Set<RelativePath> = []
    private var directories: Set<RelativePath?> = []
    private var trees: Set<RelativePath?> = []

    init(_ reports: [WatchReport]) {
        for report in reports {
            switch report {
            case .changed(let changes):
                for change in changes {
                    switch change {
                    case .item(let path): items.insert(path)
                    case .children(let directory): directories.insert(directory)
                    case .tree(let path): trees.insert(path)
                    }
                }
            case .renamed(let from, let to, let isDirectory):
                if isDirectory { trees.formUnion([from, to]) } else { items.formUnion([from, to]) }
            case .rescan(let directory, _): trees.insert(directory)
            case .ignoreFileChanged, .markerChanged, .state: break
            }
        }
    }

    func covers(_ path: RelativePath) -> Bool {
        if items.contains(path) || trees.contains(path) || directories.contains(path) { return true }
        if directories.contains(path.parent) || trees.contains(nil) { return true }
        var directory = path.parent
        while let here = directory {
            if trees.contains(here) { return true }
            directory = here.parent
        }
        return false
    }
}
