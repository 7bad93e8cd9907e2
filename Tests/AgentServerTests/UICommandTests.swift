import ControlAPI
import Testing

@testable import synctrain

struct UICommandTests {
    private static let url = "http://127.0.0.1:1/login?token=x"
    private static let page = "/run/login-1.html"

    /// What it starts gets the path of a file: the link is a secret, and arguments are none.
    @Test func opensAPageThatLeadsToTheLoginLink() async {
        let opened = Box<[String]>([])
        var scene = Scene()
        scene.opener = { $0["SYNCTRAIN_OPEN"] }
        scene.open = { command, link, _ in opened.change { $0 += [command, link] } }
        let nothing = await scene.run("ui")
        #expect(nothing.code == 0)
        #expect(nothing.output == Self.url + "\n")
        #expect(nothing.errors.contains("SYNCTRAIN_OPEN"))
        scene.variables = ["SYNCTRAIN_OPEN": "firefox"]
        #expect(await scene.run("ui", "--no-open").output == Self.url + "\n")
        #expect(opened.current.isEmpty)
        #expect(scene.control?.asked == ["log in false", "log in false"])
        let run = await scene.run("ui")
        #expect(run.output.isEmpty)
        #expect(opened.current == ["firefox", Self.page])
        #expect(scene.control?.asked.last == "log in true")
        let json = await scene.run("ui", "--json").output
        #expect(
            json == #"{"page":"\#(Self.page)","schema":1,"seconds":60,"url":"\#(Self.url)","with":"firefox"}"# + "\n")
        // Where the program fails the link is printed.
        scene.open = { _, _, _ in throw ControlError(.failed, "It broke.") }
        let failed = await scene.run("ui")
        #expect(failed.code == 1 && failed.output == Self.url + "\n" && failed.errors.contains("It broke."))
    }

    @Test func namesWhatThePageIsToShow() async {
        let scene = Scene()
        #expect(await scene.run("ui", "--no-open", "library:Films/a b.mkv").code == 0)
        #expect(scene.control?.asked == ["log in false at library:Films/a b.mkv"])
        #expect(await scene.run("ui", "--logout", "library:Films").code == 64)
    }

    @Test func logsOut() async {
        let scene = Scene()
        #expect(await scene.run("ui", "--logout").output == "2 browsers were logged out.\n")
        #expect(await scene.run("ui", "--logout", "--json").output == #"{"ended":2,"schema":1}"# + "\n")
        #expect(await scene.run("ui", "--logout", "--no-open").code == 64)
        #expect(scene.control?.asked == ["log out", "log out"])
    }
}
