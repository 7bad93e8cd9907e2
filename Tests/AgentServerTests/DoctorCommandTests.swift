import ControlAPI
import Diagnosis
import Phrases
import Testing

@testable import synctrain

@Suite struct DoctorCommandTests {
    @Test func findingsAreShownWithWhatHelps() async {
        let result = await Scene().run("doctor")
        #expect(
            result.output == """
                agent          ok       The agent 0.1.0 runs.
                configuration  ok       config.toml is valid: 0 folders, 0 devices.
                permissions    ok       Key, index and control socket belong to this user alone.
                network        ok       Listens on tcp://0.0.0.0:22000.
                devices        warning  nas is not connected: timed out.
                                        - tcp://192.0.2.7:22000 (discovery server): timed out
                                        Nothing is exchanged with it.
                                        Switch nas on.
                                          synctrain reach
                               ok       phone is connected (tcp).

                1 warning.

                """, "\(result.errors)")
        #expect(result.code == 0, "a warning is no problem")
    }

    @Test func aProblemEndsWithOne() async throws {
        var scene = Scene()
        scene.facts.configuration = .broken("/h/config.toml:3: unknown key")
        let result = await scene.run("doctor", "--json")
        #expect(result.code == 1 && result.errors.isEmpty)
        let report = try ControlJSON.decode(DoctorReport.self, from: Array(result.output.utf8))
        #expect(report.schema == 1)
        #expect(report.findings.filter { $0.state == .problem }.map(\.message) == ["/h/config.toml:3: unknown key."])
    }

    @Test func whatIsThereWithoutAnAgentIsShown() async {
        let result = await Scene(control: nil).run("doctor")
        #expect(result.code == 1)
        #expect(
            result.output.hasPrefix(
                """
                agent          problem  The agent is not running.
                                        Nothing is synced.
                                        Start it.
                                          synctrain agent start
                configuration  ok
                """), "\(result.output)")
        #expect(result.output.hasSuffix("\n1 problem.\n"))
    }

    @Test func whatHindersTheStartIsNamedInsteadOfTheStartAlone() {
        let facts = MachineFacts(program: "synctrain", configuration: .valid(folders: 0, devices: 0))
        let taken = Phrase("cannot listen on tcp://127.0.0.1:1: another program uses that port")
        let findings = facts.stopped(hindrances: [taken])
        #expect(findings.count == 1 && findings[0].state == .problem)
        #expect(findings[0].message.contains("another program uses that port"))
        #expect(findings[0].command == "synctrain agent start")
        #expect(facts.stopped(hindrances: []).map(\.message) == ["The agent is not running."])
    }

    /// Of a mount whose process has ended the agent may know nothing, and without an agent nobody else looks.
    @Test func aMountThatDoesNotAnswerIsNamed() async {
        for control in [nil, ScriptedControl()] {
            var scene = Scene(control: control)
            scene.silentMounts = [(folder: "docs", directory: "/m")]
            let result = await scene.run("doctor")
            #expect(result.output.contains("docs: the mount on /m does not answer."), "\(result.output)")
            #expect(result.output.contains("unmount --lazy /m"))
        }
    }

    @Test func anAgentThatCannotAnswerIsAProblem() async {
        let stuck = Scene(control: ScriptedControl(failure: ControlError(.indexUnusable, "the index is damaged")))
        let result = await stuck.run("doctor")
        #expect(result.code == 1 && result.output.contains("could not say what it finds: the index is damaged"))
        let old = await Scene(control: ScriptedControl(failure: ControlError(.notFound, "no such verb"))).run("doctor")
        #expect(old.code == 0 && old.output.contains("older version") && old.output.contains("agent restart"))
    }
}
