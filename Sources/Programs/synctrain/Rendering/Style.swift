import ControlAPI

/// How words and names look on standard output.
struct Style: Equatable, Sendable {
    var hasColor: Bool
    var escapesNames: Bool
    /// Columns that tables have; nil for no limit.
    var width: Int?

    func name(_ name: String) -> String { escapesNames ? EscapedName.escape(name) : name }

    func state(_ state: Entry.State, padded width: Int = 0) -> String {
        let text = Table.pad(Word.shown(state.rawValue), to: width)
        switch state {
        case .absent: return color(text, "2")
        case .selected, .queued, .partial, .downloading: return color(text, "33")
        case .present, .downloaded: return color(text, "32")
        case .modified: return color(text, "36")
        case .conflict, .extraneous: return color(text, "31")
        }
    }

    func heading(_ text: String) -> String { color(text, "1") }

    func directory(_ text: String) -> String { color(text, "34") }

    private func color(_ text: String, _ code: String) -> String {
        hasColor ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
