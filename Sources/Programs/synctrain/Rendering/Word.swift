import ControlAPI
import Phrases

/// Words of the API as people read them: in English as they are, but for a few.
enum Word {
    /// The word in the language of the task; itself where the catalogue does not have it.
    static func shown(_ code: String) -> String {
        if let phrase = othersForPeople[code] { return phrase.shown }
        return phrases[code.replacing("-", with: " ")].map {
            Translation.current.language == "en" ? code : Translation.current.text($0)
        } ?? code
    }

    /// Columns that the widest of them takes.
    static func width(of codes: [String]) -> Int { codes.map { DisplayWidth.of(shown($0)) }.max() ?? 0 }

    /// Whether an answer to a question means yes, in English or in the language of the task.
    static func isYes(_ answer: String) -> Bool {
        ["y", "yes", translated("y"), translated("yes")].contains(answer.lowercased())
    }

    /// The same for no.
    static func isNo(_ answer: String) -> Bool {
        ["n", "no", translated("n"), translated("no")].contains(answer.lowercased())
    }

    private static let phrases: [String: Phrase] = {
        var phrases: [String: Phrase] = [:]
        for phrase in folderStates + entryWords + otherWords { phrases[phrase.template] = phrase }
        return phrases
    }()

    private static let othersForPeople = ["redeemed": Phrase("used")]

    private static let folderStates = [
        Phrase("idle"), Phrase("paused"), Phrase("stopped"), Phrase("starting"), Phrase("receiving index"),
        Phrase("scanning"), Phrase("syncing"), Phrase("fetching"), Phrase("halted marker missing"),
        Phrase("halted root missing"), Phrase("halted root emptied"), Phrase("halted mass delete"),
        Phrase("selection error"), Phrase("low space"), Phrase("error"), Phrase("selective"), Phrase("full"),
        Phrase("partial"), Phrase("failed"), Phrase("watching"), Phrase("off"),
    ]

    private static let entryWords = [
        Phrase("absent"), Phrase("selected"), Phrase("queued"), Phrase("partial"), Phrase("downloading"),
        Phrase("present"), Phrase("modified"), Phrase("conflict"), Phrase("extraneous"), Phrase("downloaded"),
        Phrase("explicit"), Phrase("implicit"), Phrase("no"), Phrase("file"), Phrase("directory"), Phrase("symlink"),
        Phrase("complete"), Phrase("partly"), Phrase("older"), Phrase("other"), Phrase("deleted"), Phrase("not kept"),
        Phrase("nothing"), Phrase("unknown"),
    ]

    private static let otherWords = [
        Phrase("ok"), Phrase("note"), Phrase("warning"), Phrase("problem"), Phrase("agent"), Phrase("configuration"),
        Phrase("permissions"), Phrase("database"), Phrase("clock"), Phrase("network"), Phrase("devices"),
        Phrase("folders"), Phrase("space"), Phrase("bluetooth"), Phrase("thumbnails"), Phrase("mount"),
        Phrase("system"), Phrase("yes"), Phrase("open"), Phrase("expired"), Phrase("read"),
        Phrase("write"), Phrase("admin"), Phrase("joining"), Phrase("joined"), Phrase("read write"),
        Phrase("read only"), Phrase("added"), Phrase("changed"), Phrase("renamed"), Phrase("freed"),
        Phrase("restored"), Phrase("many"),
    ]
}

extension ControlError {
    /// The message in the language of the task.
    var shown: String { text.shown }
}

extension Phrase {
    /// The text in the language of the task.
    var shown: String { Translation.current.text(self) }
}

extension FolderWait {
    /// The same of why a folder waits, and what ends that.
    var shown: String {
        guard reason == .paused, let until else { return text.shown }
        return translated("the folder is paused until \(Timestamp.local(until))")
    }

    var shownRemedy: String { remedyText.shown }
}
