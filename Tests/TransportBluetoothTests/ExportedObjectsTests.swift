import GhostDrop
import MessageBus
import Testing

@testable import TransportBluetooth

@Suite struct ExportedObjectsTests {
    private let objects: ExportedObjects = {
        var objects = ExportedObjects()
        objects.capabilities = Array("{}".utf8)
        return objects
    }()

    private func values(_ call: BusNotice) -> [BusValue]? {
        guard case .answer(.values(let values)) = objects.effect(of: call) else { return nil }
        return values
    }

    @Test func theApplicationHasTheSurface() throws {
        let call = Objects.notice(ExportedObjects.applicationPath, BlueZ.objects, "GetManagedObjects")
        let answer = try #require(values(call)?.first)
        #expect(answer.type == "a{oa{sa{sv}}}")
        // bluetoothd would read it as this tree does.
        let found = try #require(answer.members)
        #expect(
            Set(found.keys) == [
                ExportedObjects.servicePath, ExportedObjects.servicePath + "/data",
                ExportedObjects.servicePath + "/control", ExportedObjects.servicePath + "/capabilities",
            ])
        let data = try #require(found[ExportedObjects.servicePath + "/data"]?.members?[BlueZ.characteristic]?.members)
        #expect(data["UUID"]?.text == "a0f2fa1d-f0e6-43f3-8b8a-642d7e6a0603")
        #expect(data["Flags"]?.texts == ["write-without-response", "notify"])
        #expect(data["Service"]?.text == ExportedObjects.servicePath)
        #expect(data["NotifyAcquired"]?.flag == false)
        // Writes must say whose they are.
        #expect(data["WriteAcquired"] == nil)
    }

    @Test func readingCapabilities() {
        let path = ExportedObjects.servicePath + "/capabilities"
        func read(_ options: [String: BusValue]) -> ExportedObjects.Effect {
            objects.effect(of: Objects.notice(path, BlueZ.characteristic, "ReadValue", [.properties(options)]))
        }
        #expect(read([:]) == .answer(.values([.bytes(Array("{}".utf8))])))
        #expect(read(["offset": .uint16(1)]) == .answer(.values([.bytes(Array("}".utf8))])))
        #expect(read(["offset": .uint16(2)]) == .answer(.values([.bytes([])])))
        for offset in [BusValue.uint16(3), .int32(-1), .uint64(.max / 2)] {
            guard case .answer(.error) = read(["offset": offset]) else {
                Issue.record("\(offset) was answered")
                continue
            }
        }
    }

    @Test func writing() {
        let path = ExportedObjects.servicePath + "/data"
        let device = "/org/bluez/hci0/dev_C0_FF_EE_00_00_01"
        let options = BusValue.properties(["device": .objectPath(device)])
        let call = Objects.notice(path, BlueZ.characteristic, "WriteValue", [.bytes([1, 2]), options])
        #expect(objects.effect(of: call) == .written(device: device, .data, [1, 2]))
        for arguments in [[], [.bytes([1])], [.bytes([1]), .properties([:])], [.string("x"), options]] as [[BusValue]] {
            let call = Objects.notice(path, BlueZ.characteristic, "WriteValue", arguments)
            guard case .answer(.error) = objects.effect(of: call) else {
                Issue.record("\(arguments) were taken")
                continue
            }
        }
        // Capabilities are not written.
        let other = Objects.notice(
            ExportedObjects.servicePath + "/capabilities", BlueZ.characteristic, "WriteValue", [.bytes([1]), options])
        #expect(objects.effect(of: other) == .answer(.unknown(other)))
    }

    @Test func notifications() {
        let path = ExportedObjects.servicePath + "/data"
        let options = BusValue.properties(["mtu": .uint16(517), "device": .objectPath("/d")])
        #expect(
            objects.effect(of: Objects.notice(path, BlueZ.characteristic, "AcquireNotify", [options]))
                == .notificationSocket(.data, mtu: 517))
    }

    /// A stranger nearby learns the service, and nothing that tells this device from others.
    @Test(arguments: [31, 100, 251])
    func theAdvertisementNamesNobody(_ limit: Int) throws {
        var objects = objects
        objects.capabilities = CapabilitiesValue(capabilities: Capabilities(supportsL2CAP: true), psm: 0x80).bytes
        objects.advertisementLimit = limit
        let call = Objects.notice(
            ExportedObjects.advertisementPath, BlueZ.properties, "GetAll", [.string(BlueZ.advertisement)])
        guard case .answer(.values(let values)) = objects.effect(of: call) else {
            Issue.record("no answer")
            return
        }
        let properties = try #require(values.first?.members)
        #expect(properties["Type"]?.text == "peripheral")
        #expect(properties["ServiceUUIDs"]?.texts == ["bfa6e968-0f36-4888-8f63-c8ec01385e67"])
        #expect(Set(properties.keys).subtracting(["Type", "ServiceUUIDs", "ServiceData"]).isEmpty)
        #expect((properties["ServiceData"] != nil) == (limit == 251))
    }

    @Test func whatIsNotThere() {
        for call in [
            Objects.notice("/", BlueZ.objects, "GetManagedObjects"),
            Objects.notice("/x", BlueZ.properties, "GetAll", [.string(BlueZ.characteristic)]),
            Objects.notice(ExportedObjects.servicePath, BlueZ.properties, "GetAll", []),
            Objects.notice(ExportedObjects.servicePath, BlueZ.properties, "Get", [.string("a"), .string("b")]),
            Objects.notice(ExportedObjects.servicePath + "/data", BlueZ.characteristic, "ReadValue", []),
            Objects.notice(ExportedObjects.servicePath + "/other", BlueZ.characteristic, "ReadValue", []),
            Objects.notice("/x", BlueZ.advertisement, "Release"),
        ] {
            #expect(objects.effect(of: call) == .answer(.unknown(call)), "\(call)")
        }
    }
}
