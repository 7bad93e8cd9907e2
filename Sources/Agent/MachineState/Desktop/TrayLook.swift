/// What a tray icon shows: texts and words, without D-Bus.
package struct TrayLook: Equatable, Sendable {
    /// Which picture is shown.
    package enum Mark: String, CaseIterable, Sendable {
        case plain, working, paused, attention

        /// As packaging installs it into the icon theme.
        var iconName: String { self == .plain ? "synctrain" : "synctrain-\(rawValue)" }
    }

    /// A line of the menu.
    package struct Item: Equatable, Sendable {
        /// What a click is called; nil for a separator.
        package var word: String?
        package var label: String
        /// Whether it can be clicked.
        package var isEnabled: Bool
        package var isVisible: Bool

        package init(word: String?, label: String, isEnabled: Bool = true, isVisible: Bool = true) {
            self.word = word
            self.label = label
            self.isEnabled = isEnabled
            self.isVisible = isVisible
        }

        package static let separator = Item(word: nil, label: "")
    }

    package var mark: Mark
    /// Whether the desktop is to draw attention to it.
    package var isUrgent: Bool
    /// Lines, in which desktops read markup: what is text is escaped.
    package var tip: [String]
    /// The number of items stays the same; what does not apply is not visible.
    package var items: [Item]
    /// The word of a click on the icon itself.
    package var click: String

    package init(mark: Mark, isUrgent: Bool, tip: [String], items: [Item], click: String) {
        self.mark = mark
        self.isUrgent = isUrgent
        self.tip = tip
        self.items = items
        self.click = click
    }
}
