import ControlAPI

/// What settling something in a folder changes, for people.
struct FolderActionRendering: Sendable {
    var style: Style

    func question(_ plan: FolderActionOutcome) -> String {
        let folder = style.name(plan.folder)
        guard plan.isChange else { return "Resume \(folder)?" }
        let verb =
            switch plan.action {
            case .override: "Overriding"
            case .revert: "Reverting"
            case .confirm: "Confirming"
            case .repair: "Repairing"
            }
        let parts = parts(plan, ("changes", "deletes"))
        return "\(verb) \(folder) \(parts) \(place(plan)). Go on?"
    }

    func lines(_ outcome: FolderActionOutcome) -> [String] {
        let folder = style.name(outcome.folder)
        guard outcome.isChange else {
            return ["\(folder): nothing \(outcome.isDryRun ? "would change" : "to change")"]
        }
        let verbs = outcome.isDryRun ? ("would change", "would delete") : ("changed", "deleted")
        var lines = ["\(folder): \(parts(outcome, verbs)) \(place(outcome))"]
        lines += outcome.paths.map { "  \(style.name($0))" }
        let named = Int64(outcome.paths.count)
        let all = [outcome.files, outcome.directories, outcome.deletions].reduce(0, &+)
        if named > 0, all > named { lines.append("  and \(Quantity.count(all - named, "name")) more") }
        return lines
    }

    private func parts(_ outcome: FolderActionOutcome, _ verbs: (change: String, delete: String)) -> String {
        var changed: [String] = []
        if outcome.files > 0 {
            changed.append("\(Quantity.count(outcome.files, "file")) (\(Quantity.size(outcome.bytes)))")
        }
        if outcome.directories > 0 { changed.append(Quantity.directories(outcome.directories)) }
        var parts = changed.isEmpty ? [] : ["\(verbs.change) \(changed.joined(separator: " and "))"]
        if outcome.deletions > 0 { parts.append("\(verbs.delete) \(Quantity.count(outcome.deletions, "name"))") }
        return parts.joined(separator: " and ")
    }

    private func place(_ outcome: FolderActionOutcome) -> String {
        switch outcome.action {
        case .confirm where outcome.isHere == true: "on this device"
        case .override, .confirm: "on the other devices"
        case .revert, .repair: "on this device"
        }
    }
}
