import ControlAPI
import Testing

@testable import synctrain

struct DeviceRestoringTests {
    @Test func theCommandHasAllThatIsToComeBack() {
        let device = DeviceSettings(
            id: "AAAAAAA-B", name: "it's nas", addresses: ["dynamic", "tcp://h:1"],
            settings: [
                SettingInput(key: "paused", value: "true"),
                SettingInput(key: "allowed-networks", values: ["10.0.0.0/8", "!10.1.0.0/16"]),
            ],
            folders: [
                DeviceShare(folder: "photos"), DeviceShare(folder: "a b", role: "read", isEncrypted: true),
                DeviceShare(folder: "c", introducedBy: "CCC"), DeviceShare(folder: "d=read"),
            ])
        #expect(
            DeviceRestoring.command(device)
                == #"device add AAAAAAA-B --name 'it'\''s nas' --address dynamic --address tcp://h:1 --set paused=true "#
                + "--set 'allowed-networks=10.0.0.0/8,!10.1.0.0/16' --share photos --share 'a b=read,encrypted' "
                + "--share c=by:CCC --share d=read=write")
    }

    @Test(
        arguments: [
            ("photos", DeviceShare(folder: "photos")), ("a=b", DeviceShare(folder: "a=b")),
            ("a=read", DeviceShare(folder: "a", role: "read")),
            ("d=read=write", DeviceShare(folder: "d=read", role: "write")),
            ("a=admin,encrypted,by:C", DeviceShare(folder: "a", role: "admin", isEncrypted: true, introducedBy: "C")),
        ])
    func sharesAreRead(_ text: String, _ share: DeviceShare) {
        #expect(DeviceRestoring.share(text) == share)
    }

    @Test func settingsAreRead() throws {
        #expect(try DeviceRestoring.setting("up=2MiB/s") == SettingInput(key: "up", value: "2MiB/s"))
        #expect(throws: ControlError.self) { try DeviceRestoring.setting("up") }
        #expect(throws: ControlError.self) { try DeviceRestoring.setting("=1") }
    }

    @Test func removingSaysWhatBringsItBack() async {
        let scene = Scene(control: ScriptedControl())
        let result = await scene.run("device", "remove", "nas", "--yes")
        #expect(result.code == 0)
        #expect(
            result.output.contains(
                #"To add it again: synctrain device add AAAAAAA-B --name 'it'\''s nas' --address dynamic --set paused=true "#
                    + "--share photos=read"))
    }
}
