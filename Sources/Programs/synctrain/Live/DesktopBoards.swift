import MachineState
import Phrases
import SyncAgent
import SyncDecisions

/// Shows notices in the language of the session that the desktop is of.
struct DesktopBoard: NoticeBoard {
    let desktop: Desktop
    let translation: Translation

    func show(_ notice: Notice) async {
        let (summary, body) = notice.shown(in: translation)
        await desktop.show(
            Desktop.Message(
                place: notice.kind.rawValue, summary: summary, body: body, isUrgent: notice.isUrgent,
                action: notice.kind.view.map { _ in translation.text(Phrase("Open the page")) }))
    }
}

/// Shows the tray icon in the same language.
struct DesktopTray: TrayBoard {
    let tray: Tray
    let translation: Translation

    var isAsked: Bool { tray.isAsked }
    var changes: AsyncStream<Void> { tray.changes }

    func show(_ view: TrayView) async { await tray.show(Translation.$current.withValue(translation) { look(view) }) }

    func hide() async { await tray.hide() }

    private func look(_ view: TrayView) -> TrayLook {
        let mark: TrayLook.Mark =
            switch view.mark {
            case .plain: .plain
            case .working: .working
            case .paused: .paused
            case .attention: .attention
            }
        return TrayLook(
            mark: mark, isUrgent: view.attention > 0,
            tip: view.details.map { NoticeText.escaped(translation.text($0)) },
            items: [item(.state, view), item(.attention, view), item(.ready, view), .separator]
                + [item(.open, view), item(.pause, view), item(.resume, view), .separator, item(.quit, view)],
            click: (view.attention > 0 ? TrayView.Entry.attention : .open).rawValue)
    }

    private func item(_ entry: TrayView.Entry, _ view: TrayView) -> TrayLook.Item {
        let words = view.words(of: entry)
        return TrayLook.Item(
            word: entry.rawValue, label: words.map { translation.text($0) } ?? "",
            isEnabled: ![.state, .ready].contains(entry), isVisible: words != nil)
    }
}
