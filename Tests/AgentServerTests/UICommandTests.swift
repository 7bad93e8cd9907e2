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

    /// The password comes from standard input and is nowhere among the arguments.
    @Test func setsThePassword() async {
        var scene = Scene()
        let lines = Box(["correct horse\r"])
        scene.terminal.nextLine = {
            let line = lines.current.first
            if line != nil { lines.change { $0.removeFirst() } }
            return line
        }
        let run = await scene.run("ui", "--set-password")
        #expect(run.output == "The password is set. 2 browsers were logged out.\n")
        #expect(scene.control?.asked == ["password correct horse"])
        #expect(await scene.run("ui", "--set-password").code == 64, "nothing on standard input")
        lines.change { $0 = ["short"] }
        let short = await scene.run("ui", "--set-password")
        #expect(short.code == 64 && short.errors.contains("at least 10 characters"))
        #expect(await scene.run("ui", "--set-password", "--logout").code == 64)
        // On a terminal it is asked for twice, and not shown.
        scene.terminal.isInputTTY = true
        let echo = Box<[Bool]>([])
        scene.terminal.setEcho = { isOn in echo.change { $0.append(isOn) } }
        lines.change { $0 = ["battery staple", "battery stable"] }
        let differing = await scene.run("ui", "--set-password")
        #expect(differing.code == 64 && differing.errors.contains("differ"))
        #expect(echo.current == [false, true, false, true])
        #expect(scene.control?.asked.count == 1)
    }

    @Test func logsOut() async {
        let scene = Scene()
        #expect(await scene.run("ui", "--logout").output == "2 browsers were logged out.\n")
        #expect(await scene.run("ui", "--logout", "--json").output == #"{"ended":2,"schema":1}"# + "\n")
        #expect(await scene.run("ui", "--logout", "--no-open").code == 64)
        #expect(scene.control?.asked == ["log out", "log out"])
    }
}
