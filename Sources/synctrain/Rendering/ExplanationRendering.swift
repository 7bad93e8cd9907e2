import ControlAPI

/// Why a path is kept or not, in a sentence or two.
struct ExplanationRendering: Sendable {
    var style: Style

    func text(_ explained: ExplainedPath) -> String {
        var sentences = ["\(style.name("\(explained.folder):\(explained.path)")) \(verdict(explained))."]
        if explained.isDeletable {
            sentences.append("It is deleted where it keeps its directory from being deleted.")
        }
        if explained.isParentOfSelected, explained.selected == .no {
            sentences.append("It is kept as a directory, because something below it is selected.")
        }
        if !explained.exists { sentences.append("It is not in the index now.") }
        return sentences.joined(separator: " ")
    }

    private func verdict(_ explained: ExplainedPath) -> String {
        let isKept = explained.selected != .no
        switch explained.reason {
        case .root: return "is the folder itself, which is always kept"
        case .internalName: return "is never synced: synchronisation keeps this name for itself"
        case .temporaryName: return "is never synced: it has the name of a file that is still being written"
        case .noLine: return "is kept: no line of .stignore matches it"
        case .line:
            guard let line = explained.line else { return isKept ? "is kept" : "is not selected" }
            let place = "\(style.name(line.file)):\(line.number) `\(style.name(line.text))`"
            let above = explained.matchedPath.flatMap { $0 == explained.path ? nil : style.name($0) }
            switch (explained.selected, above) {
            case (.explicit, _): return "is selected by name: \(place)"
            case (.implicit, let above?): return "is selected with \(above), which it is in: \(place)"
            case (.implicit, nil): return "is selected: \(place) matches it"
            case (.no, let above?): return "is not selected: \(place) leaves out \(above), which it is in"
            case (.no, nil): return "is not selected: \(place) leaves it out"
            }
        }
    }
}
