import ControlAPI
import Testing

@testable import synctrain

struct LinkCommandTests {
    private static let url = "http://127.0.0.1:1/file?x"

    @Test func urlPrintsTheLinkAlone() async throws {
        let scene = Scene()
        #expect(await scene.run("url", "docs:a b").output == Self.url + "\n")
        #expect(await scene.run("url", "docs:a b", "--for", "30m").code == 0)
        #expect(scene.control?.asked == ["link docs:a b 7200", "link docs:a b 1800"])
        let json = await scene.run("url", "docs:a", "--json").output
        let link = try ControlJSON.decode(FileLink.self, from: Array(json.utf8))
        #expect(link.url == Self.url)
        #expect(link.path == "docs:a")
    }

    @Test(arguments: ["0", "x", "400d", "-5m", ""])
    func timesThatAreNone(time: String) async {
        let scene = Scene()
        #expect(await scene.run("url", "docs:a", "--for=\(time)").code == 64)
        #expect(scene.control?.asked.isEmpty == true)
    }

    @Test func openRunsTheProgramWithTheLink() async {
        let opened = Box<[String]>([])
        var scene = Scene()
        scene.opener = { $0["SYNCTRAIN_OPEN"] }
        scene.open = { command, link, _ in opened.change { $0 += [command, link] } }
        let nothing = await scene.run("open", "docs:a")
        #expect(nothing.code == 0)
        #expect(nothing.output == Self.url + "\n")
        #expect(nothing.errors.contains("SYNCTRAIN_OPEN"))
        #expect(opened.current.isEmpty)
        scene.variables = ["SYNCTRAIN_OPEN": "mpv --fs"]
        let run = await scene.run("open", "docs:a")
        #expect(run.output.isEmpty)
        #expect(opened.current == ["mpv --fs", Self.url])
        #expect(await scene.run("open", "docs:a", "--json").output.contains(#""with":"mpv --fs""#))
        scene.open = { _, _, _ in throw ControlError(.failed, "It broke.") }
        #expect(await scene.run("open", "docs:a").code == 1)
    }

    @Test func whatOpensLinks() {
        #expect(OpeningProgram.command(["SYNCTRAIN_OPEN": "vlc", "PATH": "/nonexistent"]) == "vlc")
        #expect(OpeningProgram.command(["SYNCTRAIN_OPEN": "", "PATH": "/nonexistent"]) == nil)
        #expect(OpeningProgram.command(["PATH": "/nonexistent:"]) == nil)
    }

    /// The link is one argument whatever is in it, and never read by the shell.
    @Test func theShellDoesNotReadTheLink() async throws {
        let link = "http://h/file?a=$(exit 7)&b=`exit 8`;exit 9 'x' \"y"
        try await OpeningProgram.run("test 1 = 1 -a", link, variables: [:])
        try await OpeningProgram.run("f() { test \"$1\" = \"$WANTED\" ; }; f", link, variables: ["WANTED": link])
        for (command, words) in [("exit 3 #", "ended with 3"), ("kill -9 $$ #", "signal")] {
            let error = await controlError { try await OpeningProgram.run(command, link, variables: [:]) }
            #expect(error?.message.contains(words) == true)
            #expect(error?.message.contains(link) == true)
        }
    }
}
