import ControlAPI
import Phrases

/// Why a path is kept or not, in a sentence or two.
struct ExplanationRendering: Sendable {
    var style: Style

    func text(_ explained: ExplainedPath) -> String {
        var sentences = ["\(style.name("\(explained.folder):\(explained.path)")) \(verdict(explained))."]
        if explained.isDeletable {
            sentences.append(translated("It is deleted if it would keep its directory from being deleted."))
        }
        if explained.isParentOfSelected, explained.selected == .no {
            sentences.append(translated("It is kept as a directory because something below it is selected."))
        }
        if !explained.exists { sentences.append(translated("It is not in the index.")) }
        return sentences.joined(separator: " ")
    }

    private func verdict(_ explained: ExplainedPath) -> String {
        let isKept = explained.selected != .no
        switch explained.reason {
        case .root: return translated("is the folder itself, which is always selected")
        case .internalName: return translated("is never synced: the name is reserved")
        case .temporaryName: return translated("is never synced: it is a temporary file")
        case .noLine: return translated("is selected: no line of .stignore excludes it")
        case .line:
            guard let line = explained.line else {
                return isKept ? translated("is selected") : translated("is not selected")
            }
            let place = "\(style.name(line.file)):\(line.number) `\(style.name(line.text))`"
            let above = explained.matchedPath.flatMap { $0 == explained.path ? nil : style.name($0) }
            switch (explained.selected, above) {
            case (.explicit, _): return translated("is selected by name: \(place)")
            case (.implicit, let above?): return translated("is selected because it is in \(above): \(place)")
            case (.implicit, nil): return translated("is selected: \(place) matches it")
            case (.no, let above?): return translated("is not selected: \(place) excludes \(above), which contains it")
            case (.no, nil): return translated("is not selected: \(place) excludes it")
            }
        }
    }
}
