import AgentConfiguration
import BlockExchange
import ControlAPI
import Testing

@testable import SyncAgent

/// A device that was removed comes back as it was.
struct DeviceRestorationTests {
    private static let device = DeviceID(certificateDER: [1])
    private static let other = DeviceID(certificateDER: [2])

    private static func configuration(_ change: (inout DeviceConfiguration) -> Void) -> Configuration {
        var known = DeviceConfiguration(id: device, name: "nas", addresses: ["dynamic", "tcp://192.0.2.7:22000"])
        change(&known)
        var configuration = Configuration(name: "laptop")
        configuration.devices = [DeviceConfiguration(id: other, name: "desk"), known]
        configuration.folders = ["plain", "read", "admin", "secret", "introduced", "unshared"].map {
            FolderConfiguration(id: FolderID($0), path: "/\($0)")
        }
        for index in configuration.folders.indices.dropLast() {
            configuration.folders[index].devices = [other, device]
        }
        configuration.folders[1].readers = [device]
        configuration.folders[2].admins = [device]
        configuration.folders[3].untrusted = [device]
        configuration.folders[4].introductions = [FolderIntroduction(device, by: other)]
        return configuration
    }

    private func restored(_ configuration: Configuration) throws -> Configuration {
        let restoration = try configuration.restoration(of: "nas")
        let removed = try ConfigurationEdit.removeDevice(Self.device).applied(to: configuration)
        #expect(removed.devices.count == 1 && removed.folders.allSatisfy { !$0.devices.contains(Self.device) })
        return try removed.edits(adding: restoration, localDevice: nil).reduce(removed) { try $1.applied(to: $0) }
    }

    @Test func aDeviceWithAllSettingsComesBack() throws {
        let configuration = Self.configuration { device in
            device.bluetooth = .off
            device.isPaused = true
            device.pausedUntil = 1_800_000_000
            device.introducedBy = Self.other
            device.isIntroducer = true
            device.skipsIntroductionRemovals = true
            device.allowedNetworks = ["10.0.0.0/8", "!10.1.0.0/16"]
            device.rates.up = 2 << 20
            device.rates.down = 1_500_000
            device.connections = 2
        }
        #expect(try restored(configuration) == configuration)
    }

    @Test func aDeviceWithoutSettingsComesBack() throws {
        let configuration = Self.configuration { _ in }
        #expect(try configuration.restoration(of: "nas").settings == nil)
        #expect(try restored(configuration) == configuration)
    }

    @Test(
        arguments: [
            DeviceSettings(id: device.description, settings: [SettingInput(key: "nothing", value: "1")]),
            DeviceSettings(id: device.description, settings: [SettingInput(key: "up", value: "fast")]),
            DeviceSettings(id: device.description, settings: [SettingInput(key: "name", value: "x")]),
            DeviceSettings(
                id: device.description,
                settings: [SettingInput(key: "paused", value: "true"), SettingInput(key: "paused", value: "false")]),
            DeviceSettings(id: device.description, folders: [DeviceShare(folder: "plain", role: "king")]),
            DeviceSettings(id: device.description, folders: [DeviceShare(folder: "plain", introducedBy: "me")]),
            DeviceSettings(id: device.description, folders: [DeviceShare(folder: "elsewhere")]),
            DeviceSettings(id: other.description, settings: [SettingInput(key: "paused", value: "true")]),
        ])
    func whatIsNotThereIsRefused(_ settings: DeviceSettings) throws {
        let removed = try ConfigurationEdit.removeDevice(Self.device).applied(to: Self.configuration { _ in })
        #expect(throws: (any Error).self) { try removed.edits(adding: settings, localDevice: nil) }
    }
}
