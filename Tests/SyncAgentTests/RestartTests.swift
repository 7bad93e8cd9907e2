import AgentConfiguration
import Testing

@testable import SyncAgent

/// Which changes of the configuration wait for a restart.
struct RestartTests {
    @Test func whatTheSchemaSaysOfARestartIsWhatReloadSays() {
        let old = Configuration(name: "laptop")
        var new = old
        new.name = "tablet"
        new.limits.usual.up = 1 << 20
        new.bluetooth.scanWindow = 7
        #expect(old.settingsForStart(otherThan: new) == [])
        new.listen = []
        new.http.isOpenToNetwork = true
        new.http.hosts = ["nas.local"]
        new.bluetooth.isEnabled.toggle()
        new.log.level = .debug
        #expect(old.settingsForStart(otherThan: new) == ["listen", "bluetooth", "http", "log"])
    }
}
