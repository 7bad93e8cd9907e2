import AsyncTools
import Cryptography
import FileAccess

/// A file that leads a browser to a login link, readable for its user alone: what a program is started with every user of
/// the machine can see, and the link is as good as a password.
struct LoginPage: Sendable {
    /// Absolute.
    let path: String
    private let root: RootDirectory
    private let name: RelativePath

    private static let prefix = "login-"
    private static let suffix = ".html"

    /// Writes the file.
    init(leadingTo link: String, in directory: String) throws {
        let text = Self.prefix + String(SecureRandom.uint64(), radix: 16) + Self.suffix
        name = try RelativePath(parsing: text)
        root = try RootDirectory(path: directory)
        path = root.path + "/" + text
        try AtomicFile.write(path: path, contents: Array(Self.html(link).utf8), permissions: 0o600)
    }

    /// Removes the file when its link was used, when its time is over, or when the task is cancelled.
    func stay(until used: Signal, atMost time: Duration, clock: any Clock<Duration>) async {
        await used.wait(atMost: time, clock: clock)
        // That it is not there any more is as good.
        _ = try? root.remove(name, expecting: nil)
    }

    /// Removes what an agent left that was killed; the links in it ended with that agent.
    static func removeAll(in directory: String) {
        guard let root = try? RootDirectory(path: directory), let entries = try? root.list(nil) else { return }
        for name in entries.compactMap(\.name) where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            if let path = RelativePath(name) { _ = try? root.remove(path, expecting: nil) }
        }
    }

    static func html(_ link: String) -> String {
        let link = escaped(link)
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0; url=\(link)">
            <title>synctrain</title>
            <p><a href="\(link)">Log in to synctrain</a></p>
            <p lang="de"><a href="\(link)">Bei synctrain anmelden</a></p>
            <p lang="nl"><a href="\(link)">Inloggen bij synctrain</a></p>
            </html>

            """
    }

    /// As the value of an attribute in quotes.
    private static func escaped(_ text: String) -> String {
        text.replacingScalars(["&": "&amp;", "\"": "&quot;", "<": "&lt;"])
    }
}
